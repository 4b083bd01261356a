//! What does a whole call cost: one that succeeds, and one that fails first?

use crate::drive::{Loop, Once, TokioLoop};
use crate::measure::{Case, Group};
use crate::operation::{Flaky, succeed, succeed_blocking};
use crate::ours::{Becalm, BecalmDeadline, BecalmWithoutBudget};
use crate::peers::execution_policy::{
    ExecutionPolicy, ExecutionPolicyBudget, ExecutionPolicyDeadline,
};
use crate::peers::tower::{Tower, TowerBudget};
use crate::peers::tower_resilience::{TowerResilience, TowerResilienceBudget};
use crate::peers::{
    AsyncPeer, Backoff, Backon, Bare, BlockingPeer, GoogleGax, Mettle, MettleDeadline, Retry,
    TokioRetry, Tryhard,
};
use crate::versions::with_version;

/// Applies a function to every library, each by its own type.
macro_rules! of_each {
    ($function:ident: $($library:ty),*) => { vec![$($function::<$library>()),*] };
}

macro_rules! of_each_async {
    ($function:ident) => {
        of_each!($function: Bare, Becalm, BecalmWithoutBudget, BecalmDeadline, Tryhard, TokioRetry,
            Backon, Mettle, MettleDeadline, Tower, TowerBudget, TowerResilience,
            TowerResilienceBudget, GoogleGax, Backoff, ExecutionPolicy, ExecutionPolicyBudget, ExecutionPolicyDeadline)
    };
}

macro_rules! of_each_blocking {
    ($function:ident) => {
        of_each!($function: Bare, Becalm, BecalmWithoutBudget, BecalmDeadline, Retry, Backon,
            Mettle, Backoff)
    };
}

/// The rows of the four tables without a timer.
pub fn cases() -> Vec<Case> {
    let mut cases = of_each_async!(success);
    cases.extend(of_each_async!(recovery).into_iter().flatten());
    cases.extend(of_each_blocking!(blocking_success));
    cases.extend(of_each_blocking!(blocking_recovery));
    cases
}

/// The rows of the table with a timer. To be measured last: the first paused clock of a process
/// makes tokio's clock dearer for everybody who reads it.
pub fn timer_cases() -> Vec<Case> {
    of_each_async!(wait)
}

/// A library that does not retry would be a fast one: sees that each does, with the very policy
/// whose success is measured. Pauses a clock, so it comes last as well.
pub fn check_that_all_retry() {
    of_each_async!(retries_twice);
    of_each_blocking!(retries_twice_blocking);
}

fn success<P: AsyncPeer>() -> Case {
    P::usual(succeed, tight_loop(Group::SuccessAsync, P::PACKAGE, None)).note(P::NOTE)
}

fn blocking_success<P: BlockingPeer>() -> Case {
    let drive = tight_loop(Group::SuccessBlocking, P::PACKAGE, None);
    P::usual(succeed_blocking, drive).note(P::NOTE)
}

fn recovery<P: AsyncPeer>() -> Option<Case> {
    let flaky = Flaky::failing(1);
    let drive = tight_loop(Group::RecoveryAsync, P::PACKAGE, Some(flaky));
    P::without_wait(flaky.asynchronous(), drive).map(|case| case.note(P::NOTE))
}

fn blocking_recovery<P: BlockingPeer>() -> Case {
    let flaky = Flaky::failing(1);
    let drive = tight_loop(Group::RecoveryBlocking, P::PACKAGE, Some(flaky));
    P::without_wait(flaky.blocking(), drive).note(P::NOTE)
}

fn wait<P: AsyncPeer>() -> Case {
    let flaky = Flaky::failing(1);
    let drive = TokioLoop {
        group: Group::RecoveryTimer,
        name: with_version(P::PACKAGE),
        flaky: Some(flaky),
        is_paused: true,
    };
    P::waiting(flaky.asynchronous(), drive).note(P::NOTE)
}

fn retries_twice<P: AsyncPeer>() {
    if P::RETRIES {
        check(P::PACKAGE, |flaky| P::usual(flaky.asynchronous(), Once));
    }
}

fn retries_twice_blocking<P: BlockingPeer>() {
    if P::RETRIES {
        check(P::PACKAGE, |flaky| P::usual(flaky.blocking(), Once));
    }
}

fn check(name: &str, call: impl FnOnce(Flaky) -> bool) {
    let flaky = Flaky::failing(2);
    assert!(call(flaky), "{name} gave up on a call that fails twice");
    assert_eq!(
        flaky.attempts(),
        3,
        "{name} made another number of attempts"
    );
}

fn tight_loop(group: Group, package: &str, flaky: Option<Flaky>) -> Loop {
    let name = with_version(package);
    Loop { group, name, flaky }
}
