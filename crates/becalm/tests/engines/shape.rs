//! Does the interface fit where users put it? Statics, spawned tasks, futures that are not `Send`,
//! boxed errors: most of it is proved by compiling.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::Duration;

use becalm::run::{CallLoop, Core, Engine};
use becalm::time::{FakeSleeper, StdSleeper};
use becalm::{
    Attempt, Cancel, GaveUp, IdempotencyKey, Policy, Retrier, Scope, Sleeper, call::Call,
    shared::Shared,
};

use crate::probe::{Fault, MS, fixed, on, ready};

const fn is_send<T: Send + ?Sized>() {}
const fn is_sync<T: Sync + ?Sized>() {}
const fn is_static<T: 'static>() {}
const fn is_copy<T: Copy>() {}
const fn is_error<T: std::error::Error>() {}

const _: () = {
    is_send::<Retrier>();
    is_sync::<Retrier>();
    is_static::<Retrier>();
    is_send::<GaveUp<Fault>>();
    is_sync::<GaveUp<Fault>>();
    is_error::<GaveUp<Fault>>();
    is_error::<GaveUp<GaveUp<Fault>>>();
    is_send::<Cancel>();
    is_sync::<Cancel>();
    // An object of another language (PyO3's, UniFFI's) takes nothing less.
    is_send::<Engine<Core>>();
    is_sync::<Engine<Core>>();
    is_static::<Engine<Core>>();
    is_sync::<CallLoop<Core, Fault>>();
    is_send::<Call<Retrier>>();
    is_sync::<Call<Retrier>>();
    is_send::<Shared>();
    is_sync::<Shared>();
    is_copy::<Attempt>();
    is_copy::<Scope>();
    is_copy::<IdempotencyKey>();
    is_send::<dyn Sleeper>();
    is_sync::<dyn Sleeper>();
    is_send::<FakeSleeper>();
    is_send::<StdSleeper>();
};

/// The front page.
static ORDERS: LazyLock<Retrier> = LazyLock::new(|| {
    Policy::exponential(Duration::from_millis(100))
        .deadline(Duration::from_secs(30))
        .retrier()
        .expect("a valid policy")
});

async fn fetch(id: u32, _within: Option<Duration>) -> Result<u32, Fault> {
    crate::probe::yield_now().await;
    Ok(id)
}

async fn order(id: u32) -> Result<u32, GaveUp<Fault>> {
    let order = ORDERS
        .retry(|attempt| fetch(id, attempt.remaining()))
        .await?;
    Ok(order)
}

#[tokio::test]
async fn the_front_page_works() {
    assert_eq!(order(17).await.unwrap(), 17);
    let rows = ORDERS.retry_blocking(|_| Ok::<_, Fault>(3)).unwrap();
    assert_eq!(rows, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_can_be_spawned() {
    let tasks: Vec<_> = (0..20).map(|id| tokio::spawn(order(id))).collect();
    for (id, task) in (0..).zip(tasks) {
        assert_eq!(task.await.unwrap().unwrap(), id);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clone_moves_into_a_spawned_task_with_all_options() {
    let retrier = fixed(MS).retrier().unwrap();
    let task = tokio::spawn(async move {
        let failing = |attempt: Attempt| async move {
            tokio::task::yield_now().await;
            Err::<String, _>(Fault(fault_of(attempt)))
        };
        let call = retrier
            .retry(failing)
            .keyed()
            .attempts(3)
            .deadline(60_000 * MS);
        let call = call.classify_with(|_, _: &Fault| becalm::Failure::transient());
        call.await.unwrap_err().attempts()
    });
    assert_eq!(task.await.unwrap(), 3);
}

fn fault_of(attempt: Attempt) -> becalm::Failure {
    assert!(attempt.key().is_some());
    becalm::Failure::permanent()
}

/// The future is `Send` where its parts are.
#[test]
fn the_futures_are_send() {
    fn sendable<T: Send>(it: T) -> T {
        it
    }
    let retrier = on(&FakeSleeper::new(), fixed(MS).deadline(60_000 * MS));
    let call = sendable(retrier.retry(|attempt| fetch(17, attempt.remaining())));
    assert_eq!(ready(call).unwrap(), 17);
    let mut by_hand = sendable(retrier.call::<Fault>());
    assert!(ready(sendable(by_hand.next())).is_some());
}

#[test]
fn an_async_closure_captures_by_move_and_by_reference() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let name = String::from("orders");
    let by_reference = retrier.retry(|attempt| {
        let name = &name;
        async move { Ok::<_, Fault>(format!("{name} {}", attempt.number())) }
    });
    assert_eq!(ready(by_reference).unwrap(), "orders 1");
    let by_move = retrier.retry(move |_| {
        let name = name.clone();
        async move { Ok::<_, Fault>(name) }
    });
    assert_eq!(ready(by_move).unwrap(), "orders");
    let number = 17;
    let of_language = retrier.retry(async |attempt: Attempt| {
        crate::probe::yield_now().await;
        Ok::<_, Fault>(number + attempt.number())
    });
    assert_eq!(ready(of_language).unwrap(), 18);
}

#[test]
fn a_function_is_an_operation() {
    async fn operation(attempt: Attempt) -> Result<u32, Fault> {
        blocking(attempt)
    }
    fn blocking(attempt: Attempt) -> Result<u32, Fault> {
        match attempt.number() {
            1 => Err(Fault::DOWN),
            number => Ok(number),
        }
    }
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    assert_eq!(ready(retrier.retry(operation)).unwrap(), 2);
    assert_eq!(retrier.retry_blocking(blocking).unwrap(), 2);
}

#[tokio::test(flavor = "current_thread")]
async fn futures_that_are_not_send_run_on_a_local_set() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let tried = Rc::new(Cell::new(0));
    let local = tokio::task::LocalSet::new();
    let counter = Rc::clone(&tried);
    let task = local.spawn_local(async move {
        let call = retrier.retry(|attempt| {
            let counter = Rc::clone(&counter);
            async move {
                tokio::task::yield_now().await;
                counter.set(counter.get() + 1);
                if attempt.number() < 3 {
                    Err(Fault::DOWN)
                } else {
                    Ok(Rc::new(17))
                }
            }
        });
        *call.await.unwrap()
    });
    local.await;
    assert_eq!((task.await.unwrap(), tried.get()), (17, 3));
}

type Boxed<'a> = Pin<Box<dyn Future<Output = Result<u32, GaveUp<Fault>>> + Send + 'a>>;

/// A call can be stored, boxed and raced.
#[test]
fn a_call_is_a_future_like_any_other() {
    let retrier = on(&FakeSleeper::auto(), fixed(MS));
    let boxed: Boxed<'_> = Box::pin(retrier.retry(|attempt| fetch(17, attempt.remaining())));
    let never = std::future::pending::<()>();
    let raced = futures_util::future::select(boxed, Box::pin(never));
    let futures_util::future::Either::Left((answer, _)) = ready(raced) else {
        unreachable!("the other is pending");
    };
    assert_eq!(answer.unwrap(), 17);
}

#[test]
fn results_go_through_the_question_mark_into_boxed_errors() {
    fn run() -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
        let retrier = Policy::default().retrier()?;
        Ok(retrier.retry_blocking(|_| Ok::<u32, Fault>(17))?)
    }
    assert_eq!(run().unwrap(), 17);
}

#[test]
fn a_retrier_shows_its_name_and_policy() {
    let retrier = fixed(MS).builder().name("orders").build().unwrap();
    assert_eq!(retrier.name(), "orders");
    let debug = format!("{retrier:?}");
    assert!(
        debug.contains("orders") && debug.contains("Fixed"),
        "{debug}"
    );
}
