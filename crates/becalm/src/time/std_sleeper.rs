//! How does a call sleep without a runtime? On one timer thread for all.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Instant as StdInstant;

use super::alarms::{Alarms, Waiting};
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
        Box::pin(TIMER.sleep_until(at))
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
    alarms: Alarms,
    /// The thread, once it is started.
    thread: Mutex<Option<Thread>>,
    start: fn(&'static Timer) -> io::Result<Thread>,
}

impl Timer {
    const fn new(start: fn(&'static Timer) -> io::Result<Thread>) -> Self {
        Self {
            alarms: Alarms::new(),
            thread: Mutex::new(None),
            start,
        }
    }

    const fn sleep_until(&'static self, at: Instant) -> TimerSleep {
        TimerSleep {
            timer: self,
            waiting: Waiting::new(&self.alarms, at),
        }
    }

    /// Tells the thread of a new alarm; false if nobody heeds it, as the thread cannot be started.
    fn tell(&'static self) -> bool {
        // Under the lock: who comes meanwhile must not count on a thread that fails to start.
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            *thread = (self.start)(self).ok();
        }
        thread.as_ref().map(Thread::unpark).is_some()
    }

    fn run(&self) {
        loop {
            let now = StdSleeper::new().now();
            if self.alarms.wake_due(now) {
                continue;
            }
            match self.alarms.first() {
                Some(next) => std::thread::park_timeout(next.since(now)),
                None => std::thread::park(),
            }
        }
    }
}

static TIMER: Timer = Timer::new(|timer| {
    let thread = std::thread::Builder::new().name("becalm-timer".into());
    Ok(thread.spawn(|| timer.run())?.thread().clone())
});

struct TimerSleep {
    timer: &'static Timer,
    waiting: Waiting<&'static Alarms>,
}

impl Future for TimerSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if StdSleeper::new().now() >= self.waiting.at {
            return Poll::Ready(());
        }
        self.waiting.wake(context.waker());
        if !self.timer.tell() {
            std::thread::yield_now();
            context.waker().wake_by_ref();
        }
        Poll::Pending
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
            let thread = std::thread::Builder::new().spawn(|| timer.run())?;
            Ok(thread.thread().clone())
        });
        let sleep = |lasts| Box::pin(TIMER.sleep_until(StdSleeper::new().now().after(lasts)));
        let woken = Arc::new(Count::default());
        let waker = Arc::clone(&woken).into();
        let mut context = Context::from_waker(&waker);
        let mut short = sleep(Duration::from_millis(2));
        let mut polls = 0;
        while short.as_mut().poll(&mut context).is_pending() {
            polls += 1;
            assert_eq!(woken.0.load(Ordering::SeqCst), polls, "it hangs");
        }
        assert!(StdSleeper::new().now() >= short.waiting.at, "early");

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
