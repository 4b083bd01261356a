//! What did the server say about the next attempt?
//!
//! [`Hint`] is what the decision sees. The functions read the field values that carry one; which
//! header holds which is known to the driver of the protocol.

mod http_date;
mod pushback;
mod retry_after;

pub use http_date::http_date;
pub use pushback::pushback;
pub use retry_after::{amz_retry_after, retry_after, retry_after_ms};

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::stop::StopReason;

/// The server's own word about the next attempt.
///
/// Parsed by the driver that speaks the protocol; the decision sees only this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Not before this delay has passed; jitter goes on top. `Retry-After` and its kin.
    AtLeast(Duration),
    /// After exactly this delay, without jitter, 0 meaning now; the backoff starts again from its
    /// first step. gRPC's `grpc-retry-pushback-ms` (proposal A6).
    Exactly(Duration),
    /// Do not retry: `x-should-retry: false`, a negative or unreadable pushback.
    Stop,
    /// A layer below could not retry, for this reason: a spent budget or an open breaker. Heeded
    /// while more than a fifth of a retrier's attempts hear it, and no hint otherwise.
    Below(StopReason),
}

/// What is done with a hint that names a delay. [`Hint::Stop`] is obeyed in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HintMode {
    /// Never earlier than the server said; a hint longer than
    /// [`max_hint`](crate::Policy::max_hint) or the deadline stops the call. The default.
    #[default]
    Honor,
    /// A longer hint than the cap (or than `max_hint`) is shortened to it: may come early, by
    /// choice.
    Clamp,
    /// The delay is computed as if no hint had come.
    Ignore,
}

impl fmt::Display for HintMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Honor => "honor",
            Self::Clamp => "clamp",
            Self::Ignore => "ignore",
        })
    }
}

/// The text names no hint mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownHintMode;

impl fmt::Display for UnknownHintMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the hint mode is not one of honor, clamp, ignore")
    }
}

impl core::error::Error for UnknownHintMode {}

impl FromStr for HintMode {
    type Err = UnknownHintMode;

    fn from_str(text: &str) -> Result<Self, UnknownHintMode> {
        Ok(match text {
            "honor" => Self::Honor,
            "clamp" => Self::Clamp,
            "ignore" => Self::Ignore,
            _ => return Err(UnknownHintMode),
        })
    }
}
