//! Its breaker: a layer around a service.

use std::task::{Context, Waker};
use std::time::Duration;

use tower::{Layer, Service, service_fn};
use tower_resilience_circuitbreaker::{
    CircuitBreakerConfigBuilder, CircuitBreakerError, CircuitBreakerLayer, SlidingWindowType,
};

use crate::drive::complete;
use crate::operation::{Failed, Outcome, reply};
use crate::peers::Breaker;

/// The package.
pub const PACKAGE: &str = "tower-resilience-circuitbreaker";

/// Five failures in a row.
pub fn consecutive() -> impl Breaker {
    breaker(builder().consecutive_failures(5))
}

/// Half of this many calls.
pub fn count(window: usize) -> impl Breaker {
    breaker(builder().sliding_window_size(window))
}

/// Half of the calls of ten seconds, from ten calls on.
pub fn time() -> impl Breaker {
    let window = builder().sliding_window_type(SlidingWindowType::TimeBased);
    let seconds = Duration::from_secs(10);
    breaker(
        window
            .sliding_window_duration(seconds)
            .minimum_number_of_calls(10),
    )
}

/// Half of 100 calls that fail or take a second.
pub fn slow() -> impl Breaker {
    let slow = builder().slow_call_duration_threshold(Duration::from_secs(1));
    breaker(slow.slow_call_rate_threshold(0.5))
}

/// The default but for the time it stays open.
pub fn builder() -> CircuitBreakerConfigBuilder {
    CircuitBreakerLayer::builder().failure_rate_threshold(0.5)
}

fn breaker(builder: CircuitBreakerConfigBuilder) -> impl Breaker {
    let layer = builder.build().expect("constants that it accepts");
    Layered(layer.layer(service_fn(|request| async move { reply(request) })))
}

#[derive(Clone)]
struct Layered<S>(S);

impl<S> Breaker for Layered<S>
where
    S: Service<Outcome, Response = u64, Error = CircuitBreakerError<Failed>>,
    S: Clone + Send + 'static,
{
    #[inline]
    fn call(&mut self, request: Outcome) -> Option<Outcome> {
        let mut context = Context::from_waker(Waker::noop());
        while self.0.poll_ready(&mut context).is_pending() {}
        match complete(self.0.call(request)) {
            Ok(value) => Some(Ok(value)),
            Err(CircuitBreakerError::Inner(error)) => Some(Err(error)),
            Err(CircuitBreakerError::OpenCircuit) => None,
        }
    }
}
