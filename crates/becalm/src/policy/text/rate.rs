//! How is an adaptive rate written?

use super::{InvalidPolicy, Kind, Written};
use crate::grammar::field;
use crate::rate::AdaptiveRate;

impl Written for AdaptiveRate {
    const NOUN: &'static str = "adaptive rate";

    const KINDS: &'static [Kind<Self>] = &[Kind {
        parameters: &[&[("max-wait", field!(Duration, optional max_wait))]],
        ..Kind::word("cubic", Self::cubic)
    }];

    fn check(&self) -> Result<(), InvalidPolicy> {
        self.validate().map_err(InvalidPolicy::Rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::InvalidAdaptiveRate;
    use alloc::string::ToString;
    use core::time::Duration;

    #[test]
    fn it_reads_back_what_it_displays() {
        for text in ["cubic", "cubic,max-wait:5s", "cubic,max-wait:0s"] {
            assert_eq!(text.parse::<AdaptiveRate>().unwrap().to_string(), text);
        }
        assert_eq!("cubic".parse(), Ok(AdaptiveRate::default()));
        assert_eq!(
            "cubic, max-wait:250ms".parse(),
            Ok(AdaptiveRate::cubic().max_wait(Duration::from_millis(250)))
        );
    }

    #[test]
    fn what_is_wrong_is_refused_by_name() {
        let reason = InvalidPolicy::Rate(InvalidAdaptiveRate::MaxWait);
        let refused = "cubic,max-wait:25h".parse::<AdaptiveRate>();
        assert_eq!(refused, Err(reason.into()));
        let endless = AdaptiveRate::cubic().max_wait(Duration::MAX);
        assert_eq!(endless.validate(), Err(InvalidAdaptiveRate::MaxWait));
    }
}
