//! What would enforcing have done to a call that was only observed?

use core::time::Duration;

use crate::stop::StopReason;

/// What a policy would have done to a call that it only [observes](crate::policy::Mode::Observe).
///
/// Up to the first decision it is the very decision that enforcing takes, by the same budget and guards. What
/// would have followed a retry, a hedge or a wait is not known, and nothing is told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Would {
    /// Repeated it. The budget has paid.
    Retry {
        /// After this delay.
        delay: Duration,
    },
    /// Ended it after its first attempt for this reason, which is not the one that it has stopped for: an
    /// observed call is one of one attempt.
    Stop(StopReason),
    /// Refused its first try.
    Refuse(StopReason),
    /// Held its first try back, until a guard let it start.
    Wait,
    /// Cut its attempt: what follows that is told next.
    Cut {
        /// When the attempt had run this long.
        after: Duration,
    },
    /// Started a hedge beside its attempt. The budget has paid.
    Hedge {
        /// When the attempt had run this long.
        after: Duration,
    },
    /// Failed it, by a refusal or a stop that was told before: it has succeeded.
    Fail,
}

impl Would {
    /// The name in events and metrics: `retry`, `stop`, `refuse`, `wait`, `cut`, `hedge` or `fail`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry { .. } => "retry",
            Self::Stop(_) => "stop",
            Self::Refuse(_) => "refuse",
            Self::Wait => "wait",
            Self::Cut { .. } => "cut",
            Self::Hedge { .. } => "hedge",
            Self::Fail => "fail",
        }
    }

    /// Why it would have been stopped or refused.
    pub const fn reason(self) -> Option<StopReason> {
        match self {
            Self::Stop(reason) | Self::Refuse(reason) => Some(reason),
            _ => None,
        }
    }

    /// The delay, or how long the attempt had run.
    pub const fn time(self) -> Option<Duration> {
        match self {
            Self::Retry { delay: time }
            | Self::Cut { after: time }
            | Self::Hedge { after: time } => Some(time),
            _ => None,
        }
    }
}
