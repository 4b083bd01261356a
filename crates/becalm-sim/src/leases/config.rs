//! Which processes are there, what fails, and what happens to their store?

use std::time::Duration;

use becalm::Budget;
use becalm_fleet::budget::{Fleet, InvalidFleet};

use crate::invalid::InvalidParameter;

/// Processes that call services, and a store that they could share a budget in.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Processes {
    /// How many: from 1.
    pub processes: u32,
    /// First tries of all of them in a second.
    pub load: f64,
    /// How unevenly they are spread: the n-th process makes 1 / n^skew of what the first makes. 0 is evenly.
    pub skew: f64,
    /// The budget of the fleet.
    pub fleet: Fleet,
    /// The burst of a budget of each process's own. Default 10, the least that a budget holds by default.
    pub own_burst: f64,
    /// The share of processes whose attempts fail.
    pub failing: f64,
    /// The share of attempts that fail there.
    pub failures: f64,
    /// From when on they do.
    pub fails_from: Duration,
    /// What fails later, in order: from when, at which share of processes, and which share of their attempts. Default none.
    pub later: Vec<(Duration, f64, f64)>,
    /// What goes wrong, from when and until when.
    pub trouble: Trouble,
    /// How long it lasts; what happens at a moment happens when it begins.
    pub during: (Duration, Duration),
    /// The time of an exchange, half there and half back. Default 1 ms.
    pub round_trip: Duration,
    /// When the run ends.
    pub horizon: Duration,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// Nothing.
    None,
    /// The store is down: exchanges fail.
    Down,
    /// The store is not heard by every second process.
    Half,
    /// The store is emptied.
    Flushed,
    /// Every process is killed once in this time, one after the other, and comes back at once.
    Crashes,
    /// Who was busiest calls least from then on, and so for all.
    Turned,
}

impl Trouble {
    /// Their names, in the order of the choices of the scenario.
    pub const ALL: [(&'static str, Self); 6] = [
        ("none", Self::None),
        ("down", Self::Down),
        ("half", Self::Half),
        ("flushed", Self::Flushed),
        ("crashes", Self::Crashes),
        ("turned", Self::Turned),
    ];
}

/// Who bounds the retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Budgeting {
    /// One bucket for all, leased in a store.
    Fleet,
    /// One bucket for all, asked at once: the ideal.
    Ideal,
    /// A budget of each process's own.
    Own,
}

/// What a run may make of first tries.
const MOST_CALLS: f64 = 2e8;

impl Processes {
    /// So many processes with these first tries in a second, a ratio of a tenth and a burst of half a second's share; nothing
    /// fails.
    pub fn of(processes: u32, load: f64) -> Self {
        let budget = Budget::ratio(0.1).burst((load * 0.05).max(1.0));
        Self {
            processes,
            load,
            skew: 0.9,
            fleet: Fleet::new(budget.floor_per_second(0.0)),
            own_burst: 10.0,
            failing: 0.0,
            failures: 0.0,
            fails_from: Duration::from_secs(5),
            later: Vec::new(),
            trouble: Trouble::None,
            during: (Duration::from_secs(10), Duration::from_secs(40)),
            round_trip: Duration::from_millis(1),
            horizon: Duration::from_secs(60),
        }
    }

    /// Retries that a call earns that succeeds.
    pub fn ratio(&self) -> f64 {
        self.fleet.ratio().ratio
    }

    /// Whether attempts fail there: every tenth, of a tenth, from the busy to the idle.
    pub fn is_failing(&self, index: u32) -> bool {
        is_among(index, self.failing)
    }

    /// The share of the first tries that is made where attempts fail.
    pub fn failing_load(&self) -> f64 {
        let shares = (0..).zip(self.shares());
        let failing = shares.filter(|(index, _)| self.is_failing(*index));
        failing.map(|(_, share)| share).sum()
    }

    /// The share of the first tries that each process makes, by Zipf's law.
    pub fn shares(&self) -> Vec<f64> {
        let ranks = (1..=self.processes).map(f64::from);
        let weights: Vec<f64> = ranks.map(|rank| libm::pow(rank, -self.skew)).collect();
        let all: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / all).collect()
    }

    /// Refuses what cannot be simulated.
    ///
    /// # Errors
    ///
    /// [`InvalidParameter`] names the field and the remedy.
    pub fn validate(&self) -> Result<(), InvalidParameter> {
        let calls = self.load * self.horizon.as_secs_f64();
        let (field, sentence) = if !(1..=1_000_000).contains(&self.processes) {
            ("processes", TOO_MANY)
        } else if !(self.load > 0.0 && calls <= MOST_CALLS) {
            let most = "a run makes at most 200 million first tries, and some; set less load or a shorter \
                        horizon";
            ("load", most)
        } else if !(0.0..=10.0).contains(&self.skew) {
            ("skew", "the skew is from 0 (even) to 10; set 0.9")
        } else {
            return self.fleet.validate().map_err(refused);
        };
        Err(InvalidParameter::new(field, sentence))
    }
}

/// Why a number of processes is refused.
pub(crate) const TOO_MANY: &str = "from 1 to 1000000 processes can be simulated; set 1000";

/// A budget that is refused, as the field at fault.
fn refused(reason: InvalidFleet) -> InvalidParameter {
    let field = match reason {
        InvalidFleet::Part => "part",
        InvalidFleet::Period => "period",
        InvalidFleet::Gap => "gap",
        InvalidFleet::Budget(_) => "burst",
        _ => "lease",
    };
    InvalidParameter::new(field, reason.to_string())
}

/// Whether this process is one of such a share of all.
pub(super) fn is_among(index: u32, share: f64) -> bool {
    let whole = |index: u32| (f64::from(index) * share + 0.5).floor();
    whole(index + 1) > whole(index)
}
