//! Every interleaving of threads on a bulkhead, by the model checker.
//!
//! Run with `RUSTFLAGS="--cfg becalm_loom" cargo test -p becalm --no-default-features --release
//! --test loom_bulkhead`.
#![cfg(becalm_loom)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;

use becalm::bulkhead::{Aimd, Bulkhead, Limit, Outcome, Sample, Semaphore, Waiter};
use becalm::time::Instant;
use loom::thread;

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Woken {
    fn times(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

fn poll(places: &Semaphore, waiter: &mut Waiter, woken: &Arc<Woken>) -> Poll<bool> {
    places.poll_acquire(waiter, &Waker::from(Arc::clone(woken)))
}

/// All is as new: no place is lost and none was made.
fn assert_all_free(places: &Semaphore, limit: u32) {
    assert_eq!((places.in_flight(), places.waiting()), (0, 0));
    for _ in 0..limit {
        assert!(places.try_acquire());
    }
    assert!(!places.try_acquire());
}

#[test]
fn two_that_want_the_last_place_never_both_get_it() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1));
        let other = places.clone();
        let there = thread::spawn(move || other.try_acquire());
        let here = places.try_acquire();
        assert_eq!(u8::from(here) + u8::from(there.join().unwrap()), 1);
    });
}

#[test]
fn a_place_given_back_is_not_lost() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1));
        let running = loom::sync::Arc::new(loom::sync::atomic::AtomicU32::new(0));
        let run = |places: Semaphore, running: &loom::sync::atomic::AtomicU32| {
            if places.try_acquire() {
                assert_eq!(
                    running.fetch_add(1, loom::sync::atomic::Ordering::SeqCst),
                    0
                );
                running.fetch_sub(1, loom::sync::atomic::Ordering::SeqCst);
                places.release(None);
            }
        };
        let (other, counter) = (places.clone(), running.clone());
        let there = thread::spawn(move || run(other, &counter));
        run(places.clone(), &running);
        there.join().unwrap();
        assert_all_free(&places, 1);
    });
}

/// The place is taken; one thread gives it back while another asks for it and waits. It has the
/// place at once, or it is woken and has it then.
#[test]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1).waiting(1));
        assert!(places.try_acquire());
        let other = places.clone();
        let there = thread::spawn(move || other.release(None));
        let woken = Arc::new(Woken::default());
        let mut waiter = Waiter::new();
        let first = poll(&places, &mut waiter, &woken);
        there.join().unwrap();
        if first.is_pending() {
            assert_eq!(woken.times(), 1);
            assert_eq!(poll(&places, &mut waiter, &woken), Poll::Ready(true));
        } else {
            assert_eq!((first, woken.times()), (Poll::Ready(true), 0));
        }
        places.release(None);
        assert_all_free(&places, 1);
    });
}

/// A waiter that is polled again while it is handed the place.
#[test]
fn a_change_of_waker_beside_the_grant_loses_nothing() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1).waiting(1));
        assert!(places.try_acquire());
        let (first, second) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
        let mut waiter = Waiter::new();
        assert!(poll(&places, &mut waiter, &first).is_pending());
        let other = places.clone();
        let there = thread::spawn(move || other.release(None));
        let again = poll(&places, &mut waiter, &second);
        there.join().unwrap();
        if again.is_pending() {
            assert_eq!((first.times(), second.times()), (0, 1));
            assert_eq!(poll(&places, &mut waiter, &second), Poll::Ready(true));
        } else {
            assert_eq!((first.times(), second.times()), (1, 0));
        }
        places.release(None);
        assert_all_free(&places, 1);
    });
}

#[test]
fn a_place_granted_to_one_who_gives_up_is_free_again() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1).waiting(1));
        assert!(places.try_acquire());
        let mut waiter = Waiter::new();
        assert!(poll(&places, &mut waiter, &Arc::default()).is_pending());
        let other = places.clone();
        let there = thread::spawn(move || other.release(None));
        drop(waiter);
        there.join().unwrap();
        assert_all_free(&places, 1);
    });
}

/// Two wait; the next in turn gives up while it may be granted: the other must have the place.
#[test]
fn a_place_granted_to_one_who_gives_up_passes_to_the_next() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1).waiting(2));
        assert!(places.try_acquire());
        let woken = Arc::new(Woken::default());
        let (mut first, mut second) = (Waiter::new(), Waiter::new());
        assert!(poll(&places, &mut first, &Arc::default()).is_pending());
        assert!(poll(&places, &mut second, &woken).is_pending());
        let other = places.clone();
        let there = thread::spawn(move || other.release(None));
        drop(first);
        there.join().unwrap();
        assert_eq!(woken.times(), 1);
        assert_eq!(poll(&places, &mut second, &woken), Poll::Ready(true));
        places.release(None);
        assert_all_free(&places, 1);
    });
}

/// One waits in the last seat; the place falls free while a more urgent one comes for that seat. Either the
/// place is handed over first, or the seat is taken: nobody waits for ever, and no place is lost.
#[test]
fn one_who_is_displaced_beside_a_release_is_refused_or_has_the_place() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1).waiting(1));
        assert!(places.try_acquire());
        let (woken, urgent_woken) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
        let (mut waiter, mut urgent) = (Waiter::of_class(1), Waiter::new());
        assert!(poll(&places, &mut waiter, &woken).is_pending());
        let other = places.clone();
        let there = thread::spawn(move || other.release(None));
        assert!(poll(&places, &mut urgent, &urgent_woken).is_pending());
        there.join().unwrap();
        assert_eq!(woken.times(), 1);
        let ended = poll(&places, &mut waiter, &woken);
        if ended == Poll::Ready(true) {
            places.release(None);
        } else {
            assert_eq!(ended, Poll::Ready(false));
        }
        assert_eq!(urgent_woken.times(), 1);
        assert_eq!(poll(&places, &mut urgent, &urgent_woken), Poll::Ready(true));
        places.release(None);
        assert_all_free(&places, 1);
    });
}

/// One waits, and a third call tries its luck while the place is handed over.
#[test]
fn nobody_takes_a_place_past_one_who_waits() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1).waiting(1));
        assert!(places.try_acquire());
        let woken = Arc::new(Woken::default());
        let mut waiter = Waiter::new();
        assert!(poll(&places, &mut waiter, &woken).is_pending());
        let other = places.clone();
        let there = thread::spawn(move || other.release(None));
        assert!(!places.try_acquire());
        there.join().unwrap();
        assert_eq!(woken.times(), 1);
        assert_eq!(poll(&places, &mut waiter, &woken), Poll::Ready(true));
    });
}

/// One waits, and a third call that is willing to wait does so behind it.
#[test]
fn a_newcomer_to_the_queue_waits_behind_one_who_waits() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1).waiting(2));
        assert!(places.try_acquire());
        let woken = Arc::new(Woken::default());
        let (mut waiter, mut newcomer) = (Waiter::new(), Waiter::new());
        assert!(poll(&places, &mut waiter, &woken).is_pending());
        let other = places.clone();
        let there = thread::spawn(move || other.release(None));
        assert!(poll(&places, &mut newcomer, &Arc::default()).is_pending());
        there.join().unwrap();
        assert_eq!(woken.times(), 1);
        assert_eq!(poll(&places, &mut waiter, &woken), Poll::Ready(true));
        drop((waiter, newcomer));
        places.release(None);
        assert_all_free(&places, 1);
    });
}

/// Two ask for a place in the queue of one while the place in front of it falls free.
#[test]
fn the_queue_keeps_its_bound_and_every_place_is_used() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1).waiting(1));
        assert!(places.try_acquire());
        let ask = |places: Semaphore| {
            let woken = Arc::new(Woken::default());
            let mut waiter = Waiter::new();
            let first = poll(&places, &mut waiter, &woken);
            (first, waiter, woken)
        };
        let (releasing, asking) = (places.clone(), places.clone());
        let release = thread::spawn(move || releasing.release(None));
        let there = thread::spawn(move || ask(asking));
        let here = ask(places.clone());
        let there = there.join().unwrap();
        release.join().unwrap();
        let have = |asked: &(Poll<bool>, Waiter, Arc<Woken>)| {
            u32::from(asked.0 == Poll::Ready(true)) + asked.2.times()
        };
        // The place went to exactly one of the two.
        assert_eq!(have(&here) + have(&there), 1);
        drop((here.1, there.1));
        // Handed over and not fetched, it fell free with its waiter.
        if places.in_flight() == 1 {
            places.release(None);
        }
        assert_all_free(&places, 1);
    });
}

#[test]
fn a_grown_limit_beside_a_release_wakes_each_once() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(1).waiting(2));
        assert!(places.try_acquire());
        let woken = [Arc::new(Woken::default()), Arc::new(Woken::default())];
        let mut waiters = [Waiter::new(), Waiter::new()];
        for (waiter, woken) in waiters.iter_mut().zip(&woken) {
            assert!(poll(&places, waiter, woken).is_pending());
        }
        let other = places.clone();
        let there = thread::spawn(move || other.release(None));
        places.reconfigure(Bulkhead::calls(2).waiting(2));
        there.join().unwrap();
        assert_eq!(places.in_flight(), 2);
        for (waiter, woken) in waiters.iter_mut().zip(&woken) {
            assert_eq!(woken.times(), 1);
            assert_eq!(poll(&places, waiter, woken), Poll::Ready(true));
        }
        places.release(None);
        places.release(None);
        assert_all_free(&places, 2);
    });
}

#[test]
fn after_a_limit_has_shrunk_no_call_starts_beyond_it() {
    loom::model(|| {
        let places = Semaphore::new(Bulkhead::calls(2));
        let other = places.clone();
        let there = thread::spawn(move || other.try_acquire());
        places.reconfigure(Bulkhead::calls(1));
        let late = places.try_acquire();
        let early = there.join().unwrap();
        if late {
            // It came first and the other was kept out, or the other is the one that started
            // before; never two under a limit of one.
            assert!(!early);
        }
        assert_eq!(places.in_flight(), u32::from(early) + u32::from(late));
    });
}

fn dropped(at: u64) -> Option<Sample> {
    Some(Sample {
        took: Duration::from_nanos(1),
        now: Instant::from_nanos(at),
        outcome: Outcome::Dropped,
    })
}

fn completed(at: u64) -> Option<Sample> {
    dropped(at).map(|sample| Sample {
        outcome: Outcome::Completed,
        ..sample
    })
}

/// A drop is learned although another call is teaching at that moment: at once, or by the next.
#[test]
fn a_drop_is_never_lost_on_the_limit() {
    loom::model(|| {
        let mut aimd = Aimd::default();
        (aimd.initial, aimd.backoff) = (10, 0.5);
        let places = Semaphore::new(Bulkhead::limited(Limit::Aimd(aimd)));
        assert!(places.try_acquire() && places.try_acquire() && places.try_acquire());
        let other = places.clone();
        let there = thread::spawn(move || other.release(dropped(10)));
        places.release(completed(10));
        there.join().unwrap();
        places.release(completed(20));
        assert_eq!((places.limit(), places.in_flight()), (5, 0));
    });
}

/// A reload beside a lesson: the new bounds hold.
#[test]
fn a_reload_beside_a_lesson_keeps_its_bounds() {
    loom::model(|| {
        let mut aimd = Aimd::default();
        (aimd.initial, aimd.backoff) = (10, 0.5);
        let places = Semaphore::new(Bulkhead::limited(Limit::Aimd(aimd)));
        assert!(places.try_acquire());
        let other = places.clone();
        let there = thread::spawn(move || other.release(dropped(10)));
        places.reconfigure(Bulkhead::calls(3));
        there.join().unwrap();
        assert_eq!((places.limit(), places.in_flight()), (3, 0));
        assert!(!places.reads_clock());
    });
}

/// A reload that changes nothing but its maximum, beside a drop: the drop counts before it or after.
#[test]
fn a_reload_beside_a_lesson_forgets_nothing() {
    loom::model(|| {
        let mut aimd = Aimd::default();
        (aimd.initial, aimd.backoff) = (10, 0.5);
        let places = Semaphore::new(Bulkhead::limited(Limit::Aimd(aimd)));
        assert!(places.try_acquire() && places.try_acquire());
        let other = places.clone();
        let there = thread::spawn(move || other.release(dropped(10)));
        aimd.max = 100;
        places.reconfigure(Bulkhead::limited(Limit::Aimd(aimd)));
        there.join().unwrap();
        // Reads the note, if there is one.
        places.release(completed(20));
        assert_eq!((places.limit(), places.in_flight()), (5, 0));
    });
}
