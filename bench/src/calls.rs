//! What does a whole call cost: one that succeeds, and one that fails first?

use crate::drive::{Loop, Once, TokioLoop};
use crate::measure::{Case, Group};
use crate::operation::{Flaky, succeed, succeed_blocking};
use crate::peers::{
    AsyncPeer, Backoff, Backon, Bare, BlockingPeer, ExecutionPolicy, ExecutionPolicyBudget,
    ExecutionPolicyDeadline, Mettle, MettleDeadline, Retry, TokioRetry, Tower, TowerBudget,
    Tryhard,
};
use crate::versions::with_version;

/// The rows of the five tables of calls.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    asynchronous::<Bare>(&mut cases);
    asynchronous::<Tryhard>(&mut cases);
    asynchronous::<TokioRetry>(&mut cases);
    asynchronous::<Backon>(&mut cases);
    asynchronous::<Mettle>(&mut cases);
    asynchronous::<MettleDeadline>(&mut cases);
    asynchronous::<Tower>(&mut cases);
    asynchronous::<TowerBudget>(&mut cases);
    asynchronous::<Backoff>(&mut cases);
    asynchronous::<ExecutionPolicy>(&mut cases);
    asynchronous::<ExecutionPolicyBudget>(&mut cases);
    asynchronous::<ExecutionPolicyDeadline>(&mut cases);

    blocking::<Bare>(&mut cases);
    blocking::<Retry>(&mut cases);
    blocking::<Backon>(&mut cases);
    blocking::<Mettle>(&mut cases);
    blocking::<Backoff>(&mut cases);
    cases
}

/// A library that does not retry would be a fast one: each proves first that it does.
fn retries_twice(name: &str, call: impl FnOnce(Flaky) -> bool) {
    let flaky = Flaky::failing(2);
    assert!(call(flaky), "{name} gave up on a call that fails twice");
    assert_eq!(
        flaky.attempts(),
        3,
        "{name} made another number of attempts"
    );
}

fn asynchronous<P: AsyncPeer>(cases: &mut Vec<Case>) {
    let name = with_version(P::PACKAGE);
    if name != P::PACKAGE {
        retries_twice(&name, |flaky| P::usual(flaky.asynchronous(), Once));
    }

    let drive = tight_loop(Group::SuccessAsync, &name, None);
    cases.push(P::usual(succeed, drive).note(P::NOTE));

    let flaky = Flaky::failing(1);
    let drive = tight_loop(Group::RecoveryAsync, &name, Some(flaky));
    cases.extend(P::without_wait(flaky.asynchronous(), drive).map(|case| case.note(P::NOTE)));

    let flaky = Flaky::failing(1);
    let drive = TokioLoop { name, flaky };
    cases.push(P::waiting(flaky.asynchronous(), drive).note(P::NOTE));
}

fn blocking<P: BlockingPeer>(cases: &mut Vec<Case>) {
    let name = with_version(P::PACKAGE);
    if name != P::PACKAGE {
        retries_twice(&name, |flaky| P::without_wait(flaky.blocking(), Once));
    }

    let drive = tight_loop(Group::SuccessBlocking, &name, None);
    cases.push(P::usual(succeed_blocking, drive).note(P::NOTE));

    let flaky = Flaky::failing(1);
    let drive = tight_loop(Group::RecoveryBlocking, &name, Some(flaky));
    cases.push(P::without_wait(flaky.blocking(), drive).note(P::NOTE));
}

fn tight_loop(group: Group, name: &str, flaky: Option<Flaky>) -> Loop {
    Loop {
        group,
        name: name.to_owned(),
        flaky,
    }
}
