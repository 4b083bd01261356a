//! What happens to calls at the edges of guards and budgets: reloads, shared budgets, told failures,
//! deadlines?

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use becalm::breaker::State;
use becalm::run::{CallLoop, Core};
use becalm::time::FakeSleeper;
use becalm::{
    Breaker, Budget, Bulkhead, Failure, Policy, Retrier, Scope, StopReason,
    call::{Call, CallOptions, Decision},
    rate::AdaptiveRate,
    scope::Nested,
    shared::Shared,
};

use crate::probe::{ByHand, Fault, MS, SECOND, fixed, on, ready};

/// A call that no concurrency has counted takes none of those away that it has.
#[test]
fn a_call_from_before_a_concurrency_ends_for_itself_alone() {
    let policy = |budget| fixed(MS).budget(budget);
    let shared = Shared::new(policy(Budget::grpc(10, 0.1)), MS * 0).unwrap();
    let now = becalm::time::Instant::ZERO;
    let mut random = becalm::rng::SplitMix64::new(7);
    let begin = |random: &mut becalm::rng::SplitMix64| {
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
        call.start(now, random).unwrap();
        call
    };
    let before = begin(&mut random);
    shared
        .replace_policy(policy(Budget::concurrency(1.0, 0)), now)
        .unwrap();
    let mut after = begin(&mut random);
    drop(before);
    let decision = after.on_outcome(now, Failure::transient().into(), &mut random);
    assert!(matches!(decision, Decision::RetryIn(_)), "{decision:?}");
}

fn grpc_left(retrier: &Retrier) -> f64 {
    retrier.budget_gauges().next().unwrap().left
}

/// Whoever pays for retries after failures hears of the failures.
#[test]
fn who_pays_for_retries_hears_of_the_failures() {
    let clock = FakeSleeper::auto();
    let throttled = |policy: Policy| on(&clock, policy.budget(Budget::grpc(20, 0.5)));
    let outer = throttled(fixed(MS).attempts(1));
    let inner = throttled(fixed(MS).attempts(4).nested(Nested::ShareBudget));
    let fail = || inner.retry(|_| async { Err::<(), _>(Fault::DOWN) });
    ready(outer.retry(|_| fail())).unwrap_err();
    assert_eq!((grpc_left(&outer), grpc_left(&inner)), (15.0, 20.0));
    ready(fail()).unwrap_err();
    assert_eq!((grpc_left(&outer), grpc_left(&inner)), (15.0, 16.0));
}

fn tripping(clock: &FakeSleeper) -> Retrier {
    on(clock, fixed(MS).breaker(Breaker::consecutive(1)))
}

/// What the loop has told is known, whether it asks for another attempt or not.
#[test]
fn a_failure_told_by_a_loop_counts_however_the_loop_ends() {
    let clock = FakeSleeper::new();
    for is_dropped in [false, true] {
        for tell in [
            (|call| call.failure(Fault::DOWN)) as fn(&mut CallLoop<&Core, Fault>),
            |call| call.timed_out(),
        ] {
            let retrier = tripping(&clock);
            let mut call = retrier.call();
            assert!(call.next_blocking().is_some());
            tell(&mut call);
            if is_dropped {
                drop(call);
            } else {
                assert_eq!(call.gave_up().reason(), StopReason::Cancelled);
            }
            assert_eq!(retrier.breaker_state(), Some(State::Open), "{is_dropped}");
        }
        let retrier = tripping(&clock);
        let mut call = retrier.call::<Fault>();
        assert!(call.next_blocking().is_some());
        if is_dropped {
            drop(call);
        } else {
            call.gave_up();
        }
        assert_eq!(
            retrier.breaker_state(),
            Some(State::Closed),
            "nothing was told"
        );
    }
}

/// Who waits in a bulkhead that is taken out need not wait any more.
#[test]
fn taken_out_a_bulkhead_lets_go_who_waits_in_it() {
    let clock = FakeSleeper::new();
    let retrier = on(&clock, fixed(MS).bulkhead(Bulkhead::calls(1).waiting(2)));
    let mut running = ByHand::new(retrier.retry(|_| pending::<Result<(), Fault>>()));
    assert!(running.run().is_pending());
    let mut waiting: Vec<_> = (0..2)
        .map(|n| ByHand::new(retrier.retry(move |_| async move { Ok::<_, Fault>(n) })))
        .collect();
    for call in &mut waiting {
        assert!(call.run().is_pending());
    }
    retrier.replace_policy(fixed(MS)).unwrap();
    for call in &mut waiting {
        assert_eq!(call.wakes(), 1);
        assert!(call.run().is_ready());
    }
    drop(running);
    // Nobody has kept a place.
    retrier
        .replace_policy(fixed(MS).bulkhead(Bulkhead::calls(1)))
        .unwrap();
    assert_eq!(retrier.in_flight(), Some(0));
}

/// Wakes by looking at the policy, as a task may that runs at once where it is woken.
struct Curious(Retrier, AtomicUsize);

impl Wake for Curious {
    fn wake(self: Arc<Self>) {
        let _ = self.0.policy();
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_reload_holds_nothing_while_it_wakes() {
    let one = fixed(MS).bulkhead(Bulkhead::calls(1).waiting(1));
    for next in [fixed(MS).bulkhead(Bulkhead::calls(2)), fixed(MS)] {
        let retrier = on(&FakeSleeper::new(), one.clone());
        let mut running = ByHand::new(retrier.retry(|_| pending::<Result<(), Fault>>()));
        assert!(running.run().is_pending());
        let mut waiting = pin!(retrier.retry(|_| async { Ok::<_, Fault>(17) }));
        let curious = Arc::new(Curious(retrier.clone(), AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&curious));
        assert!(
            waiting
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        // On a thread of its own, so that a deadlock is a failure and not the end of the tests.
        let (done, is_done) = channel();
        let reloading = retrier.clone();
        std::thread::spawn(move || done.send(reloading.replace_policy(next)));
        let reloaded = is_done.recv_timeout(60 * SECOND);
        assert_eq!(reloaded, Ok(Ok(())), "a deadlock");
        assert_eq!(curious.1.load(Ordering::SeqCst), 1);
    }
}

/// A token that comes after the deadline is not waited for.
#[test]
fn a_turn_of_the_adaptive_rate_past_the_deadline_is_not_waited_for() {
    let clock = FakeSleeper::new();
    let retrier = on(
        &clock,
        fixed(MS)
            .attempts(1)
            .rate(AdaptiveRate::cubic())
            .deadline(SECOND),
    );
    let _ = ready(retrier.retry(|_| async { Err::<(), _>(Fault::BUSY) }));
    // From here on one in two seconds.
    let mut call = ByHand::new(retrier.retry(|_| async { Ok::<_, Fault>(()) }));
    match call.run() {
        Poll::Ready(Err(gave_up)) => assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::DeadlineExceeded, 0)
        ),
        other => panic!("{other:?}"),
    }
    drop(call);
    // Its turn is the next one's.
    let mut next = ByHand::new(
        retrier
            .retry(|_| async { Ok::<_, Fault>(17) })
            .deadline(3 * SECOND),
    );
    assert!(next.run().is_pending());
    clock.advance(2 * SECOND + MS);
    assert!(matches!(next.run(), Poll::Ready(Ok(17))));
}

/// Who is woken by the place of a failed call finds its failure counted.
#[test]
fn a_place_is_handed_on_after_the_breaker_has_heard() {
    struct Asks(Retrier, Mutex<Vec<Option<State>>>);
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0.breaker_state());
        }
    }
    let policy = fixed(MS).bulkhead(Bulkhead::calls(1).waiting(1));
    let retrier = on(
        &FakeSleeper::new(),
        policy.breaker(Breaker::consecutive(1)).attempts(1),
    );
    let mut first = retrier.call::<Fault>();
    assert!(first.next_blocking().is_some());
    let mut waiting = pin!(retrier.retry(|_| async { Ok::<_, Fault>(17) }));
    let asks = Arc::new(Asks(retrier.clone(), Mutex::default()));
    let waker = Waker::from(Arc::clone(&asks));
    let mut context = Context::from_waker(&waker);
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    first.failure(Fault::DOWN);
    assert!(first.next_blocking().is_none());
    assert_eq!(*asks.1.lock().unwrap(), [Some(State::Open)]);
    match waiting.as_mut().poll(&mut context) {
        Poll::Ready(Err(gave_up)) => assert_eq!(gave_up.reason(), StopReason::BreakerOpen),
        other => panic!("{other:?}"),
    }
}
