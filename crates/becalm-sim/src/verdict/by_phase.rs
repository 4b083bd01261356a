//! How slow was it before, during and after what went wrong?

use std::ops::Range;
use std::time::Duration;

use crate::record::{Endings, Recording};
use crate::scenario::Phases;

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
