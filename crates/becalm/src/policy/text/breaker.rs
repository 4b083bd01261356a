//! How is a breaker written?

use core::time::Duration;

use super::grammar::{field, unless};
use super::{InvalidPolicy, Kind, Parameter, Slot, Written};
use crate::breaker::{Breaker, Span, Trip};

impl Written for Breaker {
    const NOUN: &'static str = "breaker";

    const KINDS: &'static [Kind<Self>] = &[
        Kind {
            name: "consecutive",
            example: "consecutive:5",
            start: || Self::consecutive(0),
            first: Some(Slot::Whole(
                |it, failures| it.trip = Trip::Consecutive(failures),
                |it| match it.trip {
                    Trip::Consecutive(failures) => Some(failures),
                    Trip::Share { .. } => None,
                },
            )),
            parameters: &[MIN, REST],
        },
        Kind {
            name: "share",
            example: "share:0.5",
            start: Self::default,
            first: Some(Slot::Number(
                |it, share| *it = Self::share(share, WITHIN),
                |it| Some(share(it)?.0),
            )),
            parameters: &[WINDOW, MIN, REST],
        },
    ];

    const APART: &'static [&'static str] = &["within", "calls"];

    fn check(&self) -> Result<(), InvalidPolicy> {
        self.validate().map_err(InvalidPolicy::Breaker)
    }
}

/// The window of a share that names none.
const WITHIN: Span = Span::Time(Duration::from_secs(10));

const WINDOW: &[Parameter<Breaker>] = &[
    (
        "within",
        Slot::Duration(
            |it, time| set_window(it, Span::Time(time)),
            |it| match share(it)?.1 {
                Span::Time(time) => Some(time),
                Span::Calls(_) => None,
            },
        ),
    ),
    (
        "calls",
        Slot::Whole(
            |it, calls| set_window(it, Span::Calls(calls)),
            |it| match share(it)?.1 {
                Span::Calls(calls) => Some(calls),
                Span::Time(_) => None,
            },
        ),
    ),
];

const MIN: &[Parameter<Breaker>] = &[(
    "min",
    Slot::Whole(
        |it, calls| it.min_calls = calls,
        |it| match it.trip {
            Trip::Consecutive(_) => unless(Breaker::default().min_calls, it.min_calls),
            Trip::Share { .. } => Some(it.min_calls),
        },
    ),
)];

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
    (
        "open-max",
        field!(Duration, open_max unless Breaker::default()),
    ),
    ("jitter", field!(Number, jitter unless Breaker::default())),
    ("probes", field!(Whole, probes unless Breaker::default())),
    (
        "successes",
        field!(Whole, successes unless Breaker::default()),
    ),
];

fn share(breaker: &Breaker) -> Option<(f64, Span)> {
    match breaker.trip {
        Trip::Share { share, window } => Some((share, window)),
        Trip::Consecutive(_) => None,
    }
}

fn set_window(breaker: &mut Breaker, window: Span) {
    if let Trip::Share { share, .. } = breaker.trip {
        *breaker = Breaker::share(share, window);
    }
}
