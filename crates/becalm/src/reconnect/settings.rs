//! When is a connection dialled again? Plain data.

use alloc::sync::Arc;
use core::time::Duration;

use crate::budget::{Budget, WhenSpent};
use crate::lone::Lone;
use crate::policy::{InvalidPolicy, Policy};
use crate::setters::setters;

/// How a connection comes back: plain data.
///
/// The default dials for ever, with full jitter under 1 s x 2 up to 30 s, honours what the server asks up
/// to 5 minutes, and counts anew once a connection has lasted for 5 s.
///
/// ```
/// use becalm::reconnect::Reconnect;
/// use std::time::Duration;
///
/// let reconnect = Reconnect::default().start_spread(Duration::from_secs(5));
/// assert!(reconnect.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reconnect {
    /// Delays, and where it ends: `attempts` counts the connection that was lost, or the first dial, and
    /// every dial after it until one proves healthy; `deadline` is the longest time without a
    /// healthy connection; `attempt_timeout` is the longest time of a dial, which the driver keeps.
    ///
    /// What a policy says of state that calls share plays no part: budget, waiting room, guards and hedges.
    /// One that [observes](crate::policy::Mode::Observe) is refused: without this policy nothing dials again.
    pub policy: Policy,
    /// What proves a connection healthy, so that the count and the backoff begin anew. Default
    /// [`Healthy::After`] 5 s: a server that accepts and closes gets no more dials than one that refuses.
    pub healthy: Healthy,
    /// The first dial waits for a moment of this length, drawn evenly. Default zero. Clients that are started
    /// together are a herd as well as those that lost one server.
    pub start_spread: Duration,
}

/// What proves a connection healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Healthy {
    /// It has lasted this long. Zero: it was opened, which is how a tight loop begins where a server accepts
    /// and then closes.
    After(Duration),
    /// The first message has come over it.
    FirstMessage,
    /// The application says so, by [`Reconnector::healthy`](super::Reconnector::healthy).
    Told,
}

impl Default for Reconnect {
    fn default() -> Self {
        let policy = Policy {
            cap: Duration::from_secs(30),
            ..Policy::exponential(Duration::from_secs(1))
        };
        Self::new(policy.attempts(Policy::UNLIMITED))
    }
}

impl Reconnect {
    /// Dials as this policy says; the longest hint is 5 minutes where the policy leaves it at its default.
    ///
    /// A server that restarts spreads its clients over more than the minute that a single call would wait.
    pub fn new(policy: Policy) -> Self {
        let is_default = policy.max_hint == Policy::DEFAULT.max_hint;
        let max_hint = if is_default {
            Duration::from_secs(300)
        } else {
            policy.max_hint
        };
        let policy = policy.budget(Budget::None).when_spent(WhenSpent::Stop);
        Self {
            policy: policy.max_hint(max_hint),
            healthy: Healthy::After(Duration::from_secs(5)),
            start_spread: Duration::ZERO,
        }
    }

    /// The schedule that RFC 6455 section 7.2.3 suggests to WebSocket clients: the first dial after a loss is
    /// drawn from 0 to 5 s, and the later ones from twice as much each, up to 80 s.
    pub fn rfc6455() -> Self {
        let policy = Policy {
            cap: Duration::from_secs(80),
            ..Policy::exponential(Duration::from_secs(5))
        };
        Self::new(policy.attempts(Policy::UNLIMITED))
    }

    /// For a connection that commands wait for, such as one to a cache or a database: full jitter under
    /// 50 ms x 2 up to 1 s, and a connection is healthy after 1 s.
    ///
    /// The short cap is the price of commands that wait: one process dials twice a second. Where many processes share
    /// the server, raise the cap with their number.
    pub fn for_commands() -> Self {
        let policy = Policy {
            cap: Duration::from_secs(1),
            ..Policy::exponential(Duration::from_millis(50))
        };
        let healthy = Healthy::After(Duration::from_secs(1));
        Self::new(policy.attempts(Policy::UNLIMITED)).healthy(healthy)
    }

    /// Finds it valid, for many connections to share.
    ///
    /// # Errors
    ///
    /// The policy is invalid.
    pub fn plan(self) -> Result<Plan, InvalidPolicy> {
        Ok(Plan(Arc::new(Valid {
            dials: Lone::new(self.policy, Duration::ZERO)?,
            healthy: self.healthy,
            start_spread: self.start_spread,
        })))
    }

    /// Refuses a policy that no retrier would take, naming its field.
    ///
    /// # Errors
    ///
    /// The policy is invalid.
    pub fn validate(&self) -> Result<(), InvalidPolicy> {
        self.policy.validate_alone()
    }
}

/// A valid [`Reconnect`] that many connections share: each of a fleet holds some 150 bytes of its own, and not a
/// kilobyte. Clones are one plan.
#[derive(Debug, Clone)]
pub struct Plan(Arc<Valid>);

#[derive(Debug)]
pub(super) struct Valid {
    pub dials: Lone,
    pub healthy: Healthy,
    pub start_spread: Duration,
}

impl Plan {
    pub(super) fn valid(&self) -> &Valid {
        &self.0
    }
}

setters! {
    /// Setters: each returns the settings with one field changed.
    impl Reconnect;
    /// Sets delays and ends.
    policy: Policy;
    /// Sets what proves a connection healthy.
    healthy: Healthy;
    /// Sets the spread of the first dial.
    start_spread: Duration;
}
