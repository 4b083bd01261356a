//! How does a consumer treat what fails? Plain data.

use core::time::Duration;

use becalm::policy::InvalidPolicy;
use becalm::support::{Lone, setters};
use becalm::{Breaker, Budget, Jitter, Policy};

/// How a consumer treats what fails: plain data.
///
/// The default charges a message 5 times, with delays of 0.5 to 1 s, doubling up to a minute, keeps it for 4 days, and pauses after 3
/// failures in a row, for 0.5 to 1 s at first and up to 30 s.
///
/// ```
/// use becalm_fleet::consumer::Consume;
/// use becalm::{Breaker, Policy};
/// use std::time::Duration;
///
/// let mine = Consume::new(Policy::exponential(Duration::from_millis(200)).attempts(8))
///     .pause(Breaker::consecutive(5).successes(1));
/// assert!(mine.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Consume {
    /// Delays, and where it ends: `attempts` counts the failures that a message is charged for; `deadline` is the oldest that a message may
    /// grow, 4 days by default; `attempt_timeout` is the longest time of a handler, which the driver keeps.
    ///
    /// What a policy says of state that calls share plays no part: budget, waiting room, guards and hedges. One that observes is refused: a
    /// message that is not handed out again is lost. Decorrelated jitter draws
    /// every delay as the first one, since a message does not carry its last.
    pub policy: Policy,
    /// When the consumer pauses, and for how long. Default: after 3 failures in a row, since two may be chance, for 1 s, doubling up to 30 s, half of
    /// each drawn at random; the first success ends it. Whatever it says, one probe runs at a time.
    pub pause: Breaker,
}

/// As long as SQS keeps a message by default (`MessageRetentionPeriod`, 345,600 s): an outage that begins on the eve of a long
/// weekend is mended before its messages die.
const AGE: Duration = Duration::from_secs(345_600);

/// The longest that SQS hides a message (`ChangeMessageVisibility`): a message can wait where a caller cannot.
const HINT: Duration = Duration::from_secs(12 * 3600);

impl Default for Consume {
    fn default() -> Self {
        let policy = Policy::exponential(Duration::from_secs(1))
            .cap(Duration::from_secs(60))
            .jitter(Jitter::Equal)
            .attempts(5);
        Self::new(policy)
    }
}

impl Consume {
    /// Treats messages as this policy says, and pauses as by default. Where the policy leaves them at its defaults, messages grow 4 days old,
    /// and the longest hint is 12 hours.
    pub fn new(policy: Policy) -> Self {
        let is_default = policy.max_hint == Policy::default().max_hint;
        let max_hint = if is_default { HINT } else { policy.max_hint };
        let age = policy.deadline.unwrap_or(AGE);
        let pause = Breaker::consecutive(3)
            .open(Duration::from_secs(1))
            .open_max(Duration::from_secs(30))
            .successes(1);
        Self {
            policy: policy.budget(Budget::None).max_hint(max_hint).deadline(age),
            pause,
        }
    }

    /// Refuses what no consumer would take, naming the field.
    ///
    /// # Errors
    ///
    /// The policy or the pause is invalid.
    pub fn validate(&self) -> Result<(), InvalidPolicy> {
        Lone::new(self.policy.clone(), Duration::ZERO)?;
        self.pause.validate().map_err(InvalidPolicy::Breaker)
    }
}

setters! {
    /// Setters: each returns the settings with one field changed.
    impl Consume;
    /// Sets delays and ends. A `deadline` of `None` lets messages grow as old as they like.
    policy: Policy;
    /// Sets when the consumer pauses.
    pause: Breaker;
}
