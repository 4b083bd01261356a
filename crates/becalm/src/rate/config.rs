//! How is the adaptive rate configured?

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::duration::{self, Human, InvalidDuration};

/// The configuration of the adaptive rate: plain data.
///
/// Read and written as `cubic` or `cubic,max-wait:5s`. The constants of the algorithm are those of
/// the AWS SDKs and not configurable: what differs from them has no published vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AdaptiveRate {
    /// The longest wait for a token; a call that would wait longer is refused and takes none. From
    /// 0 (never waits) to a day. Default none, as in the AWS SDKs: a call waits for as long as its
    /// deadline allows.
    pub max_wait: Option<Duration>,
}

impl AdaptiveRate {
    /// The longest that [`max_wait`](Self::max_wait) may be: a day.
    pub const LONGEST_WAIT: Duration = Duration::from_secs(86_400);

    /// The configuration of the AWS SDKs.
    pub const fn cubic() -> Self {
        Self { max_wait: None }
    }

    /// The same with a longest wait.
    #[must_use]
    pub const fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = Some(wait);
        self
    }

    /// Refuses what the limiter cannot keep.
    pub fn validate(self) -> Result<(), InvalidAdaptiveRate> {
        match self.max_wait {
            Some(wait) if wait > Self::LONGEST_WAIT => Err(InvalidAdaptiveRate::MaxWait),
            _ => Ok(()),
        }
    }
}

/// Why an adaptive rate is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidAdaptiveRate {
    /// The kind is not known.
    Kind,
    /// A parameter is not known.
    Parameter,
    /// The longest wait is not a duration.
    Duration(InvalidDuration),
    /// The longest wait is out of range.
    MaxWait,
}

impl fmt::Display for InvalidAdaptiveRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => f.write_str("the adaptive rate is not cubic"),
            Self::Parameter => f.write_str(
                "the adaptive rate has an unknown parameter; write cubic or cubic,max-wait:5s",
            ),
            Self::Duration(reason) => write!(f, "the adaptive rate's max-wait: {reason}"),
            Self::MaxWait => f.write_str(
                "the adaptive rate's max-wait must be at most a day; leave it out for no bound",
            ),
        }
    }
}

impl core::error::Error for InvalidAdaptiveRate {}

impl fmt::Display for AdaptiveRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cubic")?;
        match self.max_wait {
            Some(wait) => write!(f, ",max-wait:{}", Human(wait)),
            None => Ok(()),
        }
    }
}

impl FromStr for AdaptiveRate {
    type Err = InvalidAdaptiveRate;

    fn from_str(text: &str) -> Result<Self, InvalidAdaptiveRate> {
        let mut parts = text.split(',').map(str::trim);
        if parts.next() != Some("cubic") {
            return Err(InvalidAdaptiveRate::Kind);
        }
        let mut rate = Self::cubic();
        for part in parts {
            let wait = part.strip_prefix("max-wait:");
            let wait = duration::parse(wait.ok_or(InvalidAdaptiveRate::Parameter)?);
            rate.max_wait = Some(wait.map_err(InvalidAdaptiveRate::Duration)?);
        }
        rate.validate().map(|()| rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn it_reads_back_what_it_displays() {
        for text in ["cubic", "cubic,max-wait:5s", "cubic,max-wait:0s"] {
            assert_eq!(text.parse::<AdaptiveRate>().unwrap().to_string(), text);
        }
        assert_eq!("cubic".parse(), Ok(AdaptiveRate::default()));
        assert_eq!(
            "cubic, max-wait:250ms".parse(),
            Ok(AdaptiveRate::cubic().max_wait(Duration::from_millis(250)))
        );
    }

    #[test]
    fn what_is_wrong_is_refused_by_name() {
        for (text, reason) in [
            ("", InvalidAdaptiveRate::Kind),
            ("reno", InvalidAdaptiveRate::Kind),
            ("cubic,wait:5s", InvalidAdaptiveRate::Parameter),
            ("cubic,", InvalidAdaptiveRate::Parameter),
            (
                "cubic,max-wait:5",
                InvalidAdaptiveRate::Duration(InvalidDuration::MissingUnit),
            ),
            ("cubic,max-wait:25h", InvalidAdaptiveRate::MaxWait),
        ] {
            assert_eq!(text.parse::<AdaptiveRate>(), Err(reason), "{text}");
        }
        let endless = AdaptiveRate::cubic().max_wait(Duration::MAX);
        assert_eq!(endless.validate(), Err(InvalidAdaptiveRate::MaxWait));
    }
}
