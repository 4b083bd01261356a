//! failsafe: a breaker around a function, over failures in a row and a success rate in time.

use std::time::Duration;

use failsafe::backoff::{self, EqualJittered};
use failsafe::failure_policy::{self, ConsecutiveFailures, OrElse, SuccessRateOverTimeWindow};
use failsafe::{CircuitBreaker, Config, Error, FailurePolicy, StateMachine};

use crate::operation::{Outcome, reply};
use crate::peers::Breaker;

/// A breaker with a policy of the library.
pub struct Failsafe<P>(StateMachine<P, ()>);

type Consecutive = ConsecutiveFailures<EqualJittered>;
type Usual = OrElse<SuccessRateOverTimeWindow<EqualJittered>, Consecutive>;

impl Failsafe<Consecutive> {
    /// Five failures in a row.
    pub fn consecutive() -> Self {
        let open = backoff::equal_jittered(Duration::from_secs(10), Duration::from_mins(5));
        let policy = failure_policy::consecutive_failures(5, open);
        Self(Config::new().failure_policy(policy).build())
    }
}

impl Failsafe<Usual> {
    /// Its default: a success rate over 30 seconds, or five failures in a row.
    pub fn usual() -> Self {
        Self(Config::new().build())
    }
}

impl<P> Clone for Failsafe<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<P: FailurePolicy + Send + 'static> Breaker for Failsafe<P> {
    #[inline]
    fn call(&mut self, request: Outcome) -> Option<Outcome> {
        match self.0.call(|| reply(request)) {
            Ok(value) => Some(Ok(value)),
            Err(Error::Inner(error)) => Some(Err(error)),
            Err(Error::Rejected) => None,
        }
    }
}
