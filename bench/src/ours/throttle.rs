//! What does a retrier ask of becalm's budgets and guards, without the retrier?

use std::sync::Arc;
use std::time::Duration;

use becalm::budget::{Budgets, RetryBudget};
use becalm::rng::{Random, SplitMix64};
use becalm::time::TokioSleeper;
use becalm::{
    Budget, Failure,
    rate::{AdaptiveRate, RateLimiter},
    throttle::{AdaptiveThrottle, Priority},
    time::Instant,
};

use super::clocks::{Clock, Coarse, Ticks};
use crate::peers::Throttle;

/// One retry for each first try.
pub fn ratio() -> impl Throttle {
    shared(Budget::ratio(1.0), Coarse::UNREAD)
}

/// The quota of the AWS SDKs.
pub fn tokens() -> impl Throttle {
    shared(Budget::tokens(), Coarse::UNREAD)
}

/// The tokens of gRPC: a success gives what a failure takes.
pub fn grpc() -> impl Throttle {
    shared(Budget::grpc(100, 1.0), Coarse::UNREAD)
}

/// A retry for each first try of ten seconds.
pub fn window() -> impl Throttle {
    shared(a_retry_each(), Coarse::UNREAD)
}

/// A retry for each first try of ten seconds, by the clock that a retrier has by default.
pub fn window_and_clock() -> impl Throttle {
    shared(a_retry_each(), TokioSleeper::new())
}

/// A fifth of the calls under way, and three.
pub fn concurrency() -> impl Throttle {
    shared(Budget::concurrency(0.2, 3), Coarse::UNREAD)
}

/// More retries in a minute than there are calls in one, on a clock on which a minute soon passes.
pub fn per_minute() -> impl Throttle {
    shared(Budget::per_minute(100_000), Ticks::START)
}

/// Two kinds, both of which must agree.
pub fn all_of() -> impl Throttle {
    let both = Budget::ratio(1.0).and(Budget::concurrency(0.2, 3));
    shared(both, Coarse::UNREAD)
}

/// The throttle of Google's SRE book, which looks at first tries.
pub fn adaptive() -> impl Throttle {
    shedding(Coarse::UNREAD)
}

/// The throttle of Google's SRE book, by the clock that a retrier has by default.
pub fn adaptive_and_clock() -> impl Throttle {
    shedding(TokioSleeper::new())
}

/// The rate limiter of the AWS SDKs, which is idle until the first throttled failure.
pub fn rate() -> impl Throttle {
    Limited {
        limiter: Arc::new(RateLimiter::new(AdaptiveRate::cubic())),
        clock: Coarse::UNREAD,
    }
}

fn a_retry_each() -> Budget {
    Budget::window(1.0, Duration::from_secs(10), 10.0)
}

#[derive(Clone)]
struct Shared<C> {
    budget: Arc<Budgets>,
    clock: C,
}

fn shared<C: Clock>(budget: Budget, clock: C) -> impl Throttle {
    budget.validate().expect("constants within their ranges");
    Shared {
        budget: Arc::new(Budgets::new(budget)),
        clock,
    }
}

impl<C: Clock> Shared<C> {
    /// The begin of a call, and its time if the budget wants it.
    #[inline]
    fn begin(&mut self) -> Instant {
        let now = if self.budget.reads_clock() {
            self.clock.now()
        } else {
            Instant::ZERO
        };
        if self.budget.hears_calls() {
            self.budget.call_began();
        }
        self.budget.first_try(now);
        now
    }
}

impl<C: Clock> Throttle for Shared<C> {
    #[inline]
    fn success(&mut self) {
        let now = self.begin();
        self.budget.deposit(now);
        if self.budget.hears_calls() {
            self.budget.on_success(now, None);
            self.budget.call_ended();
        }
    }

    #[inline]
    fn recovery(&mut self) -> bool {
        self.begin();
        let now = self.clock.now();
        let failure = Failure::transient();
        let budget = &self.budget;
        budget.on_failure(now, &failure);
        let withdrawal = budget.withdraw(now, &failure);
        let granted = withdrawal.is_some();
        budget.deposit(now);
        if budget.hears_calls() {
            budget.on_success(now, withdrawal);
            budget.call_ended();
        } else if let Some(withdrawal) = withdrawal {
            budget.spent(withdrawal);
        }
        granted
    }

    fn failure(&mut self) -> bool {
        let failure = Failure::transient();
        self.budget.on_failure(Instant::ZERO, &failure);
        let withdrawal = self.budget.withdraw(Instant::ZERO, &failure);
        withdrawal.map(std::mem::forget).is_some()
    }
}

#[derive(Clone)]
struct Shedding<C> {
    throttle: Arc<AdaptiveThrottle>,
    random: SplitMix64,
    clock: C,
}

fn shedding<C: Clock>(clock: C) -> impl Throttle {
    Shedding {
        throttle: Arc::new(AdaptiveThrottle::new(becalm::Throttle::default())),
        random: SplitMix64::new(1),
        clock,
    }
}

impl<C: Clock> Shedding<C> {
    #[inline]
    fn is_admitted(&mut self) -> bool {
        let (now, random) = (self.clock.now(), &mut self.random);
        let admitted = self
            .throttle
            .admit(now, Priority::default(), || random.next_u64());
        admitted.is_ok()
    }

    #[inline]
    fn accept(&mut self) {
        let now = self.clock.now();
        self.throttle.on_accepted(now, Priority::default());
    }

    #[inline]
    fn reject(&mut self) {
        let now = self.clock.now();
        self.throttle.on_rejected(now, Priority::default());
    }
}

impl<C: Clock> Throttle for Shedding<C> {
    #[inline]
    fn success(&mut self) {
        assert!(self.is_admitted(), "a throttle that sees successes sheds");
        self.accept();
    }

    #[inline]
    fn recovery(&mut self) -> bool {
        let admitted = self.is_admitted();
        self.reject();
        self.accept();
        admitted
    }

    fn failure(&mut self) -> bool {
        let admitted = self.is_admitted();
        if admitted {
            self.reject();
        }
        admitted
    }
}

#[derive(Clone)]
struct Limited<C> {
    limiter: Arc<RateLimiter>,
    clock: C,
}

impl<C: Clock> Limited<C> {
    /// Whether an attempt may start now.
    #[inline]
    fn may_start(&mut self) -> bool {
        let now = self.clock.now();
        let place = self.limiter.acquire(now);
        place.is_ok_and(|place| place.at() <= now)
    }
}

impl<C: Clock> Throttle for Limited<C> {
    #[inline]
    fn success(&mut self) {
        assert!(self.may_start(), "a limiter that saw no throttle waits");
        self.limiter.on_success(self.clock.now());
    }

    #[inline]
    fn recovery(&mut self) -> bool {
        self.success();
        self.success();
        true
    }

    fn failure(&mut self) -> bool {
        let may = self.may_start();
        self.limiter.on_throttle(self.clock.now());
        may
    }
}
