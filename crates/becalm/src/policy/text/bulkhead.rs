//! How is a bulkhead written?

use core::fmt;

use super::{InvalidPolicy, Kind, Parameter, Slot, Written};
use crate::bulkhead::{Aimd, Bulkhead, Gradient, Limit, Order};
use crate::duration::Human;

/// Sets a field of an adaptive limit.
macro_rules! set {
    ($kind:ident, $field:ident) => {
        |it, value| {
            if let Limit::$kind(limit) = &mut it.limit {
                limit.$field = value;
            }
        }
    };
}

impl fmt::Display for Bulkhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.limit)?;
        if self.waiting > 0 {
            write!(f, ",waiting:{}", self.waiting)?;
        }
        if let Some(longest) = self.max_wait {
            write!(f, ",max-wait:{}", Human(longest))?;
        }
        match self.order {
            Order::Fifo => Ok(()),
            order => write!(f, ",order:{order}"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(limit) => write!(f, "calls:{limit}"),
            Self::Aimd(Aimd {
                initial,
                min,
                max,
                backoff,
                slow,
            }) => {
                write!(f, "aimd:{initial},min:{min},max:{max},backoff:{backoff}")?;
                match slow {
                    Some(slow) => write!(f, ",slow:{}", Human(*slow)),
                    None => Ok(()),
                }
            }
            Self::Gradient(Gradient {
                initial,
                min,
                max,
                tolerance,
                window,
                probe,
            }) => {
                write!(f, "gradient:{initial},min:{min},max:{max}")?;
                write!(f, ",tolerance:{tolerance}")?;
                write!(f, ",window:{},probe:{}", Human(*window), Human(*probe))
            }
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fifo => "fifo",
            Self::Lifo => "lifo",
        })
    }
}

impl Written for Bulkhead {
    const NOUN: &'static str = "bulkhead";

    const KINDS: &'static [Kind<Self>] = &[
        Kind {
            name: "calls",
            example: "calls:50",
            start: || Self::calls(0),
            first: Some(Slot::Whole(|it, calls| it.limit = Limit::Fixed(calls))),
            parameters: &[QUEUE],
        },
        Kind {
            name: "gradient",
            example: "gradient:20",
            start: || Self::limited(Limit::Gradient(Gradient::default())),
            first: Some(Slot::Whole(set!(Gradient, initial))),
            parameters: &[GRADIENT, QUEUE],
        },
        Kind {
            name: "aimd",
            example: "aimd:20",
            start: || Self::limited(Limit::Aimd(Aimd::default())),
            first: Some(Slot::Whole(set!(Aimd, initial))),
            parameters: &[AIMD, QUEUE],
        },
    ];

    fn check(&self) -> Result<(), InvalidPolicy> {
        self.validate().map_err(InvalidPolicy::Bulkhead)
    }
}

const GRADIENT: &[Parameter<Bulkhead>] = &[
    ("min", Slot::Whole(set!(Gradient, min))),
    ("max", Slot::Whole(set!(Gradient, max))),
    ("tolerance", Slot::Number(set!(Gradient, tolerance))),
    ("window", Slot::Duration(set!(Gradient, window))),
    ("probe", Slot::Duration(set!(Gradient, probe))),
];

const AIMD: &[Parameter<Bulkhead>] = &[
    ("min", Slot::Whole(set!(Aimd, min))),
    ("max", Slot::Whole(set!(Aimd, max))),
    ("backoff", Slot::Number(set!(Aimd, backoff))),
    (
        "slow",
        Slot::Duration(|it, time| {
            if let Limit::Aimd(aimd) = &mut it.limit {
                aimd.slow = Some(time);
            }
        }),
    ),
];

const QUEUE: &[Parameter<Bulkhead>] = &[
    ("waiting", Slot::Whole(|it, places| it.waiting = places)),
    (
        "max-wait",
        Slot::Duration(|it, time| it.max_wait = Some(time)),
    ),
    (
        "order",
        Slot::Word(&[
            ("fifo", |it| it.order = Order::Fifo),
            ("lifo", |it| it.order = Order::Lifo),
        ]),
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
