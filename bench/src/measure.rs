//! How is one figure taken, so that two of them can be compared?
//!
//! Everything is measured in one process, in rounds: each round visits every case once, so that a
//! slow second of the machine meets all of them. The figure of a round is the fastest of a few
//! short batches (what else runs on the machine only ever adds time); the figure of a case is the
//! median of its rounds; a difference is the median of the differences within each round.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How much is spent on one figure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Rounds: odd, so that the median is one of them.
    pub rounds: usize,
    /// Batches in a round.
    pub batches: u32,
    /// The least time of a batch.
    pub batch: Duration,
}

impl Effort {
    /// What the published figures are made with.
    pub const FULL: Self = Self {
        rounds: 9,
        batches: 5,
        batch: Duration::from_millis(4),
    };

    /// Every case runs, and its assertions with it; the figures mean nothing.
    pub const QUICK: Self = Self {
        rounds: 1,
        batches: 1,
        batch: Duration::from_micros(50),
    };

    /// For runs that take up to seconds each: a batch is one of them.
    pub fn of_long_runs(self) -> Self {
        let (rounds, batches) = (self.rounds.min(5), self.batches.min(3));
        Self {
            rounds,
            batches,
            ..self
        }
    }

    /// Whether figures are wanted, and not only that everything runs.
    pub fn means_something(self) -> bool {
        self.rounds > 1
    }
}

/// What is compared with what: one table each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// An async call that succeeds at once.
    SuccessAsync,
    /// A blocking call that succeeds at once.
    SuccessBlocking,
    /// An async call that fails once, with no wait.
    RecoveryAsync,
    /// An async call that fails once and waits on tokio's timer.
    RecoveryTimer,
    /// A blocking call that fails once, with no wait.
    RecoveryBlocking,
    /// One delay of a schedule with jitter.
    Delay,
    /// What happens between a failure and the wait.
    Decision,
    /// Two threads that share one budget.
    Budget,
    /// A call through a breaker that stays closed.
    Breaker,
    /// Two threads that call through one breaker that stays closed.
    BreakerTogether,
    /// A call that succeeds before its hedge would fire.
    Hedge,
    /// What a budget or a throttle costs a call that succeeds at once.
    ThrottleSuccess,
    /// What a budget or a throttle costs a call whose retry succeeds.
    ThrottleRecovery,
    /// Two threads whose calls succeed at once, on one budget or throttle.
    ThrottleTogether,
    /// A call with every protection that succeeds at once.
    Stack,
    /// An async call that succeeds at once, inside a runtime, in a default build.
    SuccessInRuntime,
    /// An async call that succeeds at once in a spawned task, in a default build.
    SuccessInTask,
    /// An async call whose first failure is permanent, in a default build.
    PermanentFailure,
    /// An async call that fails once, with no wait, in a default build.
    RecoveryInRuntime,
    /// A simulation that holds ten events pending.
    HoldFew,
    /// A simulation that holds a thousand events pending.
    HoldSmall,
    /// A simulation that holds a hundred thousand events pending.
    HoldLarge,
    /// A simulation that holds ten million events pending.
    HoldHuge,
    /// A simulated herd of clients.
    Herd,
    /// Whole runs of the simulator.
    Runs,
    /// The sweep of a published simulator.
    Sweep,
}

/// One row of a table.
pub struct Case {
    /// The table.
    pub group: Group,
    /// The library with its version, or what the row stands for.
    pub name: String,
    /// What is particular about the row.
    pub note: &'static str,
    /// Heap allocations of one call.
    pub allocations: Option<f64>,
    round: Box<dyn FnMut(Effort) -> f64>,
    figures: Vec<f64>,
}

impl Case {
    /// A row whose figure is what `round` returns.
    pub fn new(
        group: Group,
        name: impl Into<String>,
        note: &'static str,
        round: impl FnMut(Effort) -> f64 + 'static,
    ) -> Self {
        Self {
            group,
            name: name.into(),
            note,
            allocations: None,
            round: Box::new(round),
            figures: Vec::new(),
        }
    }

    /// A row whose figure is the nanoseconds of one of `repeat`'s calls.
    pub fn timed(
        group: Group,
        name: impl Into<String>,
        note: &'static str,
        mut repeat: impl FnMut(u64) + 'static,
    ) -> Self {
        let allocations = allocations(&mut repeat);
        let mut calls = 0;
        let round = move |effort: Effort| {
            if calls == 0 {
                calls = calls_within(effort.batch, &mut repeat);
            }
            (0..effort.batches)
                .map(|_| nanoseconds(calls, &mut repeat))
                .fold(f64::INFINITY, f64::min)
        };
        Self {
            allocations: Some(allocations),
            ..Self::new(group, name, note, round)
        }
    }

    /// A row like [`timed`](Self::timed) whose state must not grow from round to round: each round
    /// measures what `prepare` makes for it, in batches of no more than `calls`.
    pub fn prepared<R: FnMut(u64)>(
        group: Group,
        name: impl Into<String>,
        note: &'static str,
        calls: u64,
        prepare: impl Fn() -> R + 'static,
    ) -> Self {
        let allocations = allocations(&mut prepare());
        let round = move |effort: Effort| {
            let mut repeat = prepare();
            (0..effort.batches)
                .map(|_| nanoseconds(calls, &mut repeat))
                .fold(f64::INFINITY, f64::min)
        };
        Self {
            allocations: Some(allocations),
            ..Self::new(group, name, note, round)
        }
    }

    /// The row with a remark.
    #[must_use]
    pub fn note(mut self, note: &'static str) -> Self {
        self.note = note;
        self
    }

    /// The median of all rounds.
    pub fn figure(&self) -> f64 {
        median(self.figures.iter().copied())
    }

    /// The median of what this row is above another one in the same round.
    pub fn above(&self, other: &Self) -> f64 {
        median(self.figures.iter().zip(&other.figures).map(|(a, b)| a - b))
    }

    /// The median of this row's share of another one in the same round.
    pub fn share_of(&self, other: &Self) -> f64 {
        median(self.figures.iter().zip(&other.figures).map(|(a, b)| a / b))
    }
}

/// The row of this table with this remark.
pub fn find<'a>(cases: &'a [Case], group: Group, name: &str, note: &str) -> &'a Case {
    let wanted = |case: &&Case| case.group == group && case.name == name && case.note == note;
    cases
        .iter()
        .find(wanted)
        .expect("every promise names a row that is measured")
}

/// Takes every figure: round after round, each over all cases.
pub fn run(cases: &mut [Case], effort: Effort) {
    for _ in 0..effort.rounds {
        for case in &mut *cases {
            let figure = (case.round)(effort);
            case.figures.push(figure);
        }
    }
}

/// Allocations of one call, after the first hundred, which may fill caches and thread-locals.
fn allocations(repeat: &mut impl FnMut(u64)) -> f64 {
    repeat(100);
    let counted = allocation_counter::measure(|| repeat(1000));
    #[expect(clippy::cast_precision_loss)] // a few thousand
    let total = counted.count_total as f64;
    total / 1000.0
}

/// How many calls fill a batch.
fn calls_within(batch: Duration, repeat: &mut impl FnMut(u64)) -> u64 {
    let mut calls = 16;
    loop {
        let start = Instant::now();
        repeat(black_box(calls));
        if start.elapsed() >= batch {
            return calls;
        }
        calls *= 2;
    }
}

fn nanoseconds(calls: u64, repeat: &mut impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    repeat(black_box(calls));
    #[expect(clippy::cast_precision_loss)] // a batch is milliseconds
    let per_call = start.elapsed().as_nanos() as f64 / calls as f64;
    per_call
}

/// The middle one of an odd number of figures.
pub fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
