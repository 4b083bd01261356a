//! How does a test own the time?

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::alarms::{Alarms, Waiting};
use super::{ClockId, Instant, Sleep, Sleeper};

/// A clock that moves only when a test says so, and the timer on it.
///
/// Clones share the time. [`FakeSleeper::auto`] jumps to every wake-up at once, for tests that ask
/// only what was waited; [`FakeSleeper::new`] waits for [`advance`](Self::advance). An attempt that
/// pends waits for its deadline too, so that the automatic clock cuts it at once: move the time by
/// hand where attempts with a time limit pend.
///
/// ```
/// use becalm::{Policy, Failure, StopReason, time::FakeSleeper};
/// use std::time::Duration;
///
/// let clock = FakeSleeper::auto();
/// let retrier = Policy::fixed(Duration::from_secs(3600))
///     .cap(Duration::from_secs(3600))
///     .jitter(becalm::Jitter::None)
///     .builder()
///     .sleeper(clock.clone())
///     .build()?;
/// let gave_up = retrier
///     .retry_blocking(|_| Err::<(), _>(std::io::Error::from(std::io::ErrorKind::TimedOut)))
///     .unwrap_err();
/// assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
/// assert_eq!(clock.slept(), [Duration::from_secs(3600); 3]);
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug, Clone)]
pub struct FakeSleeper {
    state: Arc<Mutex<State>>,
    alarms: Arc<Alarms>,
    clock: ClockId,
    auto: bool,
    tick: Duration,
}

#[derive(Debug, Default)]
struct State {
    now: Instant,
    slept: Vec<Duration>,
    reads: u64,
}

impl FakeSleeper {
    /// A clock at zero that waits to be advanced.
    pub fn new() -> Self {
        Self {
            state: Arc::default(),
            alarms: Arc::default(),
            clock: ClockId::unique(),
            auto: false,
            tick: Duration::ZERO,
        }
    }

    /// A clock at zero that jumps to the end of every sleep as soon as it is waited for.
    pub fn auto() -> Self {
        Self {
            auto: true,
            ..Self::new()
        }
    }

    /// Gives the clock a timer of this tick (the default is exact).
    #[must_use]
    pub fn with_tick(self, tick: Duration) -> Self {
        Self { tick, ..self }
    }

    /// Moves the time, and wakes those that waited for it, in order.
    pub fn advance(&self, by: Duration) {
        self.move_time(|now| now.after(by));
    }

    /// Moves the time to the next wake-up and tells how far that was; `None` if nobody sleeps.
    pub fn advance_to_next(&self) -> Option<Duration> {
        let at = self.alarms.first()?;
        Some(self.move_time(|now| now.max(at)))
    }

    /// Every sleep that was begun, in order: how long it was to last.
    pub fn slept(&self) -> Vec<Duration> {
        self.state().slept.clone()
    }

    /// How many sleepers are waiting for the time to move.
    pub fn sleepers(&self) -> usize {
        self.alarms.len()
    }

    /// How often the clock was read.
    pub fn clock_reads(&self) -> u64 {
        self.state().reads
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn move_time(&self, to: impl FnOnce(Instant) -> Instant) -> Duration {
        let mut state = self.state();
        let (before, now) = (state.now, to(state.now));
        state.now = now;
        drop(state);
        self.alarms.wake_due(now);
        now.since(before)
    }
}

impl Default for FakeSleeper {
    fn default() -> Self {
        Self::new()
    }
}

/// The wall clock starts at the Unix epoch and moves with the monotonic one.
impl Sleeper for FakeSleeper {
    fn now(&self) -> Instant {
        let mut state = self.state();
        state.reads += 1;
        state.now
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.state().now.since(Instant::ZERO)
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        let mut state = self.state();
        let lasts = at.since(state.now);
        state.slept.push(lasts);
        drop(state);
        Box::pin(FakeSleep {
            sleeper: self.clone(),
            waiting: Waiting::new(Arc::clone(&self.alarms), at),
        })
    }

    fn granularity(&self) -> Duration {
        self.tick
    }

    fn clock(&self) -> ClockId {
        self.clock
    }
}

struct FakeSleep {
    sleeper: FakeSleeper,
    waiting: Waiting<Arc<Alarms>>,
}

impl FakeSleep {
    fn is_over(&self) -> bool {
        let mut state = self.sleeper.state();
        if self.sleeper.auto {
            state.now = state.now.max(self.waiting.at);
        }
        state.now >= self.waiting.at
    }
}

impl Future for FakeSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            return Poll::Ready(());
        }
        self.waiting.wake(context.waker());
        // Who moved the time in between may have looked before this waker was there.
        if self.is_over() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}
