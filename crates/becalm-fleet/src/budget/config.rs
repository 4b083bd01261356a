//! How is the budget of a fleet configured?

use core::fmt;
use core::time::Duration;

use becalm::budget::{Budget, InvalidBudget, Ratio};
use becalm::support::{require, setters};

/// One budget for all processes that share a store: plain data, the same in each of them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Fleet {
    /// What the whole fleet may retry: a [`Budget::Ratio`], or a [`Budget::FirstTries`]. The burst is the fleet's: half a second's
    /// share (`ratio` x calls a second / 2) fills the time between two exchanges. One in time is that of what the fleet earns. The floor is the fleet's, too.
    pub budget: Budget,
    /// The part of the bucket that one exchange may take, above 0, at most 1. Default 0.5: with much less the busiest starve
    /// between two exchanges.
    pub part: f64,
    /// The time between two exchanges of a process, drawn anew each time from 0.9 to 1.1 of it. From 100 ms to a minute. Default 1 s.
    pub period: Duration,
    /// The least time between an exchange and one that is begun early, since a retry was refused. At most the period. Default 700 ms.
    pub gap: Duration,
    /// How long leased tokens are good after the last answer of the store; [`alone`](Self::alone) says what comes then. From two
    /// periods to an hour. Default 3 s.
    pub lease: Duration,
    /// What a process does that has not heard of the store for a lease. Default [`Alone::Safe`].
    pub alone: Alone,
}

/// What a process does without a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Alone {
    /// It retries its own share: the ratio of what it earns itself. It saves no more than it would lease, nor than its part of the
    /// burst (burst / instances), but for one token; it begins with what it holds of that, so that nothing is minted.
    #[default]
    Safe,
    /// It retries without bound.
    Open,
    /// It does not retry.
    Closed,
}

impl Fleet {
    /// The fleet may retry so much, with the defaults of everything else.
    pub const fn new(budget: Budget) -> Self {
        Self {
            budget,
            part: 0.5,
            period: Duration::from_secs(1),
            gap: Duration::from_millis(700),
            lease: Duration::from_secs(3),
            alone: Alone::Safe,
        }
    }

    /// Refuses a value that is out of range.
    ///
    /// # Errors
    ///
    /// [`InvalidFleet`] names the field and the remedy.
    pub fn validate(&self) -> Result<(), InvalidFleet> {
        self.budget.validate().map_err(InvalidFleet::Budget)?;
        let is_ratio = matches!(self.budget, Budget::Ratio(_) | Budget::FirstTries(_));
        let periods = Duration::from_millis(100)..=Duration::from_secs(60);
        let leases = self.period.saturating_mul(2)..=Duration::from_secs(3600);
        require(&[
            (is_ratio, InvalidFleet::Kind),
            (self.part > 0.0 && self.part <= 1.0, InvalidFleet::Part),
            (periods.contains(&self.period), InvalidFleet::Period),
            (self.gap <= self.period, InvalidFleet::Gap),
            (leases.contains(&self.lease), InvalidFleet::Lease),
        ])
    }

    /// How long the store remembers a process of which it hears nothing, and counts it: ten leases.
    pub const fn memory(&self) -> Duration {
        self.lease.saturating_mul(10)
    }

    /// The parameters of its budget; nothing is granted where it has another kind, which [`validate`](Self::validate) refuses.
    pub fn ratio(&self) -> Ratio {
        match self.budget {
            Budget::Ratio(ratio) | Budget::FirstTries(ratio) => ratio,
            _ => Ratio::default().ratio(0.0).burst(0.0).floor_per_second(0.0),
        }
    }

    pub(super) const fn is_of_first_tries(&self) -> bool {
        matches!(self.budget, Budget::FirstTries(_))
    }
}

setters! {
    /// Setters: each returns the configuration with one field changed.
    impl Fleet;
    /// Sets the part of the bucket that one exchange may take.
    part: f64;
    /// Sets the time between two exchanges.
    period: Duration;
    /// Sets the least time before an early exchange.
    gap: Duration;
    /// Sets how long leased tokens are good without an answer.
    lease: Duration;
    /// Sets what a process does without a store.
    alone: Alone;
}

/// Why the budget of a fleet is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidFleet {
    /// Its budget is out of range.
    Budget(InvalidBudget),
    /// Its budget is of another kind, or of several.
    Kind,
    /// The part is out of range.
    Part,
    /// The period is out of range.
    Period,
    /// The gap is longer than the period.
    Gap,
    /// The lease is out of range.
    Lease,
}

impl fmt::Display for InvalidFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Budget(budget) => return budget.fmt(f),
            Self::Kind => {
                "the budget of a fleet is a ratio: set Budget::ratio or Budget::first_tries"
            }
            Self::Part => "the fleet's part must be above 0 and at most 1; set 0.5",
            Self::Period => "the fleet's period must be from 100ms to 60s; set 1s",
            Self::Gap => "the fleet's gap must be at most its period; set 700ms",
            Self::Lease => "the fleet's lease must be from two periods to 1h; set 3s",
        })
    }
}

impl core::error::Error for InvalidFleet {}
