//! How many operations per second do two threads reach together on one shared budget?

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use becalm::budget::RatioBudget;
use becalm::{Budget, Retrier};
use tower::retry::budget::{Budget as _, TpsBudget};

use crate::drive::complete;
use crate::measure::{Case, Effort, Group, median};
use crate::operation::succeed;
use crate::ours::{exponential, retrier};
use crate::peers::execution_policy;
use crate::versions::with_version;

/// A full budget.
pub const FULL: &str = "deposits while it is full";
/// A budget that loses more than it gains.
pub const DRAINING: &str = "deposits and withdrawals while it drains";
/// Whole calls that share everything.
pub const ONE_RETRIER: &str = "whole calls on one retrier";
/// Whole calls that share nothing.
pub const OWN_RETRIERS: &str = "whole calls, a retrier for each thread";

/// Operations of one thread in a batch of cheap ones, which share nothing that is written.
const CHEAP: u64 = 8_000_000;
/// Operations of one thread in a batch of dear ones: the largest budget outlives them.
const DEAR: u64 = 1_000_000;

/// The rows of the table; the first one is the shared atomic add.
pub fn cases() -> Vec<Case> {
    vec![
        atomic_add(),
        full(),
        draining(),
        calls(ONE_RETRIER, [retrier(exponential()); 2]),
        calls(OWN_RETRIERS, [(); 2].map(|()| retrier(exponential()))),
        tower_full(),
        tower_draining(),
        execution_policy_calls(),
    ]
}

/// Which thread, and which operation of it.
type Turn = (usize, u64);

/// A row: `prepare` makes the shared state of a batch, `work` does one operation on it.
fn case<S: Sync + 'static>(
    package: &str,
    note: &'static str,
    operations: u64,
    prepare: impl Fn() -> S + 'static,
    work: impl Fn(&S, Turn) + Sync + 'static,
) -> Case {
    Case::new(
        Group::Budget,
        with_version(package),
        note,
        move |effort: Effort| {
            let operations = if effort.means_something() {
                operations
            } else {
                1000
            };
            // Not the fastest: threads that missed each other would look like ones that share well.
            median((0..effort.batches).map(|_| two_threads(operations, &prepare(), &work)))
        },
    )
}

/// Millions of operations per second, from the first start to the last end.
fn two_threads<S: Sync>(operations: u64, shared: &S, work: &(impl Fn(&S, Turn) + Sync)) -> f64 {
    let barrier = Barrier::new(2);
    let run = |thread: usize| {
        barrier.wait();
        let start = Instant::now();
        for operation in 0..operations {
            work(black_box(shared), (thread, operation));
        }
        (start, Instant::now())
    };
    let [first, second] = thread::scope(|scope| {
        let both = [0, 1].map(|thread| scope.spawn(move || run(thread)));
        both.map(|one| one.join().expect("operations do not panic"))
    });
    let span = first.1.max(second.1) - first.0.min(second.0);
    #[expect(clippy::cast_precision_loss)] // millions
    let all = (2 * operations) as f64;
    all / span.as_secs_f64() / 1e6
}

fn atomic_add() -> Case {
    let prepare = || AtomicU64::new(0);
    case("a shared atomic add", "", DEAR, prepare, |counter, _| {
        counter.fetch_add(1, Ordering::Relaxed);
    })
}

fn full() -> Case {
    let prepare = || RatioBudget::new(Budget::default());
    case("becalm", FULL, CHEAP, prepare, |budget, _| budget.deposit())
}

/// Every other operation withdraws: each of them writes, none finds it full or empty.
fn draining() -> Case {
    let prepare = || RatioBudget::new(Budget::ratio(0.1).burst(1e6));
    case(
        "becalm",
        DRAINING,
        DEAR,
        prepare,
        |budget, (_, operation)| {
            if operation % 2 == 0 {
                assert!(budget.withdraw(becalm::Instant::ZERO).is_some());
            } else {
                budget.deposit();
            }
        },
    )
}

fn calls(note: &'static str, retriers: [&'static Retrier; 2]) -> Case {
    case(
        "becalm",
        note,
        CHEAP,
        move || retriers,
        |retriers, (thread, _)| {
            let call = retriers[thread].retry(|_| succeed());
            assert!(complete(call).is_ok());
        },
    )
}

fn tps_budget() -> TpsBudget {
    TpsBudget::new(Duration::from_secs(10), 1_000_000, 0.1)
}

fn tower_full() -> Case {
    case("tower", "deposits", DEAR, tps_budget, |budget, _| {
        budget.deposit();
    })
}

fn tower_draining() -> Case {
    let note = "deposits and withdrawals";
    case("tower", note, DEAR, tps_budget, |budget, (_, operation)| {
        if operation % 2 == 0 {
            assert!(budget.withdraw());
        } else {
            budget.deposit();
        }
    })
}

fn execution_policy_calls() -> Case {
    let note = "whole calls on one policy with a budget";
    let prepare = execution_policy::with_budget;
    case("execution-policy", note, DEAR, prepare, |policy, _| {
        let call = policy.run(async || succeed().await);
        assert!(complete(call).is_ok());
    })
}
