//! How is an adaptive throttle written?

use core::fmt;

use super::{InvalidPolicy, Kind, Slot, Written};
use crate::duration::Human;
use crate::throttle::Throttle;

impl fmt::Display for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accepts:{},within:{}", self.k, Human(self.window))?;
        if self.max.to_bits() == Self::default().max.to_bits() {
            return Ok(());
        }
        write!(f, ",max:{}", self.max)
    }
}

impl Written for Throttle {
    const NOUN: &'static str = "throttle";

    const KINDS: &'static [Kind<Self>] = &[Kind {
        name: "accepts",
        example: "accepts:2",
        start: Self::default,
        first: Some(Slot::Number(|it, requests| it.k = requests)),
        parameters: &[&[
            ("within", Slot::Duration(|it, time| it.window = time)),
            ("max", Slot::Number(|it, probability| it.max = probability)),
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
