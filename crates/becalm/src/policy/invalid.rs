//! Why is a policy refused?

use core::fmt;

use crate::breaker::InvalidBreaker;
use crate::budget::InvalidBudget;
use crate::bulkhead::InvalidBulkhead;
use crate::hedge::InvalidHedge;
use crate::rate::InvalidAdaptiveRate;
use crate::throttle::InvalidThrottle;

/// The field at fault and the sentence of each reason, and the parts that have reasons of their own.
macro_rules! refusals {
    (
        of itself { $($(#[$doc:meta])* $reason:ident in $field:literal: $sentence:literal;)* }
        of its parts { $($(#[$of:meta])* $part:ident($invalid:ty) in $key:literal;)* }
    ) => {
        /// Why a policy is refused. `Display` names the field and the remedy.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum InvalidPolicy {
            $($(#[$doc])* $reason,)*
            $($(#[$of])* $part($invalid),)*
        }

        impl InvalidPolicy {
            /// The field at fault, as in a policy file.
            pub const fn field(self) -> &'static str {
                match self {
                    $(Self::$reason => $field,)*
                    $(Self::$part(_) => $key,)*
                }
            }
        }

        impl fmt::Display for InvalidPolicy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$reason => f.write_str($sentence),)*
                    $(Self::$part(reason) => reason.fmt(f),)*
                }
            }
        }
    };
}

refusals! {
    of itself {
        /// `attempts` is 0.
        Attempts in "attempts": "attempts is 0; the first try counts, so set at least 1";
        /// `multiplier` is below 1, infinite or not a number.
        Multiplier in "multiplier":
            "multiplier must be a finite number of at least 1; use 2, or fixed backoff";
        /// `cap` is 0.
        Cap in "cap": "cap is 0; set the longest delay, or a base of 0 for no delay";
        /// `base` is above `cap`.
        BaseAboveCap in "base": "base is above cap; lower base or raise cap";
        /// `throttled_base` is above `cap`, which binds the delays after throttled failures as well.
        ThrottledBaseAboveCap in "throttled_base":
            "throttled_base is above cap; lower throttled_base or raise cap";
        /// `floor` is not below `cap`.
        FloorNotBelowCap in "floor": "floor is not below cap; delays could not be spread between them";
        /// Decorrelated jitter grows from `base` or `throttled_base`, which is 0.
        DecorrelatedWithoutBase in "base":
            "base or throttled_base is 0, but decorrelated jitter grows from it; set a base or use \
             full jitter";
        /// Decorrelated jitter is drawn between `base` or `throttled_base` and `cap`, which are equal.
        DecorrelatedWithoutRoom in "base":
            "base or throttled_base is at cap, but decorrelated jitter is drawn between them; raise \
             cap or use full jitter";
        /// `deadline` is 0.
        Deadline in "deadline": "deadline is 0; no attempt could start, so leave it out or raise it";
        /// `attempt_timeout` is 0.
        AttemptTimeout in "attempt_timeout": "attempt_timeout is 0; no attempt could end in time";
        /// `when_spent` is [`WhenSpent::Wait`](crate::budget::WhenSpent::Wait) and there is no `deadline`.
        WaitWithoutDeadline in "when_spent":
            "when_spent is wait, which ends at the deadline, but there is none; set a deadline or \
             when_spent stop";
        /// `max_waiting` is 0.
        MaxWaiting in "max_waiting": "max_waiting is 0; use attempts 1 for no retries";
        /// The share of proportional jitter is out of range.
        JitterShare in "jitter":
            "jitter proportional needs a share above 0 and at most 1; use none for 0";
        /// The width of additive jitter is out of range.
        JitterWidth in "jitter":
            "jitter additive needs a width above 0 and at most cap; use none for 0";
        /// `retry_on` has none of its lists.
        RetryOnNothing in "retry_on":
            "retry_on lists nothing; list methods, statuses, codes or failures, or leave it out";
        /// A method of `retry_on` is no token in capital letters, or is there twice.
        RetryOnMethods in "retry_on":
            "retry_on lists a method that is none, or one twice; write each once in capital letters";
        /// `mode` is observe, where something other than a call would have to go on without the policy.
        Observes in "mode":
            "mode is observe, and only the calls of a retrier can be observed; set mode enforce here";
    }
    of its parts {
        /// The budget is refused.
        Budget(InvalidBudget) in "budget";
        /// The adaptive throttle is refused.
        Throttle(InvalidThrottle) in "throttle";
        /// The adaptive rate is refused.
        Rate(InvalidAdaptiveRate) in "rate";
        /// The hedge is refused.
        Hedge(InvalidHedge) in "hedge";
        /// The bulkhead is refused.
        Bulkhead(InvalidBulkhead) in "bulkhead";
        /// The breaker is refused.
        Breaker(InvalidBreaker) in "breaker";
    }
}

impl core::error::Error for InvalidPolicy {}
