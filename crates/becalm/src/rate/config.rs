//! How is the adaptive rate configured?

use crate::reasons::{reasons, require};
use crate::setters::setters;
use core::time::Duration;

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

    /// Refuses a value that is out of range, naming the parameter and the remedy.
    pub fn validate(self) -> Result<(), InvalidAdaptiveRate> {
        let is_in_range = self.max_wait <= Some(Self::LONGEST_WAIT);
        require(&[(is_in_range, InvalidAdaptiveRate::MaxWait)])
    }
}

setters! {
    /// Setters: each returns the configuration with one field changed.
    impl AdaptiveRate;
    /// Sets the longest wait.
    max_wait: Option<Duration>;
}

reasons! {
    /// Why an adaptive rate is refused.
    InvalidAdaptiveRate;
    /// The longest wait is out of range.
    MaxWait: "the adaptive rate's max-wait must be at most a day; leave it out for no bound";
}
