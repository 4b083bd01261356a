//! How is a bucket counted? In a few words side by side, which go to the record when it is over.

use becalm::StopReason;

use super::recording::{CallsRecord, PopulationRecord, ServiceRecord, Stop};
use super::slices::Endings;

/// When a call began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began {
    /// In nanoseconds.
    pub at: u64,
    pub bucket: u32,
    pub slice: u32,
}

/// What a population saw in the bucket that is being counted, and before.
#[derive(Debug, Clone, Default)]
pub(crate) struct PopulationTally {
    pub calls: u32,
    pub first_tries: u32,
    pub attempts: u32,
    pub hedges: u32,
    pub succeeded: u32,
    pub gave_up: u32,
    pub timed_out: u32,
    pub failed: u32,
    stops: Vec<(StopReason, u64)>,
    record: PopulationRecord,
}

impl PopulationTally {
    /// A record of so many buckets and slices.
    pub fn new(buckets: usize, slices: usize) -> Self {
        let mut tally = Self::default();
        tally.record.succeeded_of = vec![0; buckets];
        tally.record.endings = vec![Endings::default(); slices];
        tally
    }

    /// A call has succeeded.
    #[inline]
    pub fn success(&mut self, began: Began, now: u64) {
        self.succeeded += 1;
        if let Some(count) = self.record.succeeded_of.get_mut(began.bucket as usize) {
            *count += 1;
        }
        if let Some(endings) = self.record.endings.get_mut(began.slice as usize) {
            endings.latency.add(now - began.at);
        }
    }

    /// A call has given up.
    #[inline]
    pub fn stop(&mut self, began: Began, reason: StopReason) {
        self.gave_up += 1;
        if let Some(endings) = self.record.endings.get_mut(began.slice as usize) {
            endings.gave_up += 1;
        }
        match self.stops.iter_mut().find(|(of, _)| *of == reason) {
            Some((_, count)) => *count += 1,
            None => self.stops.push((reason, 1)),
        }
    }

    /// The bucket is over.
    pub fn close(&mut self) {
        let record = &mut self.record;
        for (counts, count) in [
            (&mut record.calls, &mut self.calls),
            (&mut record.first_tries, &mut self.first_tries),
            (&mut record.attempts, &mut self.attempts),
            (&mut record.hedges, &mut self.hedges),
            (&mut record.succeeded, &mut self.succeeded),
            (&mut record.gave_up, &mut self.gave_up),
            (&mut record.timed_out, &mut self.timed_out),
            (&mut record.failed, &mut self.failed),
        ] {
            counts.push(std::mem::take(count));
        }
    }

    /// What was counted in the buckets that are over; neither latencies nor reasons.
    pub fn so_far(&self) -> PopulationRecord {
        let record = &self.record;
        PopulationRecord {
            calls: record.calls.clone(),
            first_tries: record.first_tries.clone(),
            attempts: record.attempts.clone(),
            hedges: record.hedges.clone(),
            succeeded: record.succeeded.clone(),
            succeeded_of: record.succeeded_of.clone(),
            gave_up: record.gave_up.clone(),
            timed_out: record.timed_out.clone(),
            failed: record.failed.clone(),
            ..PopulationRecord::default()
        }
    }

    /// The run is over, and so many calls are running.
    pub fn finish(mut self, under_way: u64) -> PopulationRecord {
        for (reason, count) in self.stops {
            self.record.stops.insert(Stop::from(reason), count);
        }
        for endings in &self.record.endings {
            self.record.latency.merge(&endings.latency);
        }
        self.record.under_way = under_way;
        self.record
    }
}

/// What a service saw in the bucket that is being counted, and before.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServiceTally {
    pub arrived: u32,
    pub refused: u32,
    pub served: u32,
    pub stale: u32,
    pub dropped: u32,
    pub hits: u32,
    pub misses: u32,
    queue: u32,
    longest: u32,
    /// Of each of its calls: first tries, and all attempts.
    calls: Vec<(u32, u32)>,
    record: ServiceRecord,
}

impl ServiceTally {
    /// A record of a service with so many calls.
    pub fn new(calls: usize) -> Self {
        let mut tally = Self {
            calls: vec![(0, 0); calls],
            ..Self::default()
        };
        tally.record.calls = vec![CallsRecord::default(); calls];
        tally
    }

    /// An attempt of this of its calls was sent.
    #[inline]
    pub fn asked(&mut self, call: usize, is_first: bool) {
        if let Some((first_tries, attempts)) = self.calls.get_mut(call) {
            *first_tries += u32::from(is_first);
            *attempts += 1;
        }
    }

    /// One more waits for a worker.
    #[inline]
    pub fn queued(&mut self) {
        self.queue += 1;
        self.longest = self.longest.max(self.queue);
    }

    /// One less does.
    #[inline]
    pub fn left_queue(&mut self) {
        self.queue = self.queue.saturating_sub(1);
    }

    /// The bucket is over.
    pub fn close(&mut self) {
        let record = &mut self.record;
        for (counts, count) in [
            (&mut record.arrived, &mut self.arrived),
            (&mut record.refused, &mut self.refused),
            (&mut record.served, &mut self.served),
            (&mut record.stale, &mut self.stale),
            (&mut record.dropped, &mut self.dropped),
            (&mut record.hits, &mut self.hits),
            (&mut record.misses, &mut self.misses),
        ] {
            counts.push(std::mem::take(count));
        }
        for (counts, (first_tries, attempts)) in record.calls.iter_mut().zip(&mut self.calls) {
            counts.first_tries.push(std::mem::take(first_tries));
            counts.attempts.push(std::mem::take(attempts));
        }
        self.record.queue.push(self.longest);
        self.longest = self.queue;
    }

    /// What was counted in the buckets that are over.
    pub fn so_far(&self) -> ServiceRecord {
        self.record.clone()
    }

    /// The run is over, and so many requests are inside.
    pub fn finish(mut self, inside: u64) -> ServiceRecord {
        self.record.inside = inside;
        self.record
    }
}
