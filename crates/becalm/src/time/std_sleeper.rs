//! How does a call sleep without a runtime? On one timer thread for all.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant as StdInstant;

use super::{ClockId, Instant, Parker, Sleep, Sleeper};

/// The standard library's clock; async sleeps wake from one background thread, which starts with
/// the first of them, blocking sleeps park their own.
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
        Box::pin(TimerSleep { at, id: None })
    }

    fn block_until(&self, at: Instant, parker: &Parker) -> Instant {
        let now = self.now();
        if now >= at {
            return now;
        }
        parker.park(Some(at.since(now)));
        self.now()
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

/// The timer thread's work: wakers by time, then by arrival.
#[derive(Default)]
struct Timer {
    wakers: Mutex<Wakers>,
    changed: Condvar,
}

#[derive(Default)]
struct Wakers {
    next: u64,
    by_time: BTreeMap<(Instant, u64), Waker>,
}

impl Timer {
    fn wakers(&self) -> MutexGuard<'_, Wakers> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut wakers = self.wakers();
        loop {
            let now = StdSleeper::new().now();
            let mut due = Vec::new();
            while let Some(entry) = wakers.by_time.first_entry() {
                if entry.key().0 > now {
                    break;
                }
                due.push(entry.remove());
            }
            if !due.is_empty() {
                drop(wakers);
                due.into_iter().for_each(Waker::wake);
                wakers = self.wakers();
                continue;
            }
            wakers = match wakers.by_time.first_key_value() {
                Some((&(at, _), _)) => {
                    let waited = self.changed.wait_timeout(wakers, at.since(now));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self
                    .changed
                    .wait(wakers)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

fn timer() -> &'static Timer {
    static TIMER: LazyLock<&'static Timer> = LazyLock::new(|| {
        let timer: &'static Timer = Box::leak(Box::default());
        std::thread::spawn(|| timer.run());
        timer
    });
    *TIMER
}

struct TimerSleep {
    at: Instant,
    id: Option<u64>,
}

impl Future for TimerSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if StdSleeper::new().now() >= self.at {
            return Poll::Ready(());
        }
        let timer = timer();
        let mut wakers = timer.wakers();
        let id = self.id.unwrap_or_else(|| {
            wakers.next += 1;
            wakers.next
        });
        wakers
            .by_time
            .insert((self.at, id), context.waker().clone());
        drop(wakers);
        self.id = Some(id);
        timer.changed.notify_one();
        Poll::Pending
    }
}

impl Drop for TimerSleep {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            timer().wakers().by_time.remove(&(self.at, id));
        }
    }
}
