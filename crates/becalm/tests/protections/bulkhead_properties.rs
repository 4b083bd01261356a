//! What holds of a bulkhead whatever its figures, its calls and its callers?
#![cfg(feature = "std")]

use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use becalm::bulkhead::{Aimd, Bulkhead, Gradient, Limit, Outcome, Sample, Semaphore, Waiter};
use becalm::time::Instant;
use proptest::prelude::*;

fn aimd(initial: u32, min: u32, max: u32, backoff: f64, slow: Option<Duration>) -> Limit {
    let mut aimd = Aimd::default();
    (aimd.initial, aimd.min, aimd.max) = (initial, min, max);
    (aimd.backoff, aimd.slow) = (backoff, slow);
    Limit::Aimd(aimd)
}

fn gradient(
    (initial, min, max): (u32, u32, u32),
    tolerance: f64,
    window: Duration,
    probe: Duration,
) -> Limit {
    let mut gradient = Gradient::default();
    (gradient.initial, gradient.min, gradient.max) = (initial, min, max);
    (gradient.tolerance, gradient.window, gradient.probe) = (tolerance, window, probe);
    Limit::Gradient(gradient)
}

/// Every adaptive limit that validates, small enough to reach its bounds.
fn any_valid() -> impl Strategy<Value = (Limit, u32, u32)> {
    let bounds = (1..20_u32, 0..20_u32, 0..20_u32)
        .prop_map(|(min, initial, max)| (min + initial, min, min + initial + max));
    let slow = proptest::option::of((1..50_u64).prop_map(Duration::from_millis));
    prop_oneof![
        (bounds.clone(), 0.1..=0.99, slow).prop_map(|((initial, min, max), backoff, slow)| {
            (aimd(initial, min, max, backoff, slow), min, max)
        }),
        (bounds, 1.0..=10.0, 1..20_u64, 10..50_u64).prop_map(
            |(bounds, tolerance, window, probe)| {
                let window = Duration::from_millis(window);
                let probe = Duration::from_millis(probe * 20);
                (
                    gradient(bounds, tolerance, window, probe),
                    bounds.1,
                    bounds.2,
                )
            }
        ),
    ]
}

/// A limit of any figures at all.
fn any_limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        any::<u32>().prop_map(Limit::Fixed),
        any::<(u32, u32, u32, f64, Option<Duration>)>()
            .prop_map(|(initial, min, max, backoff, slow)| aimd(initial, min, max, backoff, slow)),
        any::<((u32, u32, u32), f64, Duration, Duration)>().prop_map(
            |(bounds, tolerance, window, probe)| gradient(bounds, tolerance, window, probe)
        ),
    ]
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        3 => Just(Outcome::Completed),
        1 => Just(Outcome::Dropped),
    ]
}

/// What calls do: how many start, what each took in milliseconds, how long until the next ends.
fn any_traffic() -> impl Strategy<Value = Vec<(u8, u64, u64, Outcome)>> {
    proptest::collection::vec((0..4_u8, 0..200_u64, 0..10_u64, any_outcome()), 0..400)
}

proptest! {
    #[test]
    fn an_adaptive_limit_stays_within_its_bounds(
        (limit, min, max) in any_valid(),
        traffic in any_traffic(),
    ) {
        prop_assert_eq!(Bulkhead::limited(limit).validate(), Ok(()));
        let places = Semaphore::new(Bulkhead::limited(limit));
        prop_assert!(places.reads_clock());
        let mut now = Instant::ZERO;
        for (starts, took, gap, outcome) in traffic {
            for _ in 0..starts {
                let before = places.in_flight();
                prop_assert_eq!(places.try_acquire(), before < places.limit());
            }
            now = now.after(Duration::from_millis(gap));
            places.release(Some(Sample { took: Duration::from_millis(took), now, outcome }));
            let limit = places.limit();
            prop_assert!((min..=max).contains(&limit), "{} not in {}..={}", limit, min, max);
        }
    }

    #[test]
    fn no_figure_and_no_sample_panics(
        limits in proptest::collection::vec(any_limit(), 1..4),
        waiting: u32,
        samples in proptest::collection::vec(
            (any::<Duration>(), any::<u64>(), any_outcome(), any::<bool>()), 0..60),
    ) {
        let places = Semaphore::new(Bulkhead::calls(1));
        for limit in limits {
            let bulkhead = Bulkhead::limited(limit).waiting(waiting);
            let _ = (bulkhead.validate(), bulkhead.to_string());
            places.reconfigure(bulkhead);
            for (took, now, outcome, starts) in &samples {
                if *starts {
                    places.try_acquire();
                }
                let now = Instant::from_nanos(*now);
                places.release(Some(Sample { took: *took, now, outcome: *outcome }));
                prop_assert!(places.limit() >= 1);
            }
        }
    }

    /// Time that no driver hands in, but a driver's bug might.
    #[test]
    fn places_that_were_not_taken_are_not_given_back(limit in 1..5_u32, taken in 0..7_u32) {
        let places = Semaphore::new(Bulkhead::calls(limit));
        let had = (0..taken).filter(|_| places.try_acquire()).count();
        for _ in 0..10 {
            places.release(None);
        }
        prop_assert_eq!(had, usize::try_from(taken.min(limit)).unwrap());
        prop_assert_eq!((places.in_flight(), places.limit()), (0, limit));
    }
}

#[test]
fn a_reload_keeps_what_an_adaptive_limit_has_learned() {
    let places = Semaphore::new(Bulkhead::limited(aimd(100, 1, 200, 0.5, None)));
    places.try_acquire();
    places.release(Some(Sample {
        took: Duration::ZERO,
        now: Instant::from_nanos(1),
        outcome: Outcome::Dropped,
    }));
    assert_eq!(places.limit(), 50);
    places.reconfigure(Bulkhead::limited(aimd(100, 1, 200, 0.9, None)));
    assert_eq!(places.limit(), 50);
    places.reconfigure(Bulkhead::limited(aimd(20, 1, 30, 0.9, None)));
    assert_eq!(places.limit(), 30);
    // Of another kind it begins anew.
    places.reconfigure(Bulkhead::adaptive());
    assert_eq!(places.limit(), 20);
    places.reconfigure(Bulkhead::calls(7));
    assert_eq!((places.limit(), places.reads_clock()), (7, false));
}

#[test]
fn the_longest_wait_is_told_to_the_driver() {
    let second = Duration::from_secs(1);
    let places = Semaphore::new(Bulkhead::calls(1).waiting(1).max_wait(second));
    assert_eq!(places.max_wait(), Some(second));
    places.reconfigure(Bulkhead::calls(1));
    assert_eq!(places.max_wait(), None);
}

/// A waiter that is polled at another semaphore leaves the first.
#[test]
fn a_waiter_waits_at_one_semaphore_only() {
    let one = Semaphore::new(Bulkhead::calls(1).waiting(1));
    let two = Semaphore::new(Bulkhead::calls(1).waiting(1));
    assert!(one.try_acquire() && two.try_acquire());
    let mut waiter = Waiter::new();
    assert!(one.poll_acquire(&mut waiter, Waker::noop()).is_pending());
    assert_eq!((one.waiting(), two.waiting()), (1, 0));
    assert!(two.poll_acquire(&mut waiter, Waker::noop()).is_pending());
    assert_eq!((one.waiting(), two.waiting()), (0, 1));
    waiter.cancel();
    assert_eq!((one.waiting(), two.waiting()), (0, 0));
}

/// Does what an executor may do when it is woken: run tasks that use the bulkhead, drop others.
struct Rash {
    places: Semaphore,
    waiter: Mutex<Option<Waiter>>,
}

impl Wake for Rash {
    fn wake(self: Arc<Self>) {
        let mut waiter = self.waiter.lock().unwrap().take().expect("woken once");
        let polled = self.places.poll_acquire(&mut waiter, Waker::noop());
        assert_eq!(polled, Poll::Ready(true));
        self.places.release(None);
    }
}

/// Each that is woken runs to its end within the wake, and so wakes the next within its own.
#[test]
fn a_waker_may_use_the_bulkhead() {
    let places = Semaphore::new(Bulkhead::calls(1).waiting(100));
    assert!(places.try_acquire());
    let tasks: Vec<Arc<Rash>> = (0..100)
        .map(|_| {
            let mut waiter = Waiter::new();
            let task = Arc::new(Rash {
                places: places.clone(),
                waiter: Mutex::new(None),
            });
            let polled = places.poll_acquire(&mut waiter, &Waker::from(Arc::clone(&task)));
            assert!(polled.is_pending());
            *task.waiter.lock().unwrap() = Some(waiter);
            task
        })
        .collect();
    places.release(None);
    assert_eq!((places.in_flight(), places.waiting()), (0, 0));
    assert!(
        tasks
            .iter()
            .all(|task| task.waiter.lock().unwrap().is_none())
    );
}

/// A waker that owns the next waiter: dropping the first drops them all, one within the other.
#[test]
fn a_waker_that_ends_with_its_waiter_may_cancel_another() {
    struct Owner(#[expect(dead_code, reason = "owned to be dropped")] Mutex<Waiter>);
    impl Wake for Owner {
        fn wake(self: Arc<Self>) {}
    }
    let places = Semaphore::new(Bulkhead::calls(1).waiting(50));
    assert!(places.try_acquire());
    let mut last = Waiter::new();
    assert!(places.poll_acquire(&mut last, Waker::noop()).is_pending());
    for _ in 1..50 {
        let waker = Waker::from(Arc::new(Owner(Mutex::new(last))));
        last = Waiter::new();
        assert!(places.poll_acquire(&mut last, &waker).is_pending());
    }
    assert_eq!(places.waiting(), 50);
    drop(last);
    assert_eq!((places.in_flight(), places.waiting()), (1, 0));
}
