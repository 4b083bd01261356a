//! How is a breaker written in a policy file or a flag, and read back?

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::config::{Breaker, InvalidBreaker, Span, Trip};
use crate::duration::{self, Human};

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

/// What is not written is the default; an `open` above the default `open-max` raises it.
impl FromStr for Breaker {
    type Err = InvalidBreaker;

    fn from_str(text: &str) -> Result<Self, InvalidBreaker> {
        let mut parts = text.split(',').map(str::trim);
        let (kind, value) = parts
            .next()
            .and_then(|part| part.split_once(':'))
            .ok_or(InvalidBreaker::Kind)?;
        let mut read = Read::default();
        let share = match kind {
            "consecutive" => None,
            "share" => Some(number::<f64>(value)?),
            _ => return Err(InvalidBreaker::Kind),
        };
        for part in parts {
            let (name, value) = part.split_once(':').ok_or(InvalidBreaker::Parameter)?;
            read.set(name, value)?;
        }
        let breaker = match (share, read.window) {
            (None, None) => Self::consecutive(number(value)?),
            (None, Some(_)) => return Err(InvalidBreaker::Parameter),
            (Some(share), window) => {
                let default = Span::Time(Duration::from_secs(10));
                Self::share(share, window.unwrap_or(default))
            }
        };
        let breaker = read.over(breaker);
        breaker.validate().map(|()| breaker)
    }
}

/// The parameters that were written.
#[derive(Default)]
struct Read {
    window: Option<Span>,
    min: Option<u32>,
    slow: Option<Duration>,
    open: Option<Duration>,
    open_max: Option<Duration>,
    jitter: Option<f64>,
    probes: Option<u32>,
    successes: Option<u32>,
}

impl Read {
    fn set(&mut self, name: &str, value: &str) -> Result<(), InvalidBreaker> {
        match name {
            "calls" => once(&mut self.window, Span::Calls(number(value)?)),
            "within" => once(&mut self.window, Span::Time(time(value)?)),
            "min" => once(&mut self.min, number(value)?),
            "slow" => once(&mut self.slow, time(value)?),
            "open" => once(&mut self.open, time(value)?),
            "open-max" => once(&mut self.open_max, time(value)?),
            "jitter" => once(&mut self.jitter, number(value)?),
            "probes" => once(&mut self.probes, number(value)?),
            "successes" => once(&mut self.successes, number(value)?),
            _ => Err(InvalidBreaker::Parameter),
        }
    }

    fn over(self, from: Breaker) -> Breaker {
        let open = self.open.unwrap_or(from.open);
        Breaker {
            trip: from.trip,
            min_calls: self.min.unwrap_or(from.min_calls),
            slow: self.slow,
            open,
            open_max: self.open_max.unwrap_or(from.open_max.max(open)),
            jitter: self.jitter.unwrap_or(from.jitter),
            probes: self.probes.unwrap_or(from.probes),
            successes: self.successes.unwrap_or(from.successes),
        }
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<(), InvalidBreaker> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(InvalidBreaker::Parameter),
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, InvalidBreaker> {
    text.parse().map_err(|_| InvalidBreaker::Parameter)
}

fn time(text: &str) -> Result<Duration, InvalidBreaker> {
    duration::parse(text).map_err(|_| InvalidBreaker::Parameter)
}
