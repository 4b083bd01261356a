//! What is decided in advance about retrying? Plain data.

mod sentence;
pub(crate) mod text;

pub use text::{Fault, Unreadable};

use core::fmt;
use core::time::Duration;

use crate::backoff::Backoff;
use crate::breaker::{Breaker, InvalidBreaker};
use crate::budget::{Budget, InvalidBudget};
use crate::bulkhead::{Bulkhead, InvalidBulkhead};
use crate::hedge::{Hedge, InvalidHedge};
use crate::hint::HintMode;
use crate::jitter::Jitter;
use crate::rate::{AdaptiveRate, InvalidAdaptiveRate};
use crate::scope::Nested;
use crate::setters::setters;
use crate::throttle::{InvalidThrottle, Throttle};
use text::Written;

/// The settings of a retrier: plain data, cheap to copy, safe as it stands.
///
/// The default makes 4 attempts, with full jitter under an exponential ceiling of 100 ms x 2, a
/// cap of 20 s, hints of at most 60 s, and a 10 % budget with a burst of 10. Cloning copies the
/// data; each `.retrier()` has new state of its own.
///
/// ```
/// use becalm::{Jitter, Policy};
/// use std::time::Duration;
///
/// let policy = Policy::exponential(Duration::from_millis(200))
///     .attempts(5)
///     .jitter(Jitter::Equal)
///     .deadline(Duration::from_secs(10));
/// assert!(policy.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Policy {
    /// How the ceiling grows. Default [`Backoff::Exponential`].
    pub backoff: Backoff,
    /// The first ceiling. Default 100 ms.
    pub base: Duration,
    /// The base after a throttled failure; `None` (the default) means `base`.
    pub throttled_base: Option<Duration>,
    /// The factor of [`Backoff::Exponential`]: from 1 up. Default 2.
    pub multiplier: f64,
    /// The longest computed delay. Default 20 s. Hints are bounded by `max_hint` instead.
    pub cap: Duration,
    /// The shortest computed delay: below the cap. Default 0.
    pub floor: Duration,
    /// How delays are drawn below the ceiling. Default [`Jitter::Full`].
    pub jitter: Jitter,
    /// How many attempts a call may make, the first included: from 1. [`Policy::UNLIMITED`] leaves the bound to
    /// deadline and budget.
    /// Default 4.
    pub attempts: u32,
    /// The longest time of the whole call, waits included. Default none.
    pub deadline: Option<Duration>,
    /// The longest time of one attempt. A blocking engine cannot cut an attempt: hand
    /// [`Attempt::timeout`](crate::Attempt::timeout) to the client. Default none.
    pub attempt_timeout: Option<Duration>,
    /// What is done with the server's hints. Default [`HintMode::Honor`].
    pub hint: HintMode,
    /// The longest hint that is waited for; a longer one stops the call. Default 60 s.
    pub max_hint: Duration,
    /// What bounds the retries of all calls together. Default a tenth of
    /// the calls that succeed, burst 10, 10 an hour.
    pub budget: Budget,
    /// How many calls may wait at once; one more stops with
    /// [`TooManyWaiting`](crate::StopReason::TooManyWaiting). Default none: the budget bounds them.
    pub max_waiting: Option<u32>,
    /// What a retry inside another retry does. Default [`Nested::Nearest`].
    pub nested: Nested,
    /// Sheds first tries while the server rejects calls. Default none.
    pub throttle: Option<Throttle>,
    /// Holds attempts to the rate that the server leaves when it throttles. Default none.
    pub rate: Option<AdaptiveRate>,
    /// Starts a second copy beside a slow attempt (async engine and drivers). Default none.
    pub hedge: Option<Hedge>,
    /// How many attempts may be running at once. Default none.
    pub bulkhead: Option<Bulkhead>,
    /// Refuses attempts while the dependency is down. Default none.
    pub breaker: Option<Breaker>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            backoff: Backoff::Exponential,
            base: Duration::from_millis(100),
            throttled_base: None,
            multiplier: 2.0,
            cap: Duration::from_secs(20),
            floor: Duration::ZERO,
            jitter: Jitter::Full,
            attempts: 4,
            deadline: None,
            attempt_timeout: None,
            hint: HintMode::Honor,
            max_hint: Duration::from_secs(60),
            budget: Budget::default(),
            max_waiting: None,
            nested: Nested::Nearest,
            throttle: None,
            rate: None,
            hedge: None,
            bulkhead: None,
            breaker: None,
        }
    }
}

/// Constructors: each is the default but for what it names.
impl Policy {
    /// As many attempts as the deadline leaves room for and the budget pays for. While all calls fail,
    /// the default budget with its burst of 10 ends a call after 11.
    pub const UNLIMITED: u32 = u32::MAX;

    /// The default policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// The ceiling is `base`, then twice that, and so on. The cap is the default one, or `base` where
    /// that is longer.
    pub fn exponential(base: Duration) -> Self {
        Self::growing(Backoff::Exponential, base)
    }

    /// The ceiling is `delay` every time. So is the cap where that is longer than the default one.
    pub fn fixed(delay: Duration) -> Self {
        Self::growing(Backoff::Fixed, delay)
    }

    /// The ceiling is `base`, then `2 x base`, `3 x base`. The cap is the default one, or `base` where
    /// that is longer.
    pub fn linear(base: Duration) -> Self {
        Self::growing(Backoff::Linear, base)
    }

    /// The ceiling is `base` x 1, 1, 2, 3, 5. The cap is the default one, or `base` where that is
    /// longer.
    pub fn fibonacci(base: Duration) -> Self {
        Self::growing(Backoff::Fibonacci, base)
    }

    /// The one argument of a constructor never makes a policy that is refused.
    fn growing(backoff: Backoff, base: Duration) -> Self {
        let default = Self::default();
        Self {
            backoff,
            base,
            cap: default.cap.max(base),
            ..default
        }
    }

    /// The ceiling is what the function returns for the n-th retry, n from 0. `base` plays no part,
    /// but for decorrelated jitter.
    pub fn custom(ceiling: fn(u32) -> Duration) -> Self {
        Self {
            backoff: Backoff::Custom(ceiling),
            ..Self::default()
        }
    }
}

setters! {
    /// Setters: each returns the policy with one field changed; where the field is optional, `None`
    /// clears it. Nothing is checked until [`Policy::validate`] or `.retrier()`.
    impl Policy;
    /// Sets how the ceiling grows.
    backoff: Backoff;
    /// Sets the first ceiling.
    base: Duration;
    /// Sets the base after a throttled failure.
    throttled_base: Option<Duration>;
    /// Sets the factor of the exponential growth.
    multiplier: f64;
    /// Sets the longest computed delay.
    cap: Duration;
    /// Sets the shortest computed delay.
    floor: Duration;
    /// Sets how delays are drawn below the ceiling.
    jitter: Jitter;
    /// Sets all attempts of a call, the first included.
    attempts: u32;
    /// Sets the longest time of the whole call, waits included.
    deadline: Option<Duration>;
    /// Sets the longest time of one attempt.
    attempt_timeout: Option<Duration>;
    /// Sets what is done with the server's hints.
    hint: HintMode;
    /// Sets the longest hint that is waited for.
    max_hint: Duration;
    /// Sets what bounds the retries of all calls together.
    budget: Budget;
    /// Sets how many calls may wait at once.
    max_waiting: Option<u32>;
    /// Sets what a retry inside another retry does.
    nested: Nested;
    /// Sheds first tries while the server rejects calls.
    throttle: Option<Throttle>;
    /// Holds attempts to the rate that the server leaves when it throttles.
    rate: Option<AdaptiveRate>;
    /// Starts a second copy beside a slow attempt: in async calls, not in blocking ones nor in loops
    /// written by hand.
    hedge: Option<Hedge>;
    /// Bounds how many attempts may be running at once.
    bulkhead: Option<Bulkhead>;
    /// Refuses attempts while the dependency is down.
    breaker: Option<Breaker>;
}

impl Policy {
    /// Refuses values that are out of range or do not fit together, naming the field and the remedy.
    ///
    /// Legal but dangerous policies pass: see [`Policy::lints`].
    pub fn validate(&self) -> Result<(), InvalidPolicy> {
        let decorrelated = matches!(
            self.jitter,
            Jitter::Decorrelated | Jitter::DecorrelatedClamped
        );
        let throttled_base = self.throttled_base.unwrap_or(self.base);
        let has_base = decorrelated || !matches!(self.backoff, Backoff::Custom(_));
        if self.attempts == 0 {
            Err(InvalidPolicy::Attempts)
        } else if !(self.multiplier >= 1.0 && self.multiplier.is_finite()) {
            Err(InvalidPolicy::Multiplier)
        } else if self.cap.is_zero() {
            Err(InvalidPolicy::Cap)
        } else if has_base && self.base > self.cap {
            Err(InvalidPolicy::BaseAboveCap)
        } else if has_base && throttled_base > self.cap {
            Err(InvalidPolicy::ThrottledBaseAboveCap)
        } else if self.floor >= self.cap {
            Err(InvalidPolicy::FloorNotBelowCap)
        } else if decorrelated && (self.base.is_zero() || throttled_base.is_zero()) {
            Err(InvalidPolicy::DecorrelatedWithoutBase)
        } else if self.jitter == Jitter::Decorrelated && self.base.max(throttled_base) >= self.cap {
            Err(InvalidPolicy::DecorrelatedWithoutRoom)
        } else if self.deadline.is_some_and(|deadline| deadline.is_zero()) {
            Err(InvalidPolicy::Deadline)
        } else if self
            .attempt_timeout
            .is_some_and(|timeout| timeout.is_zero())
        {
            Err(InvalidPolicy::AttemptTimeout)
        } else if self.max_waiting == Some(0) {
            Err(InvalidPolicy::MaxWaiting)
        } else {
            match self.jitter {
                Jitter::Proportional(share) if !(share > 0.0 && share <= 1.0) => {
                    Err(InvalidPolicy::JitterShare)
                }
                Jitter::Additive(width) if width.is_zero() || width > self.cap => {
                    Err(InvalidPolicy::JitterWidth)
                }
                _ => self.validate_protection(),
            }
        }
    }

    fn validate_protection(&self) -> Result<(), InvalidPolicy> {
        self.budget.check()?;
        self.throttle.as_ref().map_or(Ok(()), Written::check)?;
        self.rate.as_ref().map_or(Ok(()), Written::check)?;
        self.hedge.as_ref().map_or(Ok(()), Written::check)?;
        self.bulkhead.as_ref().map_or(Ok(()), Written::check)?;
        self.breaker.as_ref().map_or(Ok(()), Written::check)
    }
}

/// Why a policy is refused. `Display` names the field and the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidPolicy {
    /// `attempts` is 0.
    Attempts,
    /// `multiplier` is below 1, infinite or not a number.
    Multiplier,
    /// `cap` is 0.
    Cap,
    /// `base` is above `cap`.
    BaseAboveCap,
    /// `throttled_base` is above `cap`, which binds the delays after throttled failures as well.
    ThrottledBaseAboveCap,
    /// `floor` is not below `cap`.
    FloorNotBelowCap,
    /// Decorrelated jitter grows from `base` or `throttled_base`, which is 0.
    DecorrelatedWithoutBase,
    /// Decorrelated jitter is drawn between `base` or `throttled_base` and `cap`, which are equal.
    DecorrelatedWithoutRoom,
    /// `deadline` is 0.
    Deadline,
    /// `attempt_timeout` is 0.
    AttemptTimeout,
    /// `max_waiting` is 0.
    MaxWaiting,
    /// The share of proportional jitter is out of range.
    JitterShare,
    /// The width of additive jitter is out of range.
    JitterWidth,
    /// The budget is refused.
    Budget(InvalidBudget),
    /// The adaptive throttle is refused.
    Throttle(InvalidThrottle),
    /// The adaptive rate is refused.
    Rate(InvalidAdaptiveRate),
    /// The hedge is refused.
    Hedge(InvalidHedge),
    /// The bulkhead is refused.
    Bulkhead(InvalidBulkhead),
    /// The breaker is refused.
    Breaker(InvalidBreaker),
}

impl InvalidPolicy {
    /// The field at fault, as in a policy file.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::Multiplier => "multiplier",
            Self::Cap => "cap",
            Self::BaseAboveCap | Self::DecorrelatedWithoutBase | Self::DecorrelatedWithoutRoom => {
                "base"
            }
            Self::ThrottledBaseAboveCap => "throttled_base",
            Self::FloorNotBelowCap => "floor",
            Self::Deadline => "deadline",
            Self::AttemptTimeout => "attempt_timeout",
            Self::MaxWaiting => "max_waiting",
            Self::JitterShare | Self::JitterWidth => "jitter",
            Self::Budget(_) => "budget",
            Self::Throttle(_) => "throttle",
            Self::Rate(_) => "rate",
            Self::Hedge(_) => "hedge",
            Self::Bulkhead(_) => "bulkhead",
            Self::Breaker(_) => "breaker",
        }
    }
}

impl fmt::Display for InvalidPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attempts => "attempts is 0; the first try counts, so set at least 1",
            Self::Multiplier => {
                "multiplier must be a finite number of at least 1; use 2, or fixed backoff"
            }
            Self::Cap => "cap is 0; set the longest delay, or a base of 0 for no delay",
            Self::BaseAboveCap => "base is above cap; lower base or raise cap",
            Self::ThrottledBaseAboveCap => {
                "throttled_base is above cap; lower throttled_base or raise cap"
            }
            Self::FloorNotBelowCap => {
                "floor is not below cap; delays could not be spread between them"
            }
            Self::DecorrelatedWithoutBase => {
                "base or throttled_base is 0, but decorrelated jitter grows from it; set a base or \
                 use full jitter"
            }
            Self::DecorrelatedWithoutRoom => {
                "base or throttled_base is at cap, but decorrelated jitter is drawn between them; \
                 raise cap or use full jitter"
            }
            Self::Deadline => "deadline is 0; no attempt could start, so leave it out or raise it",
            Self::AttemptTimeout => "attempt_timeout is 0; no attempt could end in time",
            Self::MaxWaiting => "max_waiting is 0; use attempts 1 for no retries",
            Self::JitterShare => {
                "jitter proportional needs a share above 0 and at most 1; use none for 0"
            }
            Self::JitterWidth => {
                "jitter additive needs a width above 0 and at most cap; use none for 0"
            }
            Self::Budget(reason) => return reason.fmt(f),
            Self::Throttle(reason) => return reason.fmt(f),
            Self::Rate(reason) => return reason.fmt(f),
            Self::Hedge(reason) => return reason.fmt(f),
            Self::Bulkhead(reason) => return reason.fmt(f),
            Self::Breaker(reason) => return reason.fmt(f),
        })
    }
}

impl core::error::Error for InvalidPolicy {}
