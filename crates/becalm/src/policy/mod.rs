//! What is decided in advance about retrying? Plain data.

mod invalid;
mod mode;
#[cfg(feature = "text")]
mod sentence;
#[cfg(feature = "text")]
pub(crate) mod text;

pub use invalid::InvalidPolicy;
pub use mode::Mode;
#[cfg(feature = "text")]
pub use text::Unreadable;

use alloc::sync::Arc;
use core::time::Duration;

use crate::backoff::Backoff;
use crate::breaker::Breaker;
use crate::budget::{Budget, WhenSpent};
use crate::bulkhead::Bulkhead;
use crate::hedge::Hedge;
use crate::hint::HintMode;
use crate::jitter::Jitter;
use crate::rate::AdaptiveRate;
use crate::reasons::require;
use crate::retry_on::{Methods, RetryOn};
use crate::scope::Nested;
use crate::setters::setters;
use crate::throttle::Throttle;

/// The settings of a retrier: plain data, cheap to copy, safe as it stands.
///
/// The default makes 4 attempts, with full jitter under an exponential ceiling of 100 ms x 2, a
/// cap of 20 s, hints of at most 60 s, and a 10 % budget with a burst of 5 s of successes. Cloning copies the
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
    /// the calls that succeed, a burst of what 5 s of them earn and of at least 10, 10 an hour.
    pub budget: Budget,
    /// What a call does that finds no token in the budget. Default [`WhenSpent::Stop`].
    pub when_spent: WhenSpent,
    /// How many calls may wait at once; one more stops with
    /// [`TooManyWaiting`](crate::StopReason::TooManyWaiting). Default none: the budget bounds them, unless
    /// `when_spent` lets them wait for it.
    pub max_waiting: Option<u32>,
    /// What a retry inside another retry does. Default [`Nested::Nearest`].
    pub nested: Nested,
    /// What is repeated. Default `None`: becalm's own [classification](crate::classify).
    pub retry_on: Option<Arc<RetryOn>>,
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
    /// Whether all of this is kept, or only told. Default [`Mode::Enforce`].
    pub mode: Mode,
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Constructors: each is the default but for what it names.
impl Policy {
    /// As many attempts as the deadline leaves room for and the budget pays for. While all calls fail,
    /// the default budget, which holds 10 tokens at least, ends a call of an idle client after 11.
    pub const UNLIMITED: u32 = u32::MAX;

    pub(crate) const DEFAULT: Self = Self {
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
        budget: Budget::ratio(0.1),
        when_spent: WhenSpent::Stop,
        max_waiting: None,
        nested: Nested::Nearest,
        retry_on: None,
        throttle: None,
        rate: None,
        hedge: None,
        bulkhead: None,
        breaker: None,
        mode: Mode::Enforce,
    };

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

    /// The ceiling is what the function returns for the n-th retry, n from 0 ([`Backoff::custom`]).
    /// `base` plays no part, but for decorrelated jitter.
    pub fn custom(ceiling: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Self {
        Self {
            backoff: Backoff::custom(ceiling),
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
    /// Sets what bounds the retries of all calls together; `None` is [`Budget::None`].
    budget: impl Into<Budget>;
    /// Sets what a call does that finds no token in the budget.
    when_spent: WhenSpent;
    /// Sets how many calls may wait at once.
    max_waiting: Option<u32>;
    /// Sets what a retry inside another retry does.
    nested: Nested;
    /// Lists what is repeated, in place of becalm's own classification.
    retry_on: Option<Arc<RetryOn>>;
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
    /// Sets whether all of this is kept, or only told.
    mode: Mode;
}

impl Policy {
    /// Refuses values that are out of range or do not fit together, naming the field and the remedy.
    ///
    /// Legal but dangerous policies pass: see `Policy::lints` (feature `lints`).
    pub fn validate(&self) -> Result<(), InvalidPolicy> {
        use InvalidPolicy as Refused;
        let (base, cap) = (self.base, self.cap);
        let throttled_base = self.throttled_base.unwrap_or(base);
        let decorrelated = self.jitter.is_decorrelated();
        let has_base = decorrelated || !matches!(self.backoff, Backoff::Custom(_));
        let grows = !decorrelated || !base.min(throttled_base).is_zero();
        let has_room = self.jitter != Jitter::Decorrelated || base.max(throttled_base) < cap;
        let (share, width) = match self.jitter {
            Jitter::Proportional(share) => (share, cap),
            Jitter::Additive(width) => (1.0, width),
            _ => (1.0, cap),
        };
        let lists = self.retry_on.as_deref();
        let methods = lists.and_then(|lists| lists.methods.as_ref());
        let are_methods = methods.is_none_or(Methods::are_valid);
        let multipliers = 1.0..f64::INFINITY;
        let (deadline, timeout) = (self.deadline, self.attempt_timeout);
        require(&[
            (self.attempts > 0, Refused::Attempts),
            (multipliers.contains(&self.multiplier), Refused::Multiplier),
            (!cap.is_zero(), Refused::Cap),
            (!has_base || base <= cap, Refused::BaseAboveCap),
            (
                !has_base || throttled_base <= cap,
                Refused::ThrottledBaseAboveCap,
            ),
            (self.floor < cap, Refused::FloorNotBelowCap),
            (grows, Refused::DecorrelatedWithoutBase),
            (has_room, Refused::DecorrelatedWithoutRoom),
            (deadline != Some(Duration::ZERO), Refused::Deadline),
            (timeout != Some(Duration::ZERO), Refused::AttemptTimeout),
            (
                self.when_spent == WhenSpent::Stop || deadline.is_some(),
                Refused::WaitWithoutDeadline,
            ),
            (self.max_waiting != Some(0), Refused::MaxWaiting),
            (share > 0.0 && share <= 1.0, Refused::JitterShare),
            (!width.is_zero() && width <= cap, Refused::JitterWidth),
            (
                lists.is_none_or(|lists| !lists.says_nothing()),
                Refused::RetryOnNothing,
            ),
            (are_methods, Refused::RetryOnMethods),
        ])?;
        self.validate_protection()
    }

    /// Refuses as well what can only be kept by the calls of a retrier.
    pub(crate) fn validate_alone(&self) -> Result<(), InvalidPolicy> {
        self.validate()?;
        let enforces = self.mode == Mode::Enforce;
        require(&[(enforces, InvalidPolicy::Observes)])
    }

    fn validate_protection(&self) -> Result<(), InvalidPolicy> {
        self.budget.validate().map_err(InvalidPolicy::Budget)?;
        if let Some(throttle) = &self.throttle {
            throttle.validate().map_err(InvalidPolicy::Throttle)?;
        }
        if let Some(rate) = &self.rate {
            rate.validate().map_err(InvalidPolicy::Rate)?;
        }
        if let Some(hedge) = &self.hedge {
            hedge.validate().map_err(InvalidPolicy::Hedge)?;
        }
        if let Some(bulkhead) = &self.bulkhead {
            bulkhead.validate().map_err(InvalidPolicy::Bulkhead)?;
        }
        if let Some(breaker) = &self.breaker {
            breaker.validate().map_err(InvalidPolicy::Breaker)?;
        }
        Ok(())
    }
}
