//! Does a scope stay with the task that is in it, when that task blocks and others are polled on its
//! thread?

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use becalm::{Breaker, Retrier, Scope, StopReason, scope::Nested};
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::probe::{Fault, MS, fixed};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn retrier() -> Retrier {
    fixed(MS * 0).attempts(3).retrier().unwrap()
}

/// A call of its own, as a task may make it that has nothing to do with whoever blocks.
async fn stranger(ran: Arc<AtomicU32>) -> Option<StopReason> {
    assert_eq!(Scope::current(), Scope::NONE);
    let shop = retrier();
    let call = shop.retry(|_| async {
        ran.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        Err::<(), _>(Fault::DOWN)
    });
    call.await.err().map(|gave_up| gave_up.reason())
}

/// Its open breaker forbids its own caller to retry, and nobody else.
async fn broken_stranger() -> Option<StopReason> {
    let shop = fixed(MS)
        .breaker(Breaker::consecutive(1))
        .retrier()
        .unwrap();
    shop.isolate();
    let call = shop.retry(|_| async { Ok::<_, Fault>(()) }).await;
    call.err().map(|gave_up| gave_up.reason())
}

#[test]
fn c19_a_task_that_is_polled_while_an_attempt_blocks_is_outside_of_it() {
    let (runtime, ran) = (runtime(), Arc::new(AtomicU32::new(0)));
    let strangers = [
        runtime.spawn(stranger(ran.clone())),
        runtime.spawn(broken_stranger()),
    ];
    let mut attempts = 0;
    let gave_up = retrier()
        .retry_blocking(|_| {
            attempts += 1;
            runtime.block_on(async {
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
            });
            assert_ne!(Scope::current(), Scope::NONE, "it is put back");
            Err::<(), _>(Fault::DOWN)
        })
        .unwrap_err();
    assert_eq!(
        (gave_up.reason(), attempts),
        (StopReason::AttemptsExhausted, 3)
    );
    assert_eq!(ran.load(Ordering::SeqCst), 3, "the stranger retries");
    let [stranger, broken] = strangers.map(|task| runtime.block_on(task).unwrap());
    assert_eq!(stranger, Some(StopReason::AttemptsExhausted));
    assert_eq!(broken, Some(StopReason::BreakerOpen));
}

#[test]
fn c19_a_local_task_that_is_polled_beside_an_attempt_is_outside_of_it() {
    // A call at the top, and one with something to look after.
    for outer in [
        retrier(),
        fixed(MS * 0)
            .attempts(3)
            .deadline(600_000 * MS)
            .retrier()
            .unwrap(),
    ] {
        let ran = Arc::new(AtomicU32::new(0));
        let strangers = LocalSet::new();
        let tasks = [
            strangers.spawn_local(stranger(ran.clone())),
            strangers.spawn_local(broken_stranger()),
        ];
        let runtime = runtime();
        let gave_up = runtime.block_on(async {
            let call = outer.retry(|_| {
                strangers.run_until(async {
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                    assert_ne!(Scope::current(), Scope::NONE, "it is inside");
                    Err::<(), _>(Fault::DOWN)
                })
            });
            call.await.unwrap_err()
        });
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::AttemptsExhausted, 3)
        );
        assert_eq!(ran.load(Ordering::SeqCst), 3, "the stranger retries");
        let ends = tasks.map(|task| runtime.block_on(strangers.run_until(task)).unwrap());
        let [stranger, broken] = ends;
        assert_eq!(stranger, Some(StopReason::AttemptsExhausted));
        assert_eq!(broken, Some(StopReason::BreakerOpen));
    }
}

/// What an attempt blocks on is a part of it.
#[test]
fn what_an_attempt_blocks_on_is_inside() {
    let (outer, runtime) = (retrier(), runtime());
    let inner = fixed(MS).nested(Nested::Outermost).retrier().unwrap();
    let mut ran = 0;
    let gave_up = outer
        .retry_blocking(|_| {
            runtime.block_on(async {
                let call = inner.retry(|_| {
                    ran += 1;
                    async { Err::<(), _>(Fault::DOWN) }
                });
                assert_eq!(call.await.unwrap_err().reason(), StopReason::NestedRetry);
                Err::<(), _>(Fault::DOWN)
            })
        })
        .unwrap_err();
    assert_eq!((gave_up.attempts(), ran), (3, 3));
}
