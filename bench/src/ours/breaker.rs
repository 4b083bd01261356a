//! How is a call made through becalm's breaker, without a retrier?

use std::sync::Arc;
use std::time::Duration;

use becalm::breaker::{self, CircuitBreaker, Span};
use becalm::time::TokioSleeper;

use super::clocks::{Clock, Coarse};
use crate::operation::{Outcome, reply};
use crate::peers::Breaker;

/// Five failures in a row.
pub fn consecutive() -> impl Breaker {
    breaker(breaker::Breaker::consecutive(5), Coarse::UNREAD)
}

/// Half of this many calls.
pub fn count(window: u32) -> impl Breaker {
    breaker(share(Span::Calls(window)), Coarse::UNREAD)
}

/// Half of the calls of this time, on a clock that is seldom read.
pub fn time(window: Duration) -> impl Breaker {
    breaker(share(Span::Time(window)), Coarse::UNREAD)
}

/// Half of the calls of this time, with the clock that a retrier has by default.
pub fn time_and_clock(window: Duration) -> impl Breaker {
    breaker(share(Span::Time(window)), TokioSleeper::new())
}

/// Half of 100 calls that fail or take a second, on a clock that is seldom read.
pub fn slow() -> impl Breaker {
    breaker(slow_calls(), Coarse::UNREAD)
}

/// Half of 100 calls that fail or take a second, with the clock that a retrier has by default.
pub fn slow_and_clock() -> impl Breaker {
    breaker(slow_calls(), TokioSleeper::new())
}

fn share(window: Span) -> breaker::Breaker {
    breaker::Breaker::share(0.5, window)
}

fn slow_calls() -> breaker::Breaker {
    share(Span::Calls(100)).slow(Duration::from_secs(1))
}

#[derive(Clone)]
struct Shared<C> {
    breaker: Arc<CircuitBreaker>,
    is_timed: bool,
    clock: C,
}

fn breaker<C: Clock>(config: breaker::Breaker, clock: C) -> impl Breaker {
    let breaker = CircuitBreaker::new(config).expect("constants within their ranges");
    Shared {
        breaker: Arc::new(breaker),
        is_timed: config.slow.is_some(),
        clock,
    }
}

impl<C: Clock> Breaker for Shared<C> {
    #[inline]
    fn call(&mut self, request: Outcome) -> Option<Outcome> {
        let started = self.is_timed.then(|| self.clock.now());
        let clock = &mut self.clock;
        let permit = self.breaker.admit(|| clock.now()).ok()?;
        let outcome = reply(request);
        let ended = match outcome {
            Ok(_) => breaker::Outcome::Success,
            Err(_) => breaker::Outcome::Failure,
        };
        let took = started.map_or(Duration::ZERO, |started| self.clock.now().since(started));
        let clock = &mut self.clock;
        self.breaker
            .record(permit, ended, || clock.now(), took, || 7);
        Some(outcome)
    }
}
