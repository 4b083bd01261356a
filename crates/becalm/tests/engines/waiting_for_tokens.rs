//! `when_spent = "wait"`: does a call that finds no token wait for one, in every engine, and hold nothing but its
//! place?

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use becalm::budget::{RetryBudget, WhenSpent, Withdrawal};
use becalm::observe::About;
use becalm::time::{FakeSleeper, Instant, Sleeper};
use becalm::{Event, Failure, Hedge, Observer, Policy, Retrier, StopReason};

use crate::in_every_engine::DRIVERS;
use crate::probe::{ByHand, Fault, MS, SECOND, fixed, ready, watched};

/// A budget that has nothing before a moment, and enough from then on.
#[derive(Debug)]
struct From {
    moment: Instant,
    asked: AtomicU32,
}

impl From {
    fn after(clock: &FakeSleeper, wait: Duration) -> Arc<Self> {
        Arc::new(Self {
            moment: clock.now().after(wait),
            asked: AtomicU32::new(0),
        })
    }

    fn never() -> Arc<Self> {
        Self::after(&FakeSleeper::new(), Duration::MAX)
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }
}

impl RetryBudget for From {
    fn deposit(&self, _: Instant) {}

    fn withdraw(&self, now: Instant, _: &Failure) -> Option<Withdrawal> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        (now >= self.moment).then(|| Withdrawal::of_micros(1_000_000))
    }

    fn refund(&self, _: Withdrawal) {}

    fn fill(&self, _: Instant) -> f64 {
        0.0
    }
}

/// 100 ms before each retry, within a second.
fn patient() -> Policy {
    fixed(100 * MS)
        .attempts(3)
        .deadline(SECOND)
        .when_spent(WhenSpent::Wait)
}

fn paid_by(clock: &FakeSleeper, policy: Policy, budget: &Arc<From>) -> Retrier {
    let builder = policy.builder().sleeper(clock.clone());
    builder.retry_budget(budget.clone()).build().unwrap()
}

#[test]
fn a_call_asks_again_at_each_of_its_draws_until_it_is_paid_for() {
    for (name, driver) in DRIVERS {
        let clock = FakeSleeper::auto();
        let (start, budget) = (clock.now(), From::after(&clock, 450 * MS));
        let retrier = paid_by(&clock, patient(), &budget);
        let began = RefCell::new(Vec::new());
        let ended = driver(&retrier, &|attempt| {
            began.borrow_mut().push(clock.now().since(start));
            match attempt.number() {
                3 => Ok(17),
                _ => Err(Fault::DOWN),
            }
        });
        assert_eq!(ended.unwrap(), 17, "{name}");
        // Paid for at its fifth draw; the next retry finds a token at once.
        let at = [0, 500, 600].map(|millis| millis * MS);
        assert_eq!(*began.borrow(), at, "{name}");
        // At the failure, at 100 to 500 ms, and once for the other retry.
        assert_eq!(budget.asked(), 7, "{name}");
        assert_eq!(retrier.waiting(), 0, "{name}");
    }
}

#[test]
fn it_ends_before_its_deadline_and_says_how_long_it_waited() {
    for (name, driver) in DRIVERS {
        let (clock, budget) = (FakeSleeper::auto(), From::never());
        let retrier = paid_by(&clock, patient(), &budget);
        let gave_up = driver(&retrier, &|_| Err(Fault::DOWN)).unwrap_err();
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::BudgetExhausted, 1),
            "{name}"
        );
        // The draw at 900 ms would end at the deadline.
        assert_eq!(gave_up.elapsed(), Some(900 * MS), "{name}");
        assert_eq!(gave_up.waited_for_tokens(), 800 * MS, "{name}");
        assert_eq!(
            gave_up.to_string(),
            "gave up after 1 attempt in 900ms (800ms of it in wait for a token) because the retry budget is spent: \
             the shop is down",
            "{name}"
        );
        assert_eq!((budget.asked(), retrier.waiting()), (10, 0), "{name}");
    }
}

/// One that neither waits nor is asked to.
#[test]
fn without_the_word_a_call_stops_at_once() {
    for (name, driver) in DRIVERS {
        let (clock, budget) = (FakeSleeper::auto(), From::never());
        let retrier = paid_by(&clock, patient().when_spent(WhenSpent::Stop), &budget);
        let gave_up = driver(&retrier, &|_| Err(Fault::DOWN)).unwrap_err();
        assert_eq!(gave_up.reason(), StopReason::BudgetExhausted, "{name}");
        assert_eq!(gave_up.waited_for_tokens(), Duration::ZERO, "{name}");
        assert_eq!(budget.asked(), 1, "{name}");
    }
}

#[test]
fn no_more_wait_than_there_are_places_and_a_dropped_call_frees_its_own() {
    let clock = FakeSleeper::new();
    let watched = watched(&clock, patient().max_waiting(2), 0);
    let fail = || {
        watched
            .retrier
            .retry(|_| async { Err::<(), _>(Fault::DOWN) })
    };
    let mut waiting: Vec<_> = (0..2).map(|_| ByHand::new(fail())).collect();
    for call in &mut waiting {
        assert!(call.run().is_pending());
    }
    let gave_up = ready(fail()).unwrap_err();
    assert_eq!(gave_up.reason(), StopReason::TooManyWaiting);
    // They ask again, and keep their places.
    clock.advance(100 * MS);
    for call in &mut waiting {
        assert!(call.run().is_pending());
    }
    assert_eq!(watched.retrier.waiting(), 2);
    waiting.pop();
    assert_eq!(watched.retrier.waiting(), 1);
    let mut another = ByHand::new(fail());
    assert!(another.run().is_pending());
    drop((waiting, another));
    assert_eq!(watched.retrier.waiting(), 0);
    let book = watched.ledger.book();
    assert_eq!((book.withdrawals, book.denials), (0, 5));
}

/// A poll in between, as by the waker of a sibling, is no ask.
#[test]
fn only_the_time_makes_it_ask() {
    let clock = FakeSleeper::new();
    let watched = watched(&clock, patient(), 0);
    let mut call = ByHand::new(
        watched
            .retrier
            .retry(|_| async { Err::<(), _>(Fault::DOWN) }),
    );
    assert!(call.run().is_pending());
    clock.advance(100 * MS);
    for _ in 0..10 {
        assert!(call.run().is_pending());
        clock.advance(MS);
    }
    assert_eq!(watched.ledger.book().denials, 2);
}

#[test]
fn a_wait_hears_that_retries_were_switched_off() {
    let clock = FakeSleeper::new();
    let watched = watched(&clock, patient(), 0);
    let mut call = ByHand::new(
        watched
            .retrier
            .retry(|_| async { Err::<(), _>(Fault::DOWN) }),
    );
    assert!(call.run().is_pending());
    watched.retrier.disable_retries();
    clock.advance(100 * MS);
    let std::task::Poll::Ready(Err(gave_up)) = call.run() else {
        panic!("it goes on");
    };
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    let book = watched.ledger.book();
    assert_eq!(
        (book.denials, book.withdrawals),
        (1, 0),
        "the budget is asked last"
    );
}

#[test]
fn a_call_has_its_own_deadline_and_a_reload_gives_none_to_one_without() {
    let (clock, budget) = (FakeSleeper::auto(), From::never());
    let retrier = paid_by(&clock, patient(), &budget);
    let call = retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) });
    let gave_up = ready(call.deadline(250 * MS)).unwrap_err();
    assert_eq!(gave_up.elapsed(), Some(200 * MS));

    let clock = FakeSleeper::new();
    let retrier = paid_by(&clock, fixed(100 * MS), &From::never());
    let mut call = ByHand::new(retrier.retry(|_| async {
        crate::probe::yield_now().await;
        Err::<(), _>(Fault::DOWN)
    }));
    assert!(call.poll().is_pending());
    retrier.replace_policy(patient()).unwrap();
    let std::task::Poll::Ready(Err(gave_up)) = call.run() else {
        panic!("it waits without an end");
    };
    assert_eq!(gave_up.reason(), StopReason::BudgetExhausted);
}

/// A millisecond at least: a policy without delays does not spin.
#[test]
fn a_policy_without_delays_asks_once_a_millisecond() {
    let (clock, budget) = (FakeSleeper::auto(), From::never());
    let policy = patient().base(Duration::ZERO).deadline(10 * MS);
    let retrier = paid_by(&clock, policy, &budget);
    let call = ready(retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) }));
    assert_eq!(call.unwrap_err().reason(), StopReason::BudgetExhausted);
    assert_eq!(
        budget.asked(),
        11,
        "at its failure, and after 0 to 9 ms and 9 more"
    );
}

#[test]
fn what_the_server_asks_for_comes_before_the_first_ask() {
    let clock = FakeSleeper::auto();
    let (start, budget) = (clock.now(), From::after(&clock, 350 * MS));
    let retrier = paid_by(&clock, patient().attempts(2), &budget);
    let hinted = Fault(Failure::transient().retry_after(300 * MS));
    let began = RefCell::new(Vec::new());
    let ended = retrier.retry_blocking(|_| {
        began.borrow_mut().push(clock.now().since(start));
        Err::<(), _>(hinted)
    });
    assert!(ended.is_err());
    let second = began.into_inner()[1];
    assert!((300 * MS..=500 * MS).contains(&second), "{second:?}");
    assert!(second >= 350 * MS, "without a token: {second:?}");
}

/// Counts what is told of waits.
#[derive(Debug, Default)]
struct Waits(AtomicU32);

impl Observer for Waits {
    fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
        if let Event::WaitsForToken { next, delay } = event {
            assert_eq!((*next, *delay), (2, 100 * MS));
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_observer_hears_of_a_wait_once() {
    let waits = Arc::new(Waits::default());
    let clock = FakeSleeper::auto();
    let builder = patient().builder().sleeper(clock).observer(waits.clone());
    let retrier = builder.retry_budget(From::never()).build().unwrap();
    let _ = retrier.retry_blocking(|_| Err::<(), _>(Fault::DOWN));
    assert_eq!(waits.0.load(Ordering::Relaxed), 1);
}

#[test]
fn a_hedge_does_not_wait() {
    let (clock, budget) = (FakeSleeper::new(), From::never());
    let retrier = paid_by(&clock, patient().hedge(Hedge::after(10 * MS)), &budget);
    let started = AtomicU32::new(0);
    let mut call = ByHand::new(retrier.retry(|_| {
        started.fetch_add(1, Ordering::Relaxed);
        let answer = clock.sleep_until(clock.now().after(500 * MS));
        async move {
            answer.await;
            Ok::<_, Fault>(())
        }
    }));
    for _ in 0..50 {
        assert!(call.run().is_pending());
        clock.advance(10 * MS);
    }
    assert!(call.run().is_ready());
    assert_eq!((started.load(Ordering::Relaxed), budget.asked()), (1, 1));
}
