//! What does a call cost where users are? Inside a runtime, in a build with Cargo's own settings.
//!
//! The other tables are of one optimiser that sees everything, which flatters what is generic and
//! inlines. Here the library is a crate of its own, in sixteen parts, as `cargo build --release`
//! makes it.

use std::fmt::Debug;
use std::future::{Future, ready};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use backon::Retryable;
use becalm::rng::Seed;
use becalm::run::{Core, Engine, EngineBuilder};
use becalm::{Attempt, Failure, GaveUp, Policy};
use tokio::task::LocalSet;

use crate::bars::Bar;
use crate::drive::{Drive, TokioLoop, complete, runtime};
use crate::measure::{Case, Group, find};
use crate::operation::{Failed, Flaky, Outcome, succeed};
use crate::ours::{Becalm, exponential, retrier};
use crate::peers::{AsyncPeer, BARE, Backon, Bare, backon_exponential};
use crate::versions::with_version;

/// A failure and the success after it take at most this many times backon's time. Measured were 9 on two shared cores, and 14 to 19 while
/// each retry had an engine. The count of instructions is the tight promise.
const RECOVERY: f64 = 12.0;

const BY_HAND: &str = "shared budget, a loop by hand";
const FIRST_ATTEMPT: &str = "shared budget, a first attempt without an engine";
const OWNED_FIRST_ATTEMPT: &str = "shared budget, a first attempt that owns its retrier";

/// The rows of the four tables.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        success::<Bare>(),
        success::<Becalm>(),
        by_hand(),
        without_futures(),
        owned_without_futures(),
        by_engine(),
        success::<Backon>(),
    ];
    let (becalm, ours) = (retrier(exponential()), with_version(Becalm::PACKAGE));
    let backon = with_version(Backon::PACKAGE);
    let retried = move || becalm.retry(|_| succeed());
    let peer = || Retryable::retry(succeed, backon_exponential());
    cases.extend([
        spawned(BARE.to_owned(), "", succeed),
        spawned(ours.clone(), Becalm::NOTE, retried),
        spawned(backon.clone(), Backon::NOTE, peer),
    ]);
    let refused = move || becalm.retry(|_| refuse()).classify_with(permanent);
    let peer = || Retryable::retry(refuse, backon_exponential()).when(|_: &Failed| false);
    cases.extend([
        failing(BARE.to_owned(), "", refuse),
        failing(ours, Becalm::NOTE, refused),
        failing(backon, Backon::NOTE, peer),
    ]);
    let recoveries = [
        recovery::<Bare>(),
        recovery::<Becalm>(),
        recovery::<Backon>(),
    ];
    cases.extend(recoveries.into_iter().flatten());
    cases
}

/// What is promised of these rows.
pub fn bars(cases: &[Case]) -> Vec<Bar> {
    let share = |group| {
        let ours = find(cases, group, &with_version(Becalm::PACKAGE), Becalm::NOTE);
        let peer = find(cases, group, &with_version(Backon::PACKAGE), Backon::NOTE);
        ours.share_of(peer)
    };
    let becalm = with_version(Becalm::PACKAGE);
    let in_runtime = |note| find(cases, Group::SuccessInRuntime, &becalm, note);
    let [by_hand, first_attempt, owned] =
        [BY_HAND, FIRST_ATTEMPT, OWNED_FIRST_ATTEMPT].map(in_runtime);
    let refused = find(cases, Group::PermanentFailure, &becalm, Becalm::NOTE);
    let recovery = find(cases, Group::RecoveryInRuntime, &becalm, Becalm::NOTE);
    vec![
        Bar::at_most(
            "a success with budget inside a runtime, of backon's time without one",
            share(Group::SuccessInRuntime),
            2.0,
            "",
        ),
        Bar::at_most(
            "the same in a spawned task",
            share(Group::SuccessInTask),
            2.0,
            "",
        ),
        Bar::at_most(
            "a first attempt without an engine that succeeds, of a loop's by hand",
            first_attempt.share_of(by_hand),
            1.25,
            "",
        ),
        Bar::at_most(
            "the same where it owns its retrier, as a binding's does",
            owned.figure(),
            60.0,
            "ns",
        ),
        Bar::at_most(
            "its allocations",
            owned.allocations.unwrap_or(f64::NAN),
            0.0,
            "",
        ),
        Bar::at_most(
            "a first failure that is permanent",
            refused.figure(),
            100.0,
            "ns",
        ),
        Bar::at_most_count("its bytes on the heap", bytes_of_a_refusal(), 256),
        Bar::exactly("its draws of entropy", draws(Failure::permanent()), 0),
        Bar::at_most(
            "a failure and then a success, of backon's time",
            share(Group::RecoveryInRuntime),
            RECOVERY,
            "",
        ),
        Bar::at_most(
            "its allocations, without the timer's",
            recovery.allocations.unwrap_or(f64::NAN),
            1.0,
            "",
        ),
    ]
}

fn success<P: AsyncPeer>() -> Case {
    P::usual(succeed, in_runtime(P::PACKAGE)).note(P::NOTE)
}

/// The loop that a user writes.
fn by_hand() -> Case {
    let becalm = retrier(exponential());
    let call = move || async move {
        let mut call = becalm.call();
        while let Some(_attempt) = call.next().await {
            match succeed().await {
                Ok(value) => return Ok(call.success(value)),
                Err(error) => call.failure(error),
            }
        }
        Err::<u64, GaveUp<Failed>>(call.gave_up())
    };
    let drive = in_runtime(Becalm::PACKAGE);
    drive.drive(call).note(BY_HAND)
}

/// What a driver without futures does, such as a binding to another language: the first attempt has no
/// engine.
fn without_futures() -> Case {
    let becalm = retrier(exponential());
    let call = move || first_attempt(Engine::builder(becalm));
    in_runtime(Becalm::PACKAGE).drive(call).note(FIRST_ATTEMPT)
}

/// The same where the call owns its retrier, as an object of another language has to.
fn owned_without_futures() -> Case {
    let becalm = retrier(exponential());
    let call = move || first_attempt(becalm.engine());
    let drive = in_runtime(Becalm::PACKAGE);
    drive.drive(call).note(OWNED_FIRST_ATTEMPT)
}

async fn first_attempt<H>(call: EngineBuilder<H>) -> Result<u64, &'static str>
where
    H: AsRef<Core> + Clone,
{
    let Ok(first) = call.first_attempt() else {
        return Err("the first attempt of a plain call waits for nothing");
    };
    let value = succeed().await.map_err(|_| "the operation succeeds")?;
    first.succeeded();
    Ok(value)
}

/// The same by an engine of its own.
fn by_engine() -> Case {
    let becalm = retrier(exponential());
    let call = move || async move {
        let mut engine = becalm.engine().begin();
        let attempt = engine
            .block_attempt()
            .map_err(|stopped| stopped.to_string())?;
        let value = succeed().await.map_err(|failed| failed.to_string())?;
        engine.succeeded(attempt.number());
        Ok::<_, String>(value)
    };
    in_runtime(Becalm::PACKAGE)
        .drive(call)
        .note("shared budget, an engine")
}

fn in_runtime(package: &str) -> TokioLoop {
    TokioLoop {
        group: Group::SuccessInRuntime,
        name: with_version(package),
        flaky: None,
        is_paused: false,
    }
}

fn recovery<P: AsyncPeer>() -> Option<Case> {
    let flaky = Flaky::failing(1);
    let drive = TokioLoop {
        group: Group::RecoveryInRuntime,
        flaky: Some(flaky),
        ..in_runtime(P::PACKAGE)
    };
    P::without_wait(flaky.asynchronous(), drive).map(|case| case.note(P::NOTE))
}

/// Calls that succeed, in a task of the runtime.
fn spawned<C, F, E>(name: String, note: &'static str, call: C) -> Case
where
    C: FnMut() -> F + 'static,
    F: Future<Output = Result<u64, E>> + 'static,
    E: Debug + 'static,
{
    let (runtime, tasks, mut idle) = (runtime(false), LocalSet::new(), Some(call));
    Case::timed(Group::SuccessInTask, name, note, move |calls| {
        let mut call = idle.take().expect("the task before gave it back");
        let task = tasks.spawn_local(async move {
            for _ in 0..calls {
                black_box(call().await.expect("the operation succeeds"));
            }
            call
        });
        idle = tasks.block_on(&runtime, task).ok();
    })
}

/// Calls whose first attempt fails for good, inside a runtime.
fn failing<C, F, E>(name: String, note: &'static str, mut call: C) -> Case
where
    C: FnMut() -> F + 'static,
    F: Future<Output = Result<u64, E>>,
    E: Debug,
{
    let runtime = runtime(false);
    Case::timed(Group::PermanentFailure, name, note, move |calls| {
        runtime.block_on(async {
            for _ in 0..calls {
                let error = call().await.expect_err("the operation fails");
                black_box(error);
            }
        });
    })
}

/// Not found, say.
fn refuse() -> impl Future<Output = Outcome> + Send + 'static {
    ready(Err(black_box(Failed)))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "a classifier is given a reference"
)]
fn permanent(_: Attempt, _: &Failed) -> Failure {
    Failure::permanent()
}

/// Bytes on the heap of one call that fails for good.
fn bytes_of_a_refusal() -> u64 {
    let becalm = retrier(exponential());
    let call = || complete(becalm.retry(|_| refuse()).classify_with(permanent)).is_err();
    assert!(call());
    allocation_counter::measure(|| assert!(call())).bytes_total
}

/// How often a call draws entropy whose first failure is this.
fn draws(failure: Failure) -> u64 {
    let draws = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&draws);
    let seed = Seed::given(move || counted.fetch_add(1, Ordering::Relaxed));
    let policy = Policy::exponential(std::time::Duration::from_micros(1)).attempts(2);
    let retrier = policy.builder().seed(seed).build();
    let retrier = retrier.expect("constants within their ranges");
    let call = retrier.blocking(|_| Err::<u64, _>(Failed));
    assert!(call.classify_with(move |_, _| failure).call().is_err());
    draws.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_of_entropy_are_counted() {
        assert_ne!(draws(Failure::transient()), 0);
        assert_eq!(draws(Failure::permanent()), 0);
    }

    #[test]
    fn a_refusal_keeps_its_record_on_the_heap() {
        assert_ne!(bytes_of_a_refusal(), 0);
    }
}
