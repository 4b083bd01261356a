//! How does a duration look in a sentence, or in a policy?

use alloc::format;
use core::fmt;
use core::time::Duration;

/// A duration that displays as it is written in a policy: exact, and [`parse`](crate::duration::parse) reads it back.
///
/// ```
/// use core::time::Duration;
/// assert_eq!(becalm::support::Human(Duration::from_millis(1500)).to_string(), "1.5s");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Human(pub Duration);

impl fmt::Display for Human {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        if nanos == 0 {
            return f.write_str("0s");
        }
        for (unit, scale) in [("h", 3_600_000_000_000), ("m", 60_000_000_000)] {
            if nanos % scale == 0 {
                return write!(f, "{}{unit}", nanos / scale);
            }
        }
        let (unit, scale): (_, u128) = match nanos {
            1_000_000_000.. => ("s", 1_000_000_000),
            1_000_000.. => ("ms", 1_000_000),
            1_000.. => ("us", 1_000),
            _ => ("ns", 1),
        };
        let places = scale.ilog10() as usize;
        let number = format!("{}.{:0places$}", nanos / scale, nanos % scale);
        let number = number.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{number}{unit}")
    }
}
