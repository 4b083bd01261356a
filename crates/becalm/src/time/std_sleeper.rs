//! How does a call sleep without a runtime? On one timer thread for all.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::io;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant as StdInstant;

use super::alarms::{Alarms, wake_all};
use super::{ClockId, Instant, Sleep, Sleeper};

/// The standard library's clock. Async sleeps wake from one background thread, which starts with
/// the first of them, blocking sleeps park their own.
///
/// Where that thread cannot be started, since the process has as many as it may, sleeps yield to the
/// executor until their time has come, and each poll tries to start it again: they cost processor
/// time, and none of them hangs or ends early. A waker that panics is told of by the panic hook, and
/// takes nothing from the other sleeps.
#[derive(Debug, Clone, Copy, Default)]
pub struct StdSleeper(());

impl StdSleeper {
    /// The process's clock.
    pub const fn new() -> Self {
        Self(())
    }
}

impl Sleeper for StdSleeper {
    fn now(&self) -> Instant {
        since_zero(StdInstant::now())
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        Box::pin(TimerSleep {
            timer: &TIMER,
            at,
            id: None,
        })
    }

    fn park_until(&self, at: Instant) -> bool {
        let left = at.since(self.now());
        if left.is_zero() {
            return true;
        }
        std::thread::park_timeout(left);
        self.now() >= at
    }

    /// Windows wakes parked threads on a tick of 15.6 ms; elsewhere a timer's slack is tens of
    /// microseconds and falls on no grid.
    fn granularity(&self) -> Duration {
        if cfg!(windows) {
            Duration::from_micros(15_600)
        } else {
            Duration::ZERO
        }
    }

    fn clock(&self) -> ClockId {
        ClockId::PROCESS
    }
}

/// The process's clock starts a day before it is first looked at: a paused clock of tokio's may be
/// older than that look, and its points must not all fall on zero.
pub(super) fn since_zero(instant: StdInstant) -> Instant {
    Instant::ZERO.after(instant.saturating_duration_since(zero()))
}

/// The point of the standard clock that is `instant`, if it can be told.
#[cfg(feature = "tokio")]
pub(super) fn on_std_clock(instant: Instant) -> Option<StdInstant> {
    zero().checked_add(instant.since(Instant::ZERO))
}

fn zero() -> StdInstant {
    const DAY: Duration = Duration::from_secs(86_400);
    static ZERO: LazyLock<StdInstant> = LazyLock::new(|| {
        let now = StdInstant::now();
        now.checked_sub(DAY).unwrap_or(now)
    });
    *ZERO
}

/// The timer thread's work.
struct Timer {
    state: Mutex<State>,
    changed: Condvar,
    start: fn(&'static Timer) -> io::Result<()>,
}

#[derive(Default)]
struct State {
    alarms: Alarms,
    is_running: bool,
}

impl Timer {
    const fn new(start: fn(&'static Timer) -> io::Result<()>) -> Self {
        Self {
            state: Mutex::new(State {
                alarms: Alarms::new(),
                is_running: false,
            }),
            changed: Condvar::new(),
            start,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes this waker when the time has come; false if nobody will, as the thread cannot be
    /// started.
    fn wake_at(&'static self, at: Instant, id: &mut Option<u64>, waker: Waker) -> bool {
        let mut state = self.state();
        let old = state.alarms.set(at, id, waker);
        // Under the lock: who comes meanwhile must not count on a thread that fails to start.
        state.is_running = state.is_running || (self.start)(self).is_ok();
        let is_running = state.is_running;
        drop(state);
        drop(old);
        self.changed.notify_one();
        is_running
    }

    fn run(&self) {
        let mut state = self.state();
        loop {
            let now = StdSleeper::new().now();
            let due = state.alarms.take_due(now);
            if !due.is_empty() {
                drop(state);
                wake_all(due);
                state = self.state();
                continue;
            }
            let next = state.alarms.first();
            let left = next.map_or(Duration::MAX, |next| next.since(now));
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

static TIMER: Timer = Timer::new(|timer| {
    let thread = std::thread::Builder::new().name("becalm-timer".into());
    thread.spawn(|| timer.run()).map(drop)
});

struct TimerSleep {
    timer: &'static Timer,
    at: Instant,
    id: Option<u64>,
}

impl Future for TimerSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if StdSleeper::new().now() >= this.at {
            return Poll::Ready(());
        }
        // A waker that is cloned or dropped may run anything: never under the timer's lock.
        let waker = context.waker().clone();
        if !this.timer.wake_at(this.at, &mut this.id, waker) {
            std::thread::yield_now();
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for TimerSleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let left = self.timer.state().alarms.remove(self.at, id);
            drop(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// No thread, until there is one.
    #[test]
    fn c21_where_the_timer_thread_cannot_start_sleeps_yield_and_the_next_poll_tries_again() {
        static MAY_START: AtomicBool = AtomicBool::new(false);
        static STARTED: AtomicU32 = AtomicU32::new(0);
        static TIMER: Timer = Timer::new(|timer| {
            if !MAY_START.load(Ordering::SeqCst) {
                return Err(io::Error::from(io::ErrorKind::WouldBlock));
            }
            STARTED.fetch_add(1, Ordering::SeqCst);
            std::thread::Builder::new().spawn(|| timer.run()).map(drop)
        });
        let sleep = |lasts| {
            Box::pin(TimerSleep {
                timer: &TIMER,
                at: StdSleeper::new().now().after(lasts),
                id: None,
            })
        };
        let woken = Arc::new(Count::default());
        let waker = Arc::clone(&woken).into();
        let mut context = Context::from_waker(&waker);
        let mut short = sleep(Duration::from_millis(2));
        let mut polls = 0;
        while short.as_mut().poll(&mut context).is_pending() {
            polls += 1;
            assert_eq!(woken.0.load(Ordering::SeqCst), polls, "it hangs");
        }
        assert!(StdSleeper::new().now() >= short.at, "early");

        let mut forgotten = sleep(Duration::from_millis(1));
        assert!(forgotten.as_mut().poll(&mut context).is_pending());
        let before = woken.0.load(Ordering::SeqCst);
        MAY_START.store(true, Ordering::SeqCst);
        let mut long = sleep(Duration::from_millis(5));
        assert!(long.as_mut().poll(&mut context).is_pending());
        // The thread wakes those of before, too.
        while woken.0.load(Ordering::SeqCst) < before + 2 {
            std::thread::yield_now();
        }
        assert!(sleep(Duration::ZERO).as_mut().poll(&mut context).is_ready());
        assert_eq!(STARTED.load(Ordering::SeqCst), 1);
    }
}
