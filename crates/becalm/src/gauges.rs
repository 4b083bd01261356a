//! How is a dependency doing, in figures that can be read at any time?
//!
//! Stops are always counted, by reason: a call that stops is in no hurry. First tries and attempts
//! are counted only where a retrier was [built](crate::run::RetrierBuilder::count_demand) to do so,
//! for that writes memory on every call.

use alloc::boxed::Box;

use crate::observe::Would;
use crate::stop::StopReason;
use crate::sync::{AtomicU64, Ordering};

/// How often calls stopped, by reason. Written only when a call stops.
#[derive(Debug, Default)]
pub(crate) struct StopCounts([AtomicU64; REASONS]);

impl StopCounts {
    pub fn count(&self, reason: StopReason) {
        if let Some(count) = self.of(reason) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn get(&self, reason: StopReason) -> u64 {
        self.of(reason)
            .map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn of(&self, reason: StopReason) -> Option<&AtomicU64> {
        self.0.get(Self::place(reason)?)
    }

    fn place(reason: StopReason) -> Option<usize> {
        StopReason::ALL.iter().position(|other| *other == reason)
    }

    fn all(&self) -> [u64; REASONS] {
        core::array::from_fn(|at| self.0[at].load(Ordering::Relaxed))
    }
}

/// What enforcing would have done to calls that were [observed](crate::policy::Mode::Observe), since the
/// retrier was made.
///
/// Each call counts up to its first decision, for nothing after it is known. So a retry is one that would
/// have begun: whether it would have saved the call, only enforcing can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Observed {
    /// Calls that would have been repeated, and paid for it.
    pub retries: u64,
    /// Calls beside whose attempt a hedge would have started.
    pub hedges: u64,
    /// Calls that would have waited for a guard before their first try.
    pub waits: u64,
    /// Attempts that the attempt timeout or the deadline would have cut.
    pub cuts: u64,
    /// Calls that succeeded, and that would have been refused, or stopped after a cut.
    pub failures: u64,
    refused: [u64; REASONS],
    stopped: [u64; REASONS],
}

const REASONS: usize = StopReason::ALL.len();

impl Observed {
    /// First tries that would have been refused for this reason.
    pub fn refused(&self, reason: StopReason) -> u64 {
        StopCounts::place(reason).map_or(0, |at| self.refused[at])
    }

    /// Calls that would have stopped after their first attempt for this reason, in place of the one that
    /// they have stopped for: where it is [`BudgetExhausted`](StopReason::BudgetExhausted), how many retries
    /// would have been denied.
    pub fn stopped(&self, reason: StopReason) -> u64 {
        StopCounts::place(reason).map_or(0, |at| self.stopped[at])
    }
}

/// The counters behind [`Observed`]; made when the first call is observed.
#[derive(Debug, Default)]
pub(crate) struct ObservedCounts {
    retries: AtomicU64,
    hedges: AtomicU64,
    waits: AtomicU64,
    cuts: AtomicU64,
    failures: AtomicU64,
    refused: StopCounts,
    stopped: StopCounts,
}

impl ObservedCounts {
    pub fn count(&self, would: Would) {
        let count = match would {
            Would::Retry { .. } => &self.retries,
            Would::Hedge { .. } => &self.hedges,
            Would::Wait => &self.waits,
            Would::Cut { .. } => &self.cuts,
            Would::Fail => &self.failures,
            Would::Refuse(reason) => return self.refused.count(reason),
            Would::Stop(reason) => return self.stopped.count(reason),
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub fn sum(&self) -> Observed {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Observed {
            retries: count(&self.retries),
            hedges: count(&self.hedges),
            waits: count(&self.waits),
            cuts: count(&self.cuts),
            failures: count(&self.failures),
            refused: self.refused.all(),
            stopped: self.stopped.all(),
        }
    }
}

/// What was asked of a dependency since its retrier was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Demand {
    /// First tries that started: the first attempts of calls.
    pub first_tries: u64,
    /// All attempts that started, first tries, retries and hedges.
    pub attempts: u64,
    /// Retries and hedges that asked the budget, whether it granted them or not.
    pub wanted: u64,
}

impl Demand {
    /// Attempts over first tries: 1 where nothing was retried; `None` before the first try.
    ///
    /// ```
    /// use becalm::Policy;
    /// let orders = Policy::default().builder().count_demand().build()?;
    /// let _ = orders.retry_blocking(|_| Ok::<_, std::io::Error>(17));
    /// let demand = orders.demand().expect("it is counted");
    /// assert_eq!((demand.first_tries, demand.amplification()), (1, Some(1.0)));
    /// # Ok::<(), becalm::policy::InvalidPolicy>(())
    /// ```
    #[expect(clippy::cast_precision_loss)] // counts beyond 2^53 take centuries
    pub fn amplification(&self) -> Option<f64> {
        (self.first_tries > 0).then(|| self.attempts as f64 / self.first_tries as f64)
    }
}

/// Threads that count without meeting: more than this many share.
const SHARDS: usize = 16;

/// Counts of demand, sharded by thread so that calls on two threads write no common cache line.
#[derive(Debug, Default)]
pub(crate) struct DemandCounts(Box<[Shard; SHARDS]>);

#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: neighbours must not share one
struct Shard {
    first_tries: AtomicU64,
    attempts: AtomicU64,
    wanted: AtomicU64,
}

impl DemandCounts {
    pub fn attempt(&self, is_first_try: bool) {
        let shard = &self.0[shard()];
        shard.attempts.fetch_add(1, Ordering::Relaxed);
        if is_first_try {
            shard.first_tries.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn wanted(&self) {
        self.0[shard()].wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// The sums. First tries before attempts, so that the amplification is never below what it is.
    pub fn sum(&self) -> Demand {
        let sum = |count: fn(&Shard) -> &AtomicU64| {
            let shards = self.0.iter();
            shards
                .map(|shard| count(shard).load(Ordering::Relaxed))
                .sum()
        };
        let first_tries = sum(|shard| &shard.first_tries);
        Demand {
            first_tries,
            attempts: sum(|shard| &shard.attempts),
            wanted: sum(|shard| &shard.wanted),
        }
    }
}

/// The shard of this thread: the next of them, for each thread that comes.
#[cfg(feature = "std")]
fn shard() -> usize {
    use core::cell::Cell;
    // The order of threads, not shared state that a model would have to check.
    static NEXT: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
    thread_local! {
        static MINE: Cell<usize> = const { Cell::new(SHARDS) };
    }
    MINE.with(|mine| {
        if mine.get() == SHARDS {
            mine.set(NEXT.fetch_add(1, core::sync::atomic::Ordering::Relaxed) % SHARDS);
        }
        mine.get()
    })
}

#[cfg(not(feature = "std"))]
fn shard() -> usize {
    0
}
