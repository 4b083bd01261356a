//! Who polls the copies, when, and with how many timers?

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{Budget, Hedge, Policy, Retrier};

use crate::probe::{ByHand, Fault, MS, SECOND, block_on, fixed, on};

fn after_50_ms() -> Policy {
    fixed(100 * MS).hedge(Hedge::after(50 * MS).copies(2))
}

/// A copy that ends when it is told to; counts its polls.
#[derive(Default)]
struct Switch {
    output: Option<Result<u32, Fault>>,
    waker: Option<Waker>,
    polls: u32,
}

/// The switches of all copies, in the order of their numbers.
#[derive(Clone, Default)]
struct Board(Arc<Mutex<Vec<Switch>>>);

impl Board {
    fn copy(&self) -> impl Future<Output = Result<u32, Fault>> + Send + use<> {
        let switches = Arc::clone(&self.0);
        let at = {
            let mut all = switches.lock().unwrap();
            all.push(Switch::default());
            all.len() - 1
        };
        poll_fn(move |context| {
            let switch = &mut switches.lock().unwrap()[at];
            switch.polls += 1;
            switch.waker = Some(context.waker().clone());
            switch.output.map_or(Poll::Pending, Poll::Ready)
        })
    }

    fn end(&self, number: usize, output: Result<u32, Fault>) {
        let waker = {
            let switch = &mut self.0.lock().unwrap()[number - 1];
            switch.output = Some(output);
            switch.waker.take()
        };
        waker.expect("it was polled").wake();
    }

    fn begun(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn polls(&self) -> Vec<u32> {
        self.0
            .lock()
            .unwrap()
            .iter()
            .map(|switch| switch.polls)
            .collect()
    }
}

fn switched<'r>(
    retrier: &'r Retrier,
    board: &'r Board,
) -> ByHand<impl Future<Output = Option<u32>> + 'r> {
    let call = retrier.retry(|_| board.copy());
    ByHand::new(async { call.await.ok() })
}

/// A call with three copies under way.
fn three_copies(clock: &FakeSleeper, call: &mut ByHand<impl Future<Output = Option<u32>>>) {
    assert!(call.run().is_pending());
    for _ in 0..2 {
        clock.advance(50 * MS);
        assert!(call.run().is_pending());
    }
}

#[test]
fn each_copy_wakes_the_call_by_itself() {
    for (number, others) in [(1, [2, 3]), (2, [1, 3]), (3, [1, 2])] {
        let (clock, board) = (FakeSleeper::new(), Board::default());
        let retrier = on(&clock, after_50_ms());
        let mut call = switched(&retrier, &board);
        three_copies(&clock, &mut call);
        // One after the other fails; the rest go on, and the last brings the success.
        for other in others {
            let wakes = call.wakes();
            board.end(other, Err(Fault::DOWN));
            assert_eq!(call.wakes(), wakes + 1);
            assert!(call.run().is_pending(), "{other} fails");
        }
        board.end(number, Ok(17));
        assert_eq!(call.run(), Poll::Ready(Some(17)), "{number} is the last");
    }
}

/// Two that are ready at once are both seen.
#[test]
fn a_failure_and_a_success_at_once_are_a_success() {
    for (failing, good) in [(1, 2), (2, 1), (2, 3), (3, 2), (3, 1)] {
        let (clock, board) = (FakeSleeper::new(), Board::default());
        let retrier = on(&clock, after_50_ms());
        let mut call = switched(&retrier, &board);
        three_copies(&clock, &mut call);
        board.end(failing, Err(Fault::DOWN));
        board.end(good, Ok(17));
        assert_eq!(
            call.run(),
            Poll::Ready(Some(17)),
            "{failing} fails, {good} is good"
        );
    }
}

#[test]
fn nothing_is_polled_that_was_not_woken() {
    let (clock, board) = (FakeSleeper::new(), Board::default());
    let retrier = on(&clock, after_50_ms());
    let mut call = switched(&retrier, &board);
    three_copies(&clock, &mut call);
    // When it begins, and at each start of a copy beside it.
    assert_eq!(board.polls(), [3, 2, 1]);
    assert_eq!(call.wakes(), 2, "by the two timers");
    clock.advance(3600 * SECOND);
    assert_eq!(call.wakes(), 2, "nobody waits for the time any more");
    assert_eq!(clock.sleepers(), 0);
    board.end(1, Err(Fault::DOWN));
    assert!(call.run().is_pending());
    // The first is gone; each of the others was polled by the wake-up, and not over and over.
    let polls = board.polls();
    assert_eq!(
        (polls[0], polls[1] <= 5, polls[2] <= 3),
        (4, true, true),
        "{polls:?}"
    );
}

#[test]
fn there_are_no_more_timers_than_there_is_to_wait_for() {
    let (clock, board) = (FakeSleeper::new(), Board::default());
    let policy = after_50_ms().deadline(SECOND).attempt_timeout(200 * MS);
    let retrier = on(&clock, policy);
    let mut call = switched(&retrier, &board);
    three_copies(&clock, &mut call);
    let timeouts = [50 * MS, 50 * MS, 100 * MS];
    assert_eq!(
        clock.slept(),
        timeouts,
        "a hedge, another, the first copy's time-out"
    );
    for _ in 0..50 {
        assert!(call.poll().is_pending());
        clock.advance(MS);
    }
    assert_eq!(clock.slept(), timeouts, "a poll for nothing makes none");
    assert_eq!(clock.sleepers(), 1, "one at a time");
    drop(call);
    assert_eq!(clock.sleepers(), 0);
}

/// A failure ends the hedging, and with it the wait for the next copy.
#[test]
fn nobody_waits_for_a_hedge_that_will_not_be() {
    let (clock, board) = (FakeSleeper::new(), Board::default());
    let retrier = on(&clock, after_50_ms());
    let mut call = switched(&retrier, &board);
    assert!(call.run().is_pending());
    clock.advance(50 * MS);
    assert!(call.run().is_pending());
    assert_eq!(clock.sleepers(), 1, "for a third copy");
    board.end(2, Err(Fault::DOWN));
    assert!(call.run().is_pending());
    assert_eq!(clock.sleepers(), 0);
}

#[test]
fn an_operation_that_is_ready_at_once_needs_no_timer() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, after_50_ms());
    let built = clock.clock_reads();
    let mut call = ByHand::new(retrier.retry(|_| async { Ok::<_, Fault>(17) }));
    assert_eq!(call.poll().map(Result::ok), Poll::Ready(Some(17)));
    assert_eq!(clock.slept(), []);
    assert_eq!(
        clock.clock_reads() - built,
        1,
        "its start, should it be slow"
    );
    assert_eq!(call.wakes(), 0);
}

/// Not even one that must not be hedged makes one.
#[test]
fn where_no_copy_may_follow_there_is_no_timer() {
    let (clock, board) = (FakeSleeper::new(), Board::default());
    let retrier = on(&clock, after_50_ms());
    let mut call = ByHand::new(retrier.retry(|_| board.copy()).not_idempotent());
    assert!(call.run().is_pending());
    clock.advance(SECOND);
    assert!(call.run().is_pending());
    assert_eq!(
        (clock.slept().len(), board.begun(), call.wakes()),
        (0, 1, 0)
    );
}

/// Neither `Send` nor `Unpin`, and borrowing from the caller.
#[test]
fn copies_need_not_be_send_nor_unpin() {
    struct Pinned {
        is_hedge: bool,
        polled_at: Cell<usize>,
        seen: Rc<RefCell<u32>>,
        _pinned: PhantomPinned,
    }
    impl Future for Pinned {
        type Output = Result<bool, Fault>;
        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
            *self.seen.borrow_mut() += 1;
            let here = std::ptr::from_ref(&*self) as usize;
            let before = self.polled_at.replace(here);
            assert!(before == 0 || before == here, "it has moved");
            if self.is_hedge && before != 0 {
                return Poll::Ready(Ok(true));
            }
            Poll::Pending
        }
    }
    let clock = FakeSleeper::new();
    let retrier = on(&clock, after_50_ms());
    let seen = Rc::new(RefCell::new(0));
    let mut call = ByHand::new(retrier.retry(|attempt| Pinned {
        is_hedge: attempt.is_hedge(),
        polled_at: Cell::new(0),
        seen: Rc::clone(&seen),
        _pinned: PhantomPinned,
    }));
    assert!(call.run().is_pending());
    clock.advance(50 * MS);
    assert!(call.run().is_pending());
    clock.advance(50 * MS);
    assert_eq!(call.poll().map(Result::ok), Poll::Ready(Some(true)));
    assert_eq!(*seen.borrow(), 5);
}

/// Where it was polled first by another task's waker, the last one counts.
#[test]
fn the_last_waker_is_woken() {
    let (clock, board) = (FakeSleeper::new(), Board::default());
    let retrier = on(&clock, after_50_ms());
    let mut call = switched(&retrier, &board);
    three_copies(&clock, &mut call);
    let mut call = ByHand::new(call.into_future());
    assert!(call.poll().is_pending());
    for number in [1, 2] {
        board.end(number, Err(Fault::DOWN));
        assert!(call.run().is_pending());
    }
    let wakes = call.wakes();
    board.end(3, Ok(1));
    assert_eq!(call.wakes(), wakes + 1);
    assert_eq!(call.run(), Poll::Ready(Some(1)));
}

/// Woken from another thread, over and over, nothing is lost.
#[test]
fn a_copy_that_is_woken_from_another_thread_is_polled() {
    let retrier = Policy::fixed(MS)
        .budget(Budget::None)
        .hedge(Hedge::after(Duration::ZERO).copies(2))
        .retrier()
        .unwrap();
    for round in 0..200 {
        let board = Board::default();
        let (wins, remote) = (1 + round % 3, board.clone());
        let other = std::thread::spawn(move || {
            let is_polled = |number: usize| {
                let switches = remote.0.lock().unwrap();
                switches
                    .get(number - 1)
                    .is_some_and(|switch| switch.waker.is_some())
            };
            for number in (1..=3).filter(|number| *number != wins).chain([wins]) {
                while !is_polled(number) {
                    std::thread::yield_now();
                }
                let output = if number == wins {
                    Ok(17)
                } else {
                    Err(Fault::DOWN)
                };
                remote.end(number, output);
            }
        });
        let done = block_on(retrier.retry(|_| board.copy()));
        assert_eq!(done.ok(), Some(17), "round {round}");
        other.join().unwrap();
    }
}

#[cfg(feature = "tokio")]
mod on_tokio {
    use super::*;
    use tokio::time::{Instant, sleep};

    async fn answer(is_hedge: bool) -> Result<bool, Fault> {
        sleep(if is_hedge { 20 } else { 10_000 } * MS).await;
        Ok(is_hedge)
    }

    #[tokio::test(start_paused = true)]
    async fn a_spawned_call_is_hedged_on_tokios_paused_clock() {
        let retrier = after_50_ms().retrier().unwrap();
        let began = Instant::now();
        let calls: Vec<_> = (0..50)
            .map(|_| {
                let retrier = retrier.clone();
                tokio::spawn(async move {
                    retrier
                        .retry(|attempt| answer(attempt.is_hedge()))
                        .await
                        .ok()
                })
            })
            .collect();
        for call in calls {
            assert_eq!(call.await.unwrap(), Some(true));
        }
        let passed = began.elapsed();
        assert!(passed >= 70 * MS && passed < 80 * MS, "{passed:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn on_several_threads_every_call_ends() {
        let policy = Policy::fixed(MS).budget(Budget::None);
        let retrier = policy.hedge(Hedge::after(MS).copies(3)).retrier().unwrap();
        let calls: Vec<_> = (0..300_u32)
            .map(|call| {
                let retrier = retrier.clone();
                tokio::spawn(async move {
                    let done = retrier.retry(|attempt| async move {
                        if attempt.number() == 1 + call % 4 {
                            tokio::task::yield_now().await;
                            return Ok(call);
                        }
                        sleep(attempt.number() % 3 * MS).await;
                        Err(Fault::DOWN)
                    });
                    done.attempts(8).deadline(60 * SECOND).await
                })
            })
            .collect();
        for (call, done) in (0..).zip(calls) {
            let done = done.await.unwrap();
            match done {
                Ok(number) => assert_eq!(number, call),
                Err(gave_up) => panic!("{gave_up}"),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_outer_timeout_cancels_every_copy() {
        let retrier = after_50_ms().retrier().unwrap();
        let alive = Arc::new(());
        let call = retrier.retry(|_| {
            let alive = Arc::clone(&alive);
            async move {
                std::future::pending::<()>().await;
                drop(alive);
                Ok::<_, Fault>(())
            }
        });
        let mut call = Box::pin(call);
        let cut = tokio::time::timeout(120 * MS, call.as_mut()).await;
        assert!(cut.is_err());
        assert_eq!(Arc::strong_count(&alive), 4, "three copies");
        drop(call);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
