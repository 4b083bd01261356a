//! What did the server say about the next attempt?
//!
//! [`Hint`] is what the decision sees. The functions read the field values that carry one; which
//! header holds which is known to the driver of the protocol.

mod http_date;
mod pushback;
mod rate_limit;
mod retry_after;
pub(crate) mod structured;

pub use http_date::http_date;
pub use pushback::pushback;
pub use rate_limit::{rate_limit, rate_limit_reset, rate_limit_reset_after};
pub use retry_after::{amz_retry_after, retry_after, retry_after_ms};

use core::time::Duration;

use crate::stop::StopReason;

/// The server's own word about the next attempt.
///
/// Parsed by the driver that speaks the protocol; the decision sees only this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Not before this delay has passed; jitter goes on top, from nothing to the ceiling of the
    /// backoff or a tenth of the delay, if that is more. `Retry-After`, which names a moment and
    /// leaves it to the clients not to come all at once.
    AtLeast(Duration),
    /// At any moment of a window that the server names, each as likely as the other: from `after`
    /// to `after + over`. Nothing is added, since the server has said how far its clients are to
    /// spread, and the backoff takes a step as it does for `AtLeast`.
    ///
    /// Whether the hint fits is asked of `after` alone: it must be at most
    /// [`max_hint`](crate::Policy::max_hint) and end before the deadline, which cuts the rest of the
    /// window.
    Spread {
        /// The first moment.
        after: Duration,
        /// How long the window is.
        over: Duration,
    },
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
    /// choice. So is the width of a [`Hint::Spread`].
    Clamp,
    /// The delay is computed as if no hint had come.
    Ignore,
}
