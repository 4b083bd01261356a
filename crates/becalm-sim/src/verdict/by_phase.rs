//! How slow was it before, during and after what went wrong?

use std::ops::Range;
use std::time::Duration;

use crate::record::{Endings, Recording};
use crate::scenario::{Phases, Scenario};
use crate::study::Figure;

use super::figures::millis;
use super::judge::Outcome;
use super::recovery::Recovery;

/// How the calls ended, by the moment in which they began. Without triggers all lie after, as in
/// [`Phases`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ByPhase {
    /// Before the first trigger; without the last second, or the last ten buckets, whose calls it may
    /// hit.
    pub before: Endings,
    /// From then until the last trigger is over.
    pub during: Endings,
    /// From then until goodput is back, to the end of the [stretch](Recording::slices) in which that
    /// is; empty where it never left. To the end of the run where it does not come back, without the
    /// calls that may still be running.
    pub recovering: Endings,
    /// From then on, without the calls that may still be running.
    pub recovered: Endings,
}

impl ByPhase {
    /// Of a recording; empty where that has no stretches.
    pub(super) fn of(
        phases: &Phases,
        bucket: Duration,
        recovery: Recovery,
        recording: &Recording,
    ) -> Self {
        let usual = if phases.before.is_empty() {
            0..0
        } else {
            phases.usual()
        };
        let after = phases.after.start;
        let back = recovery.time().map_or(phases.settled, |time| {
            let buckets = time.as_nanos() / bucket.as_nanos().max(1);
            after.saturating_add(usize::try_from(buckets).unwrap_or(usize::MAX))
        });
        let back = back.min(phases.settled);
        let of = |buckets: Range<usize>| endings(recording, &buckets);
        Self {
            before: of(usual),
            during: of(phases.during.clone()),
            recovering: of(after..back),
            recovered: of(back..phases.settled),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.before.merge(&other.before);
        self.during.merge(&other.during);
        self.recovering.merge(&other.recovering);
        self.recovered.merge(&other.recovered);
    }
}

/// How the calls of all populations ended that began in the stretches that begin in these buckets.
fn endings(recording: &Recording, buckets: &Range<usize>) -> Endings {
    let mut sum = Endings::default();
    for population in &recording.populations {
        for (start, endings) in recording.slices.iter().zip(&population.endings) {
            if buckets.contains(&(*start as usize)) {
                sum.merge(endings);
            }
        }
    }
    sum
}

/// What is measured of each phase, over the calls of all runs. No value without a trigger: then
/// nothing is before it.
pub(super) fn figures(scenario: &Scenario, outcomes: &[Outcome]) -> Vec<Figure> {
    let mut all = ByPhase::default();
    if !scenario.triggers.is_empty() {
        for outcome in outcomes {
            all.merge(&outcome.by_phase);
        }
    }
    let of = |of: &Endings, [p50, p99, given_up]: Named| {
        let quantile = |share| of.latency.quantile(share).map(millis);
        [
            Figure::new(p50.0, p50.1, "ms", quantile(0.5)),
            Figure::new(p99.0, p99.1, "ms", quantile(0.99)),
            Figure::new(
                given_up.0,
                given_up.1,
                "%",
                of.given_up().map(|it| it * 100.0),
            ),
        ]
    };
    let phases = [
        (&all.before, BEFORE),
        (&all.during, DURING),
        (&all.recovering, RECOVERING),
        (&all.recovered, RECOVERED),
    ];
    phases
        .into_iter()
        .flat_map(|(endings, named)| of(endings, named))
        .collect()
}

/// The names and titles of what is measured of a phase.
type Named = [(&'static str, &'static str); 3];

const BEFORE: Named = [
    (
        "latency_before_p50_ms",
        "Latency before the trigger, median",
    ),
    ("latency_before_p99_ms", "Latency before the trigger, p99"),
    (
        "given_up_before_share",
        "Calls that give up, before the trigger",
    ),
];
const DURING: Named = [
    (
        "latency_during_p50_ms",
        "Latency during the trigger, median",
    ),
    ("latency_during_p99_ms", "Latency during the trigger, p99"),
    (
        "given_up_during_share",
        "Calls that give up, during the trigger",
    ),
];
const RECOVERING: Named = [
    (
        "latency_recovering_p50_ms",
        "Latency until it is back, median",
    ),
    ("latency_recovering_p99_ms", "Latency until it is back, p99"),
    (
        "given_up_recovering_share",
        "Calls that give up, until it is back",
    ),
];
const RECOVERED: Named = [
    (
        "latency_recovered_p50_ms",
        "Latency once it is back, median",
    ),
    ("latency_recovered_p99_ms", "Latency once it is back, p99"),
    (
        "given_up_recovered_share",
        "Calls that give up, once it is back",
    ),
];
