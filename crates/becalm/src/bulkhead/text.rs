//! How is a bulkhead written in a flag or a policy file?

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::{Aimd, Bulkhead, Gradient, InvalidBulkhead, Limit, Order};
use crate::duration::{self, Human};

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

impl FromStr for Bulkhead {
    type Err = InvalidBulkhead;

    fn from_str(text: &str) -> Result<Self, InvalidBulkhead> {
        let mut parts = text.split(',').map(str::trim);
        let (kind, calls) = parts
            .next()
            .and_then(|part| part.split_once(':'))
            .ok_or(InvalidBulkhead::Kind)?;
        let initial = calls.parse().map_err(|_| InvalidBulkhead::Kind)?;
        let mut bulkhead = Self::limited(match kind {
            "calls" => Limit::Fixed(initial),
            "aimd" => Limit::Aimd(Aimd {
                initial,
                ..Aimd::default()
            }),
            "gradient" => Limit::Gradient(Gradient {
                initial,
                ..Gradient::default()
            }),
            _ => return Err(InvalidBulkhead::Kind),
        });
        for part in parts {
            let (name, value) = part.split_once(':').ok_or(InvalidBulkhead::Parameter)?;
            bulkhead.set(name, value)?;
        }
        bulkhead.validate().map(|()| bulkhead)
    }
}

impl Bulkhead {
    fn set(&mut self, name: &str, value: &str) -> Result<(), InvalidBulkhead> {
        match (name, &mut self.limit) {
            ("waiting", _) => self.waiting = number(value)?,
            ("max-wait", _) => self.max_wait = Some(time(value)?),
            ("order", _) => {
                self.order = match value {
                    "fifo" => Order::Fifo,
                    "lifo" => Order::Lifo,
                    _ => return Err(InvalidBulkhead::Parameter),
                }
            }
            ("min", Limit::Aimd(aimd)) => aimd.min = number(value)?,
            ("max", Limit::Aimd(aimd)) => aimd.max = number(value)?,
            ("backoff", Limit::Aimd(aimd)) => aimd.backoff = number(value)?,
            ("slow", Limit::Aimd(aimd)) => aimd.slow = Some(time(value)?),
            ("min", Limit::Gradient(gradient)) => gradient.min = number(value)?,
            ("max", Limit::Gradient(gradient)) => gradient.max = number(value)?,
            ("tolerance", Limit::Gradient(gradient)) => gradient.tolerance = number(value)?,
            ("window", Limit::Gradient(gradient)) => gradient.window = time(value)?,
            ("probe", Limit::Gradient(gradient)) => gradient.probe = time(value)?,
            _ => return Err(InvalidBulkhead::Parameter),
        }
        Ok(())
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, InvalidBulkhead> {
    text.parse().map_err(|_| InvalidBulkhead::Parameter)
}

fn time(text: &str) -> Result<Duration, InvalidBulkhead> {
    duration::parse(text).map_err(|_| InvalidBulkhead::Parameter)
}

#[cfg(test)]
mod tests {
    use super::*;
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
            ("", InvalidBulkhead::Kind),
            ("50", InvalidBulkhead::Kind),
            ("calls", InvalidBulkhead::Kind),
            ("calls:", InvalidBulkhead::Kind),
            ("calls:-1", InvalidBulkhead::Kind),
            ("vegas:20", InvalidBulkhead::Kind),
            ("calls:0", InvalidBulkhead::Calls),
            ("calls:50,wating:3", InvalidBulkhead::Parameter),
            ("calls:50,waiting", InvalidBulkhead::Parameter),
            ("calls:50,min:1", InvalidBulkhead::Parameter),
            ("calls:50,order:random", InvalidBulkhead::Parameter),
            ("calls:50,waiting:3,max-wait:5", InvalidBulkhead::Parameter),
            ("calls:50,max-wait:1s", InvalidBulkhead::NobodyWaits),
            ("aimd:20,tolerance:2", InvalidBulkhead::Parameter),
            ("aimd:20,backoff:inf", InvalidBulkhead::Backoff),
            ("gradient:20,backoff:0.9", InvalidBulkhead::Parameter),
            ("gradient:300", InvalidBulkhead::Bounds),
            ("gradient:20,window:100ms,probe:1ms", InvalidBulkhead::Probe),
        ] {
            assert_eq!(text.parse::<Bulkhead>(), Err(reason), "{text}");
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
