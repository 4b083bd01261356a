//! Why did a call stop?

pub use crate::names::UnknownName;

use crate::names::names;

names! {
    /// The closed set of reasons for which a call ends without success.
    ///
    /// When several hold, the first in the order of the retry reasons below is named. `Display` is
    /// the end of a sentence that starts with "gave up because".
    StopReason: "stop reason";
    /// The failure is permanent.
    Permanent = "permanent", "the failure is permanent";
    /// The policy's [`retry_on`](crate::Policy::retry_on) does not list the failure, although it may pass.
    NotListed = "not_listed", "the policy does not list the failure in retry_on";
    /// The server said so, to this layer or to one below.
    DoNotRetry = "do_not_retry", "the server or a layer below said not to retry";
    /// The operation may have taken effect and is neither idempotent nor keyed.
    NotIdempotent = "not_idempotent", "the operation may have taken effect and is not idempotent";
    /// The request's body has been consumed and cannot be sent again.
    BodyNotReplayable = "body_not_replayable", "the body cannot be sent again";
    /// A layer above repeats this work already: see [`Nested`](crate::scope::Nested).
    NestedRetry = "nested_retry", "a layer above repeats it already";
    /// All attempts of the policy were used (or retries are switched off).
    AttemptsExhausted = "attempts_exhausted", "all attempts were used";
    /// The server's own delay is beyond the longest accepted one, or beyond the deadline.
    HintTooLong = "hint_too_long", "the server asked for a longer wait than is accepted or the deadline leaves";
    /// The wait would pass the deadline, or the deadline cut the attempt.
    DeadlineExceeded = "deadline_exceeded", "the deadline leaves no time";
    /// The circuit breaker is open, here or, for more than a fifth of the attempts, in a layer below.
    BreakerOpen = "breaker_open", "the circuit breaker is open";
    /// Too many calls are waiting already.
    TooManyWaiting = "too_many_waiting", "too many calls are waiting to retry";
    /// The retry budget is spent, here or, for more than a fifth of the attempts, in a layer below.
    BudgetExhausted = "budget_exhausted", "the retry budget is spent";
    /// The call was dropped or cancelled by its owner.
    Cancelled = "cancelled", "the call was cancelled";
    /// The adaptive throttle refused the first try.
    Shed = "shed", "the adaptive throttle shed the call";
    /// The bulkhead refused the first try.
    BulkheadFull = "bulkhead_full", "the bulkhead is full";
    /// The rate limiter refused the first try.
    RateLimited = "rate_limited", "the rate limit is reached";
}

impl StopReason {
    /// Whether layers above are told: `DoNotRetry` forbids them to retry; a spent budget and an open
    /// breaker they heed where more than a fifth of their attempts hear of one.
    pub const fn is_told_above(self) -> bool {
        matches!(
            self,
            Self::BudgetExhausted | Self::BreakerOpen | Self::DoNotRetry
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::State;
    use crate::classify::{Class, Effect};
    use alloc::string::ToString;

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
        for state in State::ALL {
            assert_eq!(state.to_string().parse(), Ok(*state));
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
