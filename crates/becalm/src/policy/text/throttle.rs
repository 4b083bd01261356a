//! How is an adaptive throttle written?

use super::{InvalidPolicy, Kind, Written};
use crate::grammar::field;
use crate::throttle::Throttle;

impl Written for Throttle {
    const NOUN: &'static str = "throttle";

    const KINDS: &'static [Kind<Self>] = &[Kind {
        name: "accepts",
        example: "accepts:2",
        start: Self::default,
        first: Some(field!(Number, k)),
        parameters: &[&[
            ("within", field!(Duration, window)),
            ("max", field!(Number, max unless Throttle::default().max)),
        ]],
    }];

    fn check(&self) -> Result<(), InvalidPolicy> {
        self.validate().map_err(InvalidPolicy::Throttle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttle::InvalidThrottle;
    use alloc::string::ToString;

    #[test]
    fn it_reads_back_what_it_displays() {
        for text in [
            "accepts:2,within:2m",
            "accepts:1.1,within:30s",
            "accepts:2,within:2m,max:1",
        ] {
            assert_eq!(text.parse::<Throttle>().unwrap().to_string(), text);
        }
        assert_eq!("accepts:2".parse(), Ok(Throttle::default()));
    }

    #[test]
    fn what_is_wrong_is_refused_by_name() {
        for (text, reason) in [
            ("accepts:0.9", InvalidThrottle::Accepts),
            ("accepts:nan", InvalidThrottle::Accepts),
            ("accepts:inf", InvalidThrottle::Accepts),
            ("accepts:2,within:999ms", InvalidThrottle::Window),
            ("accepts:2,within:61m", InvalidThrottle::Window),
            ("accepts:2,max:0", InvalidThrottle::Max),
            ("accepts:2,max:nan", InvalidThrottle::Max),
            ("accepts:2,max:1.01", InvalidThrottle::Max),
        ] {
            assert_eq!(
                text.parse::<Throttle>(),
                Err(InvalidPolicy::Throttle(reason).into()),
                "{text}"
            );
        }
    }
}
