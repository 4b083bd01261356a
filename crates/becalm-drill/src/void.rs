//! When does a drill say nothing about the policies? Where what was measured is this machine: one rule for the drill's own
//! services and for a target.

use std::time::Duration;

use becalm::support::Human;

use super::ledger::{Count, Recording};
use super::setup::Setup;
use super::statistics::{Phase, count};

/// Why there is no verdict on a policy: what hides the rest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Void {
    /// This machine had too few connections.
    Short,
    /// The target was unwell before the fault.
    Unwell,
    /// The generator was late.
    Late,
    /// Too few calls began to say anything.
    Idle,
}

impl Void {
    /// The name in the JSON document: stable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short | Self::Late => "void",
            Self::Unwell => "unwell",
            Self::Idle => "idle",
        }
    }
}

/// Of fewer calls nothing can be said: of three, all may fail by chance where one in four does.
pub const ENOUGH: u64 = 10;

/// Above this share of attempts for which this machine had no connection, the figures are its own.
const SHORT: f64 = 0.01;

/// What this machine did while a policy was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// By how much a call, or the fault, was late at worst.
    pub lateness: Duration,
    /// By how much 99 of 100 calls were late at most.
    pub usual_lateness: Duration,
    /// How long a client waits for an attempt.
    pub patience: Duration,
    /// The share of attempts for which this machine had no connection.
    pub shortage: f64,
    /// How many calls began before the fault, and after it.
    pub calls: [u64; 2],
}

impl Machine {
    /// While this was recorded, in a drill that has come to its end.
    pub fn of(
        recording: &Recording,
        setup: &Setup,
        patience: Duration,
        late: [Duration; 2],
    ) -> Self {
        let attempts = recording.attempts_within(Duration::ZERO..Duration::MAX);
        let unconnected = recording.total(Count::Unconnected);
        let calls = |of: Phase| recording.within(Count::Call, of.time(setup));
        let [lateness, usual_lateness] = late;
        Self {
            lateness,
            usual_lateness,
            patience,
            shortage: count(unconnected) / count(attempts.max(1)),
            calls: [Phase::Before, Phase::After].map(calls),
        }
    }

    /// Whether this machine had no connection for more than a few of the attempts.
    pub fn is_short(&self) -> bool {
        self.shortage > SHORT
    }

    /// Whether the generator was so late that the figures are those of this machine: more than one call
    /// in a hundred by a tenth of what a client waits, or any by all of it.
    pub fn is_late(&self) -> bool {
        self.usual_lateness > self.patience / 10 || self.lateness > self.patience
    }

    /// Whether too few calls began to say anything.
    pub fn is_idle(&self) -> bool {
        self.calls.iter().any(|calls| *calls < ENOUGH)
    }

    /// Why there is no verdict on a service of the drill's own, which was well before the fault or is overloaded.
    pub fn void(&self) -> Option<Void> {
        let reasons = [
            (self.is_short(), Void::Short),
            (self.is_late(), Void::Late),
            (self.is_idle(), Void::Idle),
        ];
        reasons.into_iter().find_map(|(is, why)| is.then_some(why))
    }

    /// That too few connections were left.
    pub fn short(&self) -> String {
        format!(
            "This run is void: this machine had no connection to give for {:.0}% of the attempts, which never came to the \
             target. Allow more open files (ulimit -n), lower --load, or hold it from another machine.",
            self.shortage * 100.0
        )
    }

    /// That the calls came too late.
    pub fn late(&self) -> String {
        format!(
            "This run is void: the load generator was late by up to {} ms, and one call in a hundred by {} ms or more; a tenth \
             of the {} that a client waits is too much for so many, and all of it for one. Hold it again when this machine is \
             less busy, or from another one.",
            self.lateness.as_millis(),
            self.usual_lateness.as_millis(),
            Human(self.patience)
        )
    }

    /// That next to nobody called.
    pub fn idle(&self) -> String {
        let [before, after] = self.calls;
        format!(
            "Too few calls came to say anything: {before} before the fault and {after} after it, and it takes {ENOUGH} of \
             each"
        )
    }
}

/// By how much 99 of 100 calls began later than they were due, at most.
pub fn usual_lateness(began: &[Duration], due: &[Duration]) -> Duration {
    let late = began
        .iter()
        .zip(due)
        .map(|(began, due)| began.saturating_sub(*due));
    let mut late: Vec<_> = late.collect();
    late.sort_unstable();
    let rank = (late.len() * 99).div_ceil(100);
    late.get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}
