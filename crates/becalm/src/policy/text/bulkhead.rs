//! How is a bulkhead written?

use super::{InvalidPolicy, Kind, Parameter, Slot, Written};
use crate::bulkhead::{Aimd, Bulkhead, Gradient, Limit, Order};
use crate::grammar::{field, of};

/// The slot of a field of an adaptive limit.
macro_rules! of_limit {
    ($kind:ident, $slot:ident, $field:ident) => {
        of!($slot, |it| it.limit, Limit::$kind(limit) => limit.$field)
    };
}

impl Written for Bulkhead {
    const NOUN: &'static str = "bulkhead";

    const KINDS: &'static [Kind<Self>] = &[
        Kind {
            name: "calls",
            example: "calls:50",
            start: || Self::calls(0),
            first: Some(of!(Whole, |it| it.limit, Limit::Fixed(calls) => *calls)),
            parameters: &[QUEUE],
        },
        Kind {
            name: "gradient",
            example: "gradient:20",
            start: || Self::limited(Limit::Gradient(Gradient::default())),
            first: Some(of_limit!(Gradient, Whole, initial)),
            parameters: &[GRADIENT, QUEUE],
        },
        Kind {
            name: "aimd",
            example: "aimd:20",
            start: || Self::limited(Limit::Aimd(Aimd::default())),
            first: Some(of_limit!(Aimd, Whole, initial)),
            parameters: &[AIMD, QUEUE],
        },
    ];

    fn check(&self) -> Result<(), InvalidPolicy> {
        self.validate().map_err(InvalidPolicy::Bulkhead)
    }
}

const GRADIENT: &[Parameter<Bulkhead>] = &[
    ("min", of_limit!(Gradient, Whole, min)),
    ("max", of_limit!(Gradient, Whole, max)),
    ("tolerance", of_limit!(Gradient, Number, tolerance)),
    ("window", of_limit!(Gradient, Duration, window)),
    ("probe", of_limit!(Gradient, Duration, probe)),
];

const AIMD: &[Parameter<Bulkhead>] = &[
    ("min", of_limit!(Aimd, Whole, min)),
    ("max", of_limit!(Aimd, Whole, max)),
    ("backoff", of_limit!(Aimd, Number, backoff)),
    ("slow", of_limit!(Aimd, Duration, slow)),
];

const QUEUE: &[Parameter<Bulkhead>] = &[
    ("waiting", field!(Whole, waiting unless 0)),
    ("max-wait", field!(Duration, optional max_wait)),
    (
        "order",
        Slot::Word(
            &[
                ("fifo", |it| it.order = Order::Fifo),
                ("lifo", |it| it.order = Order::Lifo),
            ],
            |it| (it.order == Order::Lifo).then_some("lifo"),
        ),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulkhead::InvalidBulkhead;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn a_bulkhead_reads_back_what_it_displays() {
        for text in [
            "calls:50",
            "calls:50,waiting:100",
            "calls:50,waiting:100,max-wait:1s,order:lifo",
            "aimd:20,min:1,max:200,backoff:0.9",
            "aimd:5,min:2,max:9,backoff:0.5,slow:250ms,waiting:3",
            "gradient:20,min:1,max:200,tolerance:1.25,window:100ms,probe:1m",
            "gradient:8,min:4,max:16,tolerance:2,window:1s,probe:10s,waiting:7,max-wait:30ms",
        ] {
            assert_eq!(text.parse::<Bulkhead>().unwrap().to_string(), text);
        }
        assert_eq!("gradient:20".parse(), Ok(Bulkhead::adaptive()));
        assert_eq!(
            "calls:5, waiting:2, order:fifo".parse(),
            Ok(Bulkhead::calls(5).waiting(2))
        );
    }

    #[test]
    fn what_is_not_a_bulkhead_is_refused_by_name() {
        for (text, reason) in [
            ("calls:0", InvalidBulkhead::Calls),
            ("calls:50,max-wait:1s", InvalidBulkhead::NobodyWaits),
            ("aimd:20,backoff:inf", InvalidBulkhead::Backoff),
            ("gradient:300", InvalidBulkhead::Bounds),
            ("gradient:20,window:100ms,probe:1ms", InvalidBulkhead::Probe),
        ] {
            assert_eq!(
                text.parse::<Bulkhead>(),
                Err(InvalidPolicy::Bulkhead(reason).into()),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_is_read_again(
            text in "(calls|aimd|gradient):[0-9]{1,4}(,(min|max|waiting|backoff|slow|tolerance|window|probe|max-wait|order):[0-9]{0,3}(\\.[0-9])?(ms|s|fifo|lifo)?){0,4}"
        ) {
            if let Ok(bulkhead) = text.parse::<Bulkhead>() {
                prop_assert_eq!(bulkhead.to_string().parse(), Ok(bulkhead));
            }
        }
    }
}
