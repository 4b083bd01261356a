//! How is a breaker written?

use core::fmt;
use core::time::Duration;

use super::{InvalidPolicy, Kind, Parameter, Slot, Written};
use crate::breaker::{Breaker, Span, Trip};
use crate::duration::Human;

/// What opens it and the open time; the others where they are not the default.
impl fmt::Display for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        match self.trip {
            Trip::Consecutive(failures) => {
                write!(f, "consecutive:{failures}")?;
                if self.min_calls != default.min_calls {
                    write!(f, ",min:{}", self.min_calls)?;
                }
            }
            Trip::Share { share, window } => {
                write!(f, "share:{share},")?;
                match window {
                    Span::Calls(calls) => write!(f, "calls:{calls}")?,
                    Span::Time(time) => write!(f, "within:{}", Human(time))?,
                }
                write!(f, ",min:{}", self.min_calls)?;
            }
        }
        if let Some(slow) = self.slow {
            write!(f, ",slow:{}", Human(slow))?;
        }
        write!(f, ",open:{}", Human(self.open))?;
        if self.open_max != default.open_max {
            write!(f, ",open-max:{}", Human(self.open_max))?;
        }
        #[expect(clippy::float_cmp, reason = "the very value")]
        if self.jitter != default.jitter {
            write!(f, ",jitter:{}", self.jitter)?;
        }
        if self.probes != default.probes {
            write!(f, ",probes:{}", self.probes)?;
        }
        if self.successes != default.successes {
            write!(f, ",successes:{}", self.successes)?;
        }
        Ok(())
    }
}

impl Written for Breaker {
    const NOUN: &'static str = "breaker";

    const KINDS: &'static [Kind<Self>] = &[
        Kind {
            name: "consecutive",
            example: "consecutive:5",
            start: || Self::consecutive(0),
            first: Some(Slot::Whole(|it, failures| {
                it.trip = Trip::Consecutive(failures);
            })),
            parameters: &[MIN, REST],
        },
        Kind {
            name: "share",
            example: "share:0.5",
            start: Self::default,
            first: Some(Slot::Number(|it, share| *it = Self::share(share, WITHIN))),
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
        Slot::Duration(|it, time| set_window(it, Span::Time(time))),
    ),
    (
        "calls",
        Slot::Whole(|it, calls| set_window(it, Span::Calls(calls))),
    ),
];

const MIN: &[Parameter<Breaker>] = &[("min", Slot::Whole(|it, calls| it.min_calls = calls))];

const REST: &[Parameter<Breaker>] = &[
    ("slow", Slot::Duration(|it, time| it.slow = Some(time))),
    // One above the default of what follows raises that.
    (
        "open",
        Slot::Duration(|it, time| {
            it.open = time;
            it.open_max = it.open_max.max(time);
        }),
    ),
    ("open-max", Slot::Duration(|it, time| it.open_max = time)),
    ("jitter", Slot::Number(|it, share| it.jitter = share)),
    ("probes", Slot::Whole(|it, probes| it.probes = probes)),
    ("successes", Slot::Whole(|it, probes| it.successes = probes)),
];

fn set_window(breaker: &mut Breaker, window: Span) {
    if let Trip::Share { share, .. } = breaker.trip {
        *breaker = Breaker::share(share, window);
    }
}
