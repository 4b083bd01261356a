//! How many operations per second do two threads reach together on one shared budget?

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use becalm::budget::RatioBudget;
use becalm::{Budget, Retrier};
use tower::retry::budget::{Budget as _, TpsBudget};

use crate::drive::complete;
use crate::measure::{Case, Group};
use crate::operation::succeed;
use crate::ours::{exponential, retrier};
use crate::peers::execution_policy;
use crate::together::{atomic_add, together};
use crate::versions::with_version;

/// A full budget.
pub const FULL: &str = "deposits while it is full";
/// A budget that loses more than it gains.
pub const DRAINING: &str = "deposits and withdrawals while it drains";
/// Whole calls that share everything.
pub const ONE_RETRIER: &str = "whole calls on one retrier";
/// Whole calls that share nothing.
pub const OWN_RETRIERS: &str = "whole calls, a retrier for each thread";

/// The rows of the table; the first one is the shared atomic add.
pub fn cases() -> Vec<Case> {
    vec![
        atomic_add(Group::Budget),
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
fn case<S: Send + Sync + 'static>(
    package: &str,
    note: &'static str,
    prepare: impl Fn() -> S + 'static,
    work: impl Fn(&S, Turn) + Copy + Send + 'static,
) -> Case {
    together(Group::Budget, with_version(package), note, move || {
        let shared = Arc::new(prepare());
        [0, 1].map(|thread| {
            let shared = Arc::clone(&shared);
            move |operation| work(black_box(&*shared), (thread, operation))
        })
    })
}

fn full() -> Case {
    let prepare = || RatioBudget::new(Budget::default());
    case("becalm", FULL, prepare, |budget, _| budget.deposit())
}

/// Every other operation withdraws: each of them writes, none finds it full or empty. Two threads
/// that write one line are too slow to empty the largest budget within a batch.
fn draining() -> Case {
    let prepare = || RatioBudget::new(Budget::ratio(0.1).burst(1e6));
    case("becalm", DRAINING, prepare, |budget, (_, operation)| {
        if operation % 2 == 0 {
            assert!(budget.withdraw(becalm::time::Instant::ZERO).is_some());
        } else {
            budget.deposit();
        }
    })
}

fn calls(note: &'static str, retriers: [&'static Retrier; 2]) -> Case {
    case(
        "becalm",
        note,
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
    case("tower", "deposits", tps_budget, |budget, _| {
        budget.deposit();
    })
}

fn tower_draining() -> Case {
    let note = "deposits and withdrawals";
    case("tower", note, tps_budget, |budget, (_, operation)| {
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
    case("execution-policy", note, prepare, |policy, _| {
        let call = policy.run(async || succeed().await);
        assert!(complete(call).is_ok());
    })
}
