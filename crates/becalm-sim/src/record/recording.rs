//! What does one run leave behind? Counts of each population and of each service.

use std::collections::BTreeMap;
use std::time::Duration;

use becalm::StopReason;

use super::histogram::Histogram;
use super::slices::Endings;

/// Everything that one run of a scenario left behind. Equal seeds leave equal recordings.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Recording {
    /// The length of a bucket.
    pub bucket: Duration,
    /// The first bucket of each stretch of [`PopulationRecord::endings`]: about half a second, or a
    /// two-hundredth of the run if that is more. None lies on both sides of a trigger's begin or end.
    pub slices: Vec<u32>,
    /// One for each population, in the order of the scenario.
    pub populations: Vec<PopulationRecord>,
    /// One for each service, in the order of the scenario.
    pub services: Vec<ServiceRecord>,
    /// Events that were handled: a call begins, a wait is over, a hedge is due, a request arrives, a
    /// worker is done, an answer arrives, a time-out fires or turns out not to be needed.
    pub events: u64,
    /// Why the run stopped before its end, where it did: then there is nothing else here but the
    /// events until then.
    pub stopped: Option<Stopped>,
    /// What a [look](crate::world::Looks) was certain of, where the run ended for that: counts end there.
    pub certain: Option<bool>,
}

/// What a population saw. Counts are per bucket of the moment in which a thing happened, but those
/// of `succeeded_of`, which are by the moment in which the call began.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct PopulationRecord {
    /// Calls that began, those among them whose first try a guard refused or let wait.
    pub calls: Vec<u32>,
    /// First tries that were sent.
    pub first_tries: Vec<u32>,
    /// Attempts that were sent, first tries and hedges among them.
    pub attempts: Vec<u32>,
    /// Hedges that were sent.
    pub hedges: Vec<u32>,
    /// Calls that succeeded.
    pub succeeded: Vec<u32>,
    /// Calls that began in this bucket and succeeded, whenever that was.
    pub succeeded_of: Vec<u32>,
    /// Calls that gave up.
    pub gave_up: Vec<u32>,
    /// Attempts that the client gave up: timed out, or cut at the deadline of their call.
    pub timed_out: Vec<u32>,
    /// Attempts that were answered with a failure or a refusal.
    pub failed: Vec<u32>,
    /// Why calls gave up.
    pub stops: BTreeMap<Stop, u64>,
    /// How long the calls took that succeeded.
    pub latency: Histogram,
    /// How the calls ended that began in each of the [stretches](Recording::slices) of the run.
    pub endings: Vec<Endings>,
    /// Calls that had not ended when the run did.
    pub under_way: u64,
}

/// A stop reason with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stop(pub &'static str);

impl From<StopReason> for Stop {
    fn from(reason: StopReason) -> Self {
        Self(reason.as_str())
    }
}

/// What a service saw, per bucket.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ServiceRecord {
    /// Requests that arrived.
    pub arrived: Vec<u32>,
    /// Requests that were refused: a full queue, a limit, a service that is down.
    pub refused: Vec<u32>,
    /// Requests that were served to their end, those among them whose answer was a failure.
    pub served: Vec<u32>,
    /// Requests among those served whose caller had given up.
    pub stale: Vec<u32>,
    /// Requests that were accepted and not served to their end: dropped by `CoDel`, past their
    /// deadline, cancelled, lost with the instance that had them.
    pub dropped: Vec<u32>,
    /// The longest queue of all instances together in the bucket.
    pub queue: Vec<u32>,
    /// Requests that were answered from the cache.
    pub hits: Vec<u32>,
    /// Requests that could have been and were not.
    pub misses: Vec<u32>,
    /// Requests that were neither refused, served nor dropped when the run ended.
    pub inside: u64,
    /// What it asked of other services, one for each of its calls in the order of the scenario.
    pub calls: Vec<CallsRecord>,
}

/// What a service asked of another one, per bucket.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct CallsRecord {
    /// First tries that were sent: as many as calls, but for those that a guard refused.
    pub first_tries: Vec<u32>,
    /// Attempts that were sent, first tries and hedges among them.
    pub attempts: Vec<u32>,
}

impl PopulationRecord {
    /// Attempts over first tries in the whole run; 1 where nothing was tried.
    #[expect(clippy::cast_precision_loss)] // far below 2^52
    pub fn amplification(&self) -> f64 {
        match total(&self.first_tries) {
            0 => 1.0,
            first => total(&self.attempts) as f64 / first as f64,
        }
    }
}

/// The sum of a count.
pub fn total(buckets: &[u32]) -> u64 {
    buckets.iter().map(|count| u64::from(*count)).sum()
}

/// Why a run stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// It needs more memory than all runs may take.
    Memory,
    /// It and the runs beside it need more memory than all runs may take: alone it may do with it.
    Crowded,
    /// Its time hardly passes: too much happens in it.
    Pace,
}
