//! Why did a call stop?

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use crate::suggest;

/// The closed set of reasons for which a call ends without success.
///
/// When several hold, the first in the order of the retry reasons below is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The failure is permanent.
    Permanent,
    /// The server said so, to this layer or to one below.
    DoNotRetry,
    /// The operation may have taken effect and is neither idempotent nor keyed.
    NotIdempotent,
    /// The request's body has been consumed and cannot be sent again.
    BodyNotReplayable,
    /// A layer above repeats this work already: see [`Nested`](crate::scope::Nested).
    NestedRetry,
    /// All attempts of the policy were used (or retries are switched off).
    AttemptsExhausted,
    /// The server's own delay is beyond the longest accepted one, or beyond the deadline.
    HintTooLong,
    /// The wait would pass the deadline, or the deadline cut the attempt.
    DeadlineExceeded,
    /// The circuit breaker is open, here or, for more than a fifth of the attempts, in a layer below.
    BreakerOpen,
    /// Too many calls are waiting already.
    TooManyWaiting,
    /// The retry budget is spent, here or, for more than a fifth of the attempts, in a layer below.
    BudgetExhausted,
    /// The call was dropped or cancelled by its owner.
    Cancelled,
    /// The adaptive throttle refused the first try.
    Shed,
    /// The bulkhead refused the first try.
    BulkheadFull,
    /// The rate limiter refused the first try.
    RateLimited,
}

impl StopReason {
    /// Every reason, in the order of precedence.
    pub const ALL: &'static [Self] = &[
        Self::Permanent,
        Self::DoNotRetry,
        Self::NotIdempotent,
        Self::BodyNotReplayable,
        Self::NestedRetry,
        Self::AttemptsExhausted,
        Self::HintTooLong,
        Self::DeadlineExceeded,
        Self::BreakerOpen,
        Self::TooManyWaiting,
        Self::BudgetExhausted,
        Self::Cancelled,
        Self::Shed,
        Self::BulkheadFull,
        Self::RateLimited,
    ];

    /// The name in events, metrics and reports: one of a closed set.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::DoNotRetry => "do_not_retry",
            Self::NotIdempotent => "not_idempotent",
            Self::BodyNotReplayable => "body_not_replayable",
            Self::NestedRetry => "nested_retry",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::HintTooLong => "hint_too_long",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::BreakerOpen => "breaker_open",
            Self::TooManyWaiting => "too_many_waiting",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Cancelled => "cancelled",
            Self::Shed => "shed",
            Self::BulkheadFull => "bulkhead_full",
            Self::RateLimited => "rate_limited",
        }
    }

    /// Whether layers above are told: `DoNotRetry` forbids them to retry; a spent budget and an open
    /// breaker they heed where more than a fifth of their attempts hear of one.
    pub const fn is_told_above(self) -> bool {
        matches!(
            self,
            Self::BudgetExhausted | Self::BreakerOpen | Self::DoNotRetry
        )
    }
}

/// The reason as the end of a sentence that starts with "gave up because".
impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permanent => "the failure is permanent",
            Self::DoNotRetry => "the server or a layer below said not to retry",
            Self::NotIdempotent => "the operation may have taken effect and is not idempotent",
            Self::BodyNotReplayable => "the body cannot be sent again",
            Self::NestedRetry => "a layer above repeats it already",
            Self::AttemptsExhausted => "all attempts were used",
            Self::HintTooLong => "the server asked for a longer wait than is accepted",
            Self::DeadlineExceeded => "the deadline leaves no time",
            Self::BreakerOpen => "the circuit breaker is open",
            Self::TooManyWaiting => "too many calls are waiting to retry",
            Self::BudgetExhausted => "the retry budget is spent",
            Self::Cancelled => "the call was cancelled",
            Self::Shed => "the adaptive throttle shed the call",
            Self::BulkheadFull => "the bulkhead is full",
            Self::RateLimited => "the rate limit is reached",
        })
    }
}

/// The name in events, metrics and reports, as [`as_str`](StopReason::as_str) gives it.
impl FromStr for StopReason {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named(name, "stop reason", Self::ALL, Self::as_str)
    }
}

/// The text is no name of a closed set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    name: String,
    set: &'static str,
    nearest: Option<&'static str>,
}

impl UnknownName {
    /// The name that was probably meant.
    pub const fn nearest(&self) -> Option<&'static str> {
        self.nearest
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} `{}`", self.set, self.name)?;
        match self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for UnknownName {}

/// The member of a closed set that has this name.
pub(crate) fn named<T: Copy>(
    name: &str,
    set: &'static str,
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, UnknownName> {
    let mut members = all.iter().copied();
    members
        .find(|member| name_of(*member) == name)
        .ok_or_else(|| UnknownName {
            name: name.into(),
            set,
            nearest: suggest::nearest(name, all.iter().map(|member| name_of(*member))),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Class, Effect};

    #[test]
    fn c12_every_name_is_read_back() {
        for reason in StopReason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(*reason));
        }
        for class in Class::ALL {
            assert_eq!(class.as_str().parse(), Ok(*class));
        }
        for effect in Effect::ALL {
            assert_eq!(effect.as_str().parse(), Ok(*effect));
        }
    }

    #[test]
    fn c12_an_unknown_name_is_answered_with_the_nearest() {
        for (typed, meant) in [
            ("budget-exhausted", Some("budget_exhausted")),
            ("Permanent", Some("permanent")),
            ("shedd", Some("shed")),
            ("whatever", None),
            ("", None),
        ] {
            let error = typed.parse::<StopReason>().unwrap_err();
            assert_eq!(error.nearest(), meant, "{typed}");
        }
        let class = "throtled".parse::<Class>().unwrap_err();
        let sentence = "there is no class `throtled`; did you mean `throttled`?";
        assert_eq!(alloc::format!("{class}"), sentence);
        let effect = "unsnet".parse::<Effect>().unwrap_err();
        assert_eq!(effect.nearest(), Some("unsent"));
    }
}
