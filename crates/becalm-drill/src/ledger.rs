//! What happened under one policy, and in which hundredth of a second?

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becalm::StopReason;
use tokio::time::Instant;

use super::latencies::Latencies;

/// The step in which everything is counted.
pub const BUCKET: Duration = Duration::from_millis(10);

/// What is counted: effects before their causes. They are read in this order, so a recording that
/// is taken while counting goes on never holds an effect without its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// A call succeeds.
    Succeeded,
    /// A call begins that will succeed.
    SucceededOf,
    /// The service has worked on a request whose client was gone.
    ServedNobody,
    /// The service has worked on a request.
    Served,
    /// The service refuses a request, because its queue is full.
    Refused,
    /// A request reaches the service.
    Arrived,
    /// An attempt finds no connection: this system has no more to give.
    Unconnected,
    /// A client sends a copy beside an attempt that is slow.
    Hedge,
    /// A client sends a retry.
    Retry,
    /// A client sends a first try.
    FirstTry,
    /// A call begins. A guard may end it before its first try.
    Call,
}

impl Count {
    const KINDS: usize = 11;

    /// What a client sends.
    const ATTEMPTS: [Self; 3] = [Self::FirstTry, Self::Retry, Self::Hedge];

    /// All, in the order of their numbers.
    const ALL: [Self; Self::KINDS] = [
        Self::Succeeded,
        Self::SucceededOf,
        Self::ServedNobody,
        Self::Served,
        Self::Refused,
        Self::Arrived,
        Self::Unconnected,
        Self::Hedge,
        Self::Retry,
        Self::FirstTry,
        Self::Call,
    ];
}

/// Counts what happens, in buckets of [`BUCKET`]. Shared by client and server; writing takes no
/// lock.
#[derive(Debug)]
pub struct Ledger {
    start: Instant,
    counts: [Vec<AtomicU32>; Count::KINDS],
    stops: Mutex<BTreeMap<&'static str, u64>>,
    in_flight: AtomicU32,
    most_in_flight: AtomicU32,
    latencies: Mutex<Latencies>,
}

impl Ledger {
    /// An empty ledger for `length` from `start`; what happens later is counted in the last
    /// bucket.
    pub fn new(start: Instant, length: Duration) -> Self {
        let buckets = bucket(length) + 1;
        let empty = || (0..buckets).map(|_| AtomicU32::new(0)).collect();
        Self {
            start,
            counts: std::array::from_fn(|_| empty()),
            stops: Mutex::default(),
            in_flight: AtomicU32::new(0),
            most_in_flight: AtomicU32::new(0),
            latencies: Mutex::default(),
        }
    }

    /// Counts one of a kind, now.
    pub fn add(&self, count: Count) {
        self.add_at(count, Instant::now());
    }

    fn add_at(&self, count: Count, now: Instant) {
        let elapsed = now.saturating_duration_since(self.start);
        let counts = &self.counts[count as usize];
        let at = bucket(elapsed).min(counts.len() - 1);
        counts[at].fetch_add(1, Ordering::Release);
    }

    /// Counts a call that begins now, and says when that is.
    pub fn begins(&self) -> Instant {
        let now = Instant::now();
        self.add_at(Count::Call, now);
        now
    }

    /// Counts a call that gave up.
    pub fn gave_up(&self, reason: StopReason) {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        *stops.entry(reason.as_str()).or_default() += 1;
    }

    /// Counts a call that succeeds now and began at `began`.
    pub fn succeeded(&self, began: Instant) {
        let now = Instant::now();
        self.add_at(Count::SucceededOf, began);
        self.add_at(Count::Succeeded, now);
        let mut latencies = self
            .latencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        latencies.add(
            began.saturating_duration_since(self.start),
            now.saturating_duration_since(began),
        );
    }

    /// How long the calls took that have succeeded so far.
    pub fn latencies(&self) -> Latencies {
        let latencies = self
            .latencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        latencies.clone()
    }

    /// An attempt is in flight until what this returns is dropped.
    pub fn fly(self: &Arc<Self>) -> InFlight {
        let flying = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_in_flight.fetch_max(flying, Ordering::Relaxed);
        InFlight(self.clone())
    }

    /// What was counted so far.
    pub fn recording(&self) -> Recording {
        let read = |counts: &Vec<AtomicU32>| {
            let read = |count: &AtomicU32| count.load(Ordering::Acquire);
            counts.iter().map(read).collect()
        };
        let stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        Recording {
            counts: self.counts.each_ref().map(read),
            stops: stops.clone(),
            most_in_flight: self.most_in_flight.load(Ordering::Relaxed),
        }
    }
}

/// An attempt that is in flight.
#[derive(Debug)]
pub struct InFlight(Arc<Ledger>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The counts of one policy, as plain data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    counts: [Vec<u32>; Count::KINDS],
    /// Calls that gave up, by reason.
    pub stops: BTreeMap<&'static str, u64>,
    /// The most attempts that the clients had in flight at once.
    pub most_in_flight: u32,
}

impl Recording {
    /// What was counted elsewhere, in buckets of [`BUCKET`].
    pub fn of(
        counts: impl Fn(Count) -> Vec<u32>,
        stops: BTreeMap<&'static str, u64>,
        most_in_flight: u32,
    ) -> Self {
        Self {
            counts: Count::ALL.map(counts),
            stops,
            most_in_flight,
        }
    }

    /// For how long was counted.
    pub fn length(&self) -> Duration {
        let buckets = self.buckets(Count::Call).len();
        BUCKET.saturating_mul(u32::try_from(buckets).unwrap_or(u32::MAX))
    }

    /// Without what was counted after this time.
    pub fn until(mut self, end: Duration) -> Self {
        for counts in &mut self.counts {
            counts.truncate(bucket(end));
        }
        self
    }

    /// Every bucket of one kind.
    pub fn buckets(&self, count: Count) -> &[u32] {
        &self.counts[count as usize]
    }

    /// How many of a kind in a stretch of time from the start, to whole buckets.
    pub fn within(&self, count: Count, time: Range<Duration>) -> u64 {
        let buckets = self.buckets(count);
        let clip = |time| bucket(time).min(buckets.len());
        let (from, to) = (clip(time.start), clip(time.end));
        buckets[from.min(to)..to]
            .iter()
            .map(|count| u64::from(*count))
            .sum()
    }

    /// How many of a kind in all.
    pub fn total(&self, count: Count) -> u64 {
        self.within(count, Duration::ZERO..Duration::MAX)
    }

    /// Attempts that clients sent in each bucket.
    pub fn attempts(&self) -> Vec<u32> {
        let [first, retries, hedges] = Count::ATTEMPTS.map(|count| self.buckets(count));
        let sent = first.iter().zip(retries).zip(hedges);
        sent.map(|((first, retries), hedges)| first + retries + hedges)
            .collect()
    }

    /// Attempts that clients sent in a stretch of time.
    pub fn attempts_within(&self, time: Range<Duration>) -> u64 {
        Count::ATTEMPTS
            .into_iter()
            .map(|count| self.within(count, time.clone()))
            .sum()
    }
}

/// The bucket in which a time lies.
fn bucket(time: Duration) -> usize {
    usize::try_from(time.as_nanos() / BUCKET.as_nanos()).unwrap_or(usize::MAX)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    impl Recording {
        /// A recording of so many empty buckets, for tests of what reads one.
        pub fn empty(buckets: usize) -> Self {
            Self {
                counts: std::array::from_fn(|_| vec![0; buckets]),
                stops: BTreeMap::new(),
                most_in_flight: 0,
            }
        }

        /// Sets one bucket, for tests of what reads a recording.
        pub fn set(&mut self, count: Count, bucket: usize, value: u32) {
            self.counts[count as usize][bucket] = value;
        }
    }

    const fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn counts_from_elsewhere_keep_their_kind() {
        let recording = Recording::of(|kind| vec![kind as u32; 3], BTreeMap::new(), 0);
        for (number, kind) in (0_u32..).zip(Count::ALL) {
            assert_eq!(recording.buckets(kind), [number; 3]);
        }
    }

    #[test]
    fn what_happens_is_counted_when_it_happens() {
        let start = Instant::now();
        let ledger = Ledger::new(start + at(5), at(1_000));
        ledger.add_at(Count::FirstTry, start); // before the start: in the first bucket
        ledger.add_at(Count::Retry, start + at(30));
        ledger.add_at(Count::Arrived, start + at(5_000)); // past the end: in the last bucket
        let recording = ledger.recording();
        assert_eq!(recording.within(Count::FirstTry, at(0)..at(10)), 1);
        assert_eq!(recording.within(Count::Retry, at(0)..at(20)), 0);
        assert_eq!(recording.within(Count::Retry, at(20)..at(30)), 1);
        assert_eq!(recording.buckets(Count::Arrived).last(), Some(&1));
        assert_eq!(recording.attempts_within(at(0)..at(1_000)), 2);
        assert_eq!(recording.total(Count::Arrived), 1);
    }

    #[test]
    fn attempts_under_way_are_known_at_their_most() {
        let ledger = Arc::new(Ledger::new(Instant::now(), at(1_000)));
        let first = ledger.fly();
        drop(ledger.fly());
        let _third = ledger.fly();
        drop(first);
        assert_eq!(ledger.recording().most_in_flight, 2);
    }

    #[test]
    fn no_stretch_of_time_panics() {
        let recording = Recording::empty(10);
        for (from, to) in [(0, 0), (50, 20), (1_000, 2_000), (0, u64::MAX)] {
            assert_eq!(recording.within(Count::Served, at(from)..at(to)), 0);
        }
    }
}
