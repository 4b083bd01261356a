//! What does a dropped call leave behind? Nothing: its token and its place come back, its observer
//! is told once.

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{Budget, Policy, Retrier, Sleeper, StopReason};
use proptest::prelude::*;

use crate::probe::{ByHand, Fault, Ledger, MS, SECOND, Seen, Watched, fixed, on, watched};

const CANCELLED: StopReason = StopReason::Cancelled;

/// Fails once, then never ends.
fn failing_then_pending(watched: &Watched) -> ByHand<impl Future<Output = ()>> {
    let call = watched.retrier.retry(|attempt| async move {
        if attempt.number() == 1 {
            return Err::<(), _>(Fault::DOWN);
        }
        pending().await
    });
    ByHand::new(async {
        let _ = call.await;
    })
}

#[test]
fn dropped_before_its_first_poll_a_call_never_was() {
    let watched = watched(&FakeSleeper::new(), fixed(100 * MS), 10);
    drop(failing_then_pending(&watched));
    assert_eq!(watched.journal.seen(), []);
    assert_eq!(watched.ledger.book(), Ledger::of(10).book());
}

#[test]
fn dropped_in_its_first_attempt_a_call_is_cancelled() {
    let watched = watched(&FakeSleeper::new(), fixed(100 * MS).deadline(SECOND), 10);
    let mut call = ByHand::new(watched.retrier.retry(|_| pending::<Result<(), Fault>>()));
    assert!(call.poll().is_pending());
    watched.clock.advance(300 * MS);
    drop(call);
    assert_eq!(
        watched.journal.seen(),
        [
            Seen::Attempt(1, Duration::ZERO),
            Seen::Stopped(CANCELLED, 1, 300 * MS)
        ]
    );
    assert_eq!(watched.clock.sleepers(), 0, "the deadline's timer is gone");
}

/// Conformance 9.
#[test]
fn dropped_in_its_wait_a_call_returns_token_and_place() {
    let watched = watched(&FakeSleeper::new(), fixed(100 * MS), 10);
    let mut call = failing_then_pending(&watched);
    assert!(call.run().is_pending());
    assert_eq!(
        (watched.retrier.waiting(), watched.ledger.book().tokens),
        (1, 9)
    );
    watched.clock.advance(30 * MS);
    drop(call);
    assert_eq!(
        (watched.retrier.waiting(), watched.ledger.book().tokens),
        (0, 10)
    );
    assert_eq!(watched.ledger.book().refunds, 1);
    assert_eq!(watched.clock.sleepers(), 0);
    assert_eq!(
        watched.journal.seen()[2..],
        [Seen::Stopped(CANCELLED, 1, 30 * MS)]
    );
}

#[test]
fn dropped_in_a_later_attempt_a_call_has_spent_its_token() {
    let watched = watched(&FakeSleeper::new(), fixed(100 * MS), 10);
    let mut call = failing_then_pending(&watched);
    assert!(call.run().is_pending());
    watched.clock.advance(100 * MS);
    assert!(call.run().is_pending());
    assert_eq!(watched.retrier.waiting(), 0);
    drop(call);
    let book = watched.ledger.book();
    assert_eq!((book.tokens, book.spent()), (9, 1));
    assert_eq!(
        watched.journal.stops(),
        [(CANCELLED, 2)],
        "two attempts were begun"
    );
}

#[test]
fn dropped_after_its_end_a_call_is_not_cancelled() {
    for policy in [fixed(MS), fixed(MS).deadline(SECOND)] {
        let watched = watched(&FakeSleeper::auto(), policy, 10);
        let mut good = ByHand::new(watched.retrier.retry(|_| async { Ok::<_, Fault>(()) }));
        assert!(good.run().is_ready());
        drop(good);
        let mut bad = ByHand::new(
            watched
                .retrier
                .retry(|_| async { Err::<(), _>(Fault::GONE) }),
        );
        assert!(bad.run().is_ready());
        drop(bad);
        assert_eq!(watched.journal.stops(), [(StopReason::Permanent, 1)]);
    }
}

#[test]
fn a_deadline_that_passes_in_the_wait_returns_the_token() {
    let watched = watched(&FakeSleeper::new(), fixed(100 * MS).deadline(SECOND), 10);
    let mut call = ByHand::new(
        watched
            .retrier
            .retry(|_| async { Err::<(), _>(Fault::DOWN) }),
    );
    assert!(call.run().is_pending());
    watched.clock.advance(2 * SECOND); // the executor was busy
    let Poll::Ready(Err(gave_up)) = call.run() else {
        panic!("the deadline has passed");
    };
    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
    assert_eq!((gave_up.attempts(), gave_up.records().count()), (1, 1));
    let book = watched.ledger.book();
    assert_eq!((book.tokens, book.withdrawals, book.refunds), (10, 1, 1));
    assert_eq!(watched.retrier.waiting(), 0);
}

/// The default budget, not only a test's.
#[test]
fn the_ratio_budget_is_full_again_after_a_cancelled_wait() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(SECOND).budget(Budget::ratio(0.1).burst(2.0)));
    let mut call = ByHand::new(retrier.retry(|_| async { Err::<(), _>(Fault::DOWN) }));
    assert!(call.run().is_pending());
    assert!(retrier.budget_fill() < 1.0);
    drop(call);
    assert!((retrier.budget_fill() - 1.0).abs() < 1e-9);
}

/// What the test does next.
#[derive(Debug, Clone, Copy)]
enum Step {
    Begin,
    Poll(usize),
    Advance(u64),
    Drop(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Begin),
        6 => (0_usize..8).prop_map(Step::Poll),
        3 => (0_u64..150).prop_map(Step::Advance),
        2 => (0_usize..8).prop_map(Step::Drop),
    ];
    proptest::collection::vec(step, 0..120)
}

/// Calls in the middle of things, polled, left alone and dropped as the steps say.
struct Crowd<'r> {
    retrier: &'r Retrier,
    clock: &'r FakeSleeper,
    calls: Vec<Pin<Box<dyn Future<Output = ()> + 'r>>>,
    /// Attempts that were begun: first tries, and retries.
    begun: Rc<Cell<(u32, u32)>>,
    /// Calls whose first attempt succeeded.
    smooth: Rc<Cell<usize>>,
    /// Decides what attempts do.
    dice: Rc<Cell<u64>>,
}

fn roll(dice: &Cell<u64>) -> u64 {
    let next = dice
        .get()
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    dice.set(next);
    next >> 33
}

impl Crowd<'_> {
    fn begin(&mut self) {
        let (clock, begun, dice) = (self.clock, Rc::clone(&self.begun), Rc::clone(&self.dice));
        let call = self.retrier.retry(move |attempt| {
            let (firsts, retries) = begun.get();
            begun.set(if attempt.number() == 1 {
                (firsts + 1, retries)
            } else {
                (firsts, retries + 1)
            });
            let (takes, fate) = (roll(&dice) % 80, roll(&dice) % 8);
            async move {
                if takes > 20 {
                    let ends = clock.now().after(Duration::from_millis(takes));
                    clock.sleep_until(ends).await;
                }
                match fate {
                    0 | 1 => Ok(attempt.number()),
                    2 => Err(Fault::GONE),
                    3 => pending().await,
                    4 => Err(Fault::REFUSED),
                    _ => Err(Fault::DOWN),
                }
            }
        });
        let smooth = Rc::clone(&self.smooth);
        self.calls.push(Box::pin(async move {
            if let Ok(1) = call.await {
                smooth.set(smooth.get() + 1);
            }
        }));
    }

    fn take(&mut self, step: Step) {
        let at = |index: usize, len: usize| (len > 0).then(|| index % len);
        match step {
            Step::Begin => self.begin(),
            Step::Advance(millis) => self.clock.advance(Duration::from_millis(millis)),
            Step::Poll(index) => {
                if let Some(index) = at(index, self.calls.len()) {
                    let mut context = Context::from_waker(Waker::noop());
                    if self.calls[index].as_mut().poll(&mut context).is_ready() {
                        drop(self.calls.swap_remove(index));
                    }
                }
            }
            Step::Drop(index) => {
                if let Some(index) = at(index, self.calls.len()) {
                    drop(self.calls.swap_remove(index));
                }
            }
        }
    }
}

/// After any life of any number of calls: nobody waits, every token that bought no retry is back,
/// and every call that was begun has ended in exactly one event.
fn nothing_leaks(policy: Policy, tokens: u32, steps: &[Step], dice: u64) {
    let watched = watched(&FakeSleeper::new(), policy, tokens);
    let mut crowd = Crowd {
        retrier: &watched.retrier,
        clock: &watched.clock,
        calls: Vec::new(),
        begun: Rc::default(),
        smooth: Rc::default(),
        dice: Rc::new(Cell::new(dice)),
    };
    for step in steps {
        crowd.take(*step);
        let book = watched.ledger.book();
        let waiting = u32::try_from(watched.retrier.waiting()).unwrap();
        let (firsts, retries) = crowd.begun.get();
        assert_eq!(
            book.spent(),
            retries + waiting,
            "a token each, from before the wait"
        );
        assert_eq!(book.first_tries, firsts);
        let places = watched.retrier.policy().max_waiting.unwrap_or(u32::MAX);
        assert!(waiting <= places);
    }
    crowd.calls.clear();
    let (firsts, retries) = crowd.begun.get();
    let book = watched.ledger.book();
    assert_eq!(watched.retrier.waiting(), 0);
    assert_eq!(book.spent(), retries);
    assert_eq!(book.tokens, tokens - retries);
    assert_eq!(watched.clock.sleepers(), 0, "no timer is left");
    let seen = watched.journal.seen();
    let count = |matches: fn(&Seen) -> bool| seen.iter().filter(|seen| matches(seen)).count();
    let firsts_told = count(|seen| matches!(seen, Seen::Attempt(1, _)));
    let attempts_told = count(|seen| matches!(seen, Seen::Attempt(..)));
    let ends = count(|seen| matches!(seen, Seen::Stopped(..) | Seen::Recovered(..)));
    assert_eq!(firsts_told, firsts as usize);
    assert_eq!(attempts_told - firsts_told, retries as usize);
    assert_eq!(
        ends,
        firsts as usize - crowd.smooth.get(),
        "one end for each call"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_leaks_whoever_is_dropped_whenever(
        steps in steps(),
        dice: u64,
        tokens in 0_u32..20,
        deadline in proptest::option::of(1_u64..400),
        timeout in proptest::option::of(1_u64..60),
        places in proptest::option::of(1_u32..4),
        delay in 0_u64..100,
    ) {
        let mut policy = fixed(Duration::from_millis(delay));
        policy.deadline = deadline.map(Duration::from_millis);
        policy.attempt_timeout = timeout.map(Duration::from_millis);
        policy.max_waiting = places;
        nothing_leaks(policy, tokens, &steps, dice);
    }
}
