//! Do timers and handles survive wakers that panic, and wakers that come back to them?

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant as StdInstant};

use becalm::time::{FakeSleeper, Sleep, StdSleeper};
use becalm::{Cancel, Sleeper, time::Instant};

use crate::probe::{ByHand, MS, block_on};

const CLOCK: StdSleeper = StdSleeper::new();

/// Long enough for any machine, short enough to end a hanging test.
const PATIENCE: Duration = Duration::from_secs(60);

/// In a thread of its own, so that what hangs fails.
fn ends(work: impl FnOnce() + Send + 'static) {
    let (began, thread) = (StdInstant::now(), std::thread::spawn(work));
    while !thread.is_finished() {
        assert!(began.elapsed() < PATIENCE, "it hangs");
        std::thread::yield_now();
    }
    thread.join().unwrap();
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker of a broken executor");
    }
}

/// Sets a flag when it is woken, and holds something that is dropped with it.
#[derive(Default)]
struct Holds {
    woken: AtomicBool,
    held: Mutex<Option<Box<dyn Send>>>,
}

impl Wake for Holds {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
    }
}

fn holding(held: impl Send + 'static) -> Waker {
    let holds = Holds::default();
    *holds.held.lock().unwrap() = Some(Box::new(held));
    Arc::new(holds).into()
}

fn poll(sleep: &mut Sleep, waker: &Waker) -> Poll<()> {
    sleep.as_mut().poll(&mut Context::from_waker(waker))
}

#[test]
fn c21_a_waker_that_panics_takes_no_other_sleep_with_it() {
    ends(|| {
        let at = CLOCK.now().after(20 * MS);
        let panics = Waker::from(Arc::new(Panics));
        // The first and the last of those that are due together, and one after all.
        let mut broken = [CLOCK.sleep_until(at), CLOCK.sleep_until(at)];
        let beside = Arc::new(Holds::default());
        let mut sound = CLOCK.sleep_until(at);
        assert!(poll(&mut broken[0], &panics).is_pending());
        assert!(poll(&mut sound, &Arc::clone(&beside).into()).is_pending());
        assert!(poll(&mut broken[1], &panics).is_pending());
        while !beside.woken.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        block_on(CLOCK.sleep_until(CLOCK.now().after(MS)));
    });
}

#[test]
fn c21_a_waker_may_drop_another_sleep_when_it_is_dropped() {
    let clocks: [Arc<dyn Sleeper>; 2] = [Arc::new(CLOCK), Arc::new(FakeSleeper::new())];
    for clock in clocks {
        ends(move || {
            // With the only waker that is left, if it is not polled by another.
            let pending = |waker: Waker| {
                let mut sleep = clock.sleep_until(clock.now().after(Duration::from_secs(3600)));
                assert!(poll(&mut sleep, &waker).is_pending());
                sleep
            };
            let nobody = || Waker::noop().clone();
            let dropped = pending(holding(pending(nobody())));
            drop(dropped);
            let mut replaced = pending(holding(pending(nobody())));
            assert!(poll(&mut replaced, Waker::noop()).is_pending());
        });
    }
}

#[test]
fn c21_a_waker_of_a_handle_may_come_back_to_it() {
    ends(|| {
        let cancel = Cancel::new();
        let listening = |waker: Waker| {
            let mut cancelled = Box::pin(cancel.cancelled());
            let mut context = Context::from_waker(&waker);
            assert!(cancelled.as_mut().poll(&mut context).is_pending());
            cancelled
        };
        let nobody = || Waker::noop().clone();
        let dropped = listening(holding(listening(nobody())));
        drop(dropped);
        let mut replaced = listening(holding(listening(nobody())));
        let mut context = Context::from_waker(Waker::noop());
        assert!(replaced.as_mut().poll(&mut context).is_pending());
        let _cancelled = listening(holding(listening(nobody())));
        cancel.cancel();
        assert!(replaced.as_mut().poll(&mut context).is_ready());
    });
}

#[test]
fn c21_a_listener_that_panics_takes_no_other_with_it() {
    let cancel = Cancel::new();
    let woken = Arc::new(Holds::default());
    let _broken = cancel.listen(&Arc::new(Panics).into());
    let _sound = cancel.listen(&Arc::clone(&woken).into());
    cancel.cancel();
    assert!(woken.woken.load(Ordering::SeqCst));
}

#[test]
fn cancellation_is_a_future_too() {
    let cancel = Cancel::new();
    let mut cancelled = ByHand::new(cancel.cancelled());
    assert!(cancelled.poll().is_pending());
    assert!(cancelled.poll().is_pending());
    cancel.clone().cancel();
    assert_eq!(cancelled.wakes(), 1, "however often it was polled");
    assert!(cancelled.poll().is_ready());
    assert!(
        ByHand::new(cancel.cancelled()).poll().is_ready(),
        "too late"
    );
    let late = Arc::new(Holds::default());
    let _listening = cancel.listen(&Arc::clone(&late).into());
    assert!(late.woken.load(Ordering::SeqCst));
}

#[test]
fn a_dropped_listener_is_not_woken() {
    let cancel = Cancel::new();
    let woken = Arc::new(Holds::default());
    let waker = Waker::from(Arc::clone(&woken));
    drop(cancel.listen(&waker));
    {
        let mut cancelled = pin!(cancel.cancelled());
        let mut context = Context::from_waker(&waker);
        assert!(cancelled.as_mut().poll(&mut context).is_pending());
    }
    cancel.cancel();
    assert!(!woken.woken.load(Ordering::SeqCst));
    assert_eq!(Arc::strong_count(&woken), 2, "the handle holds none");
}

#[test]
fn cancellation_reaches_who_waits_in_another_thread() {
    ends(|| {
        let cancel = Cancel::new();
        let waits = cancel.cancelled();
        let thread = std::thread::spawn(move || block_on(waits));
        cancel.cancel();
        thread.join().unwrap();
    });
}

/// At the end of time there is nothing to wait for but the waker.
#[test]
fn parking_until_the_end_of_time_does_not_move_a_clock() {
    let clock = FakeSleeper::auto();
    std::thread::current().unpark();
    assert!(!clock.park_until(Instant::NEVER));
    assert_eq!(clock.now(), Instant::ZERO);
    assert!(clock.park_until(Instant::ZERO.after(MS)));
}
