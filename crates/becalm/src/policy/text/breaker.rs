//! How is a breaker written?

use super::{InvalidPolicy, Kind, Parameter, Slot, Written};
use crate::breaker::{Breaker, Refuses, Span, Trip};
use crate::grammar::{field, of};

/// The slot of a field that is written where it is not the default.
macro_rules! unless_default {
    ($slot:ident, $field:ident) => {
        field!($slot, $field unless Breaker::default().$field)
    };
}

impl Written for Breaker {
    const NOUN: &'static str = "breaker";

    const KINDS: &'static [Kind<Self>] = &[
        Kind {
            name: "consecutive",
            example: "consecutive:5",
            start: || Self::consecutive(0),
            first: Some(of!(Whole, |it| it.trip, Trip::Consecutive(failures) => *failures)),
            parameters: &[&[("min", unless_default!(Whole, min_calls))], REST],
        },
        Kind {
            name: "share",
            example: "share:0.5",
            start: Self::default,
            first: Some(of!(Number, |it| it.trip, Trip::Share { share, .. } => *share)),
            parameters: &[WINDOW, REST],
        },
    ];

    const APART: &'static [&'static str] = &["within", "calls"];

    fn check(&self) -> Result<(), InvalidPolicy> {
        self.validate().map_err(InvalidPolicy::Breaker)
    }
}

const WINDOW: &[Parameter<Breaker>] = &[
    (
        "within",
        of!(Duration, |it| it.trip, Trip::Share { window: Span::Time(time), .. } => *time),
    ),
    // Its size bounds the default of what follows.
    (
        "calls",
        Slot::Whole(
            |it, calls| {
                if let Trip::Share { share, .. } = it.trip {
                    *it = Breaker::share(share, Span::Calls(calls));
                }
            },
            |it| match it.trip {
                Trip::Share {
                    window: Span::Calls(calls),
                    ..
                } => Some(calls),
                _ => None,
            },
        ),
    ),
    ("min", field!(Whole, min_calls)),
];

const REST: &[Parameter<Breaker>] = &[
    ("slow", field!(Duration, optional slow)),
    // One above the default of what follows raises that.
    (
        "open",
        Slot::Duration(
            |it, time| {
                it.open = time;
                it.open_max = it.open_max.max(time);
            },
            |it| Some(it.open),
        ),
    ),
    ("open-max", unless_default!(Duration, open_max)),
    ("jitter", unless_default!(Number, jitter)),
    ("probes", unless_default!(Whole, probes)),
    ("successes", unless_default!(Whole, successes)),
    (
        "refuses",
        Slot::Word(
            &[
                ("all", |it| it.refuses = Refuses::All),
                ("retries", |it| it.refuses = Refuses::Retries),
            ],
            |it| (it.refuses == Refuses::Retries).then_some("retries"),
        ),
    ),
];
