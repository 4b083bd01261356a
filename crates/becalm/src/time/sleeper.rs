//! What does an engine need of time? One trait.

use core::fmt;
use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Wake;
use std::thread::Thread;
use std::time::SystemTime;

use super::{Cancel, ClockId, Instant};

/// A timer.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Clock and timer in one object, so that a test or a simulator replaces both at once.
pub trait Sleeper: fmt::Debug + Send + Sync + 'static {
    /// The monotonic time.
    fn now(&self) -> Instant;

    /// The wall-clock time, for hints that are dates.
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    /// A future that is ready at `at`, and not before.
    fn sleep_until(&self, at: Instant) -> Sleep;

    /// Blocks the thread until `at`, or until it is unparked, and tells whether `at` has come. May
    /// return early for no reason, as [`std::thread::park`] may.
    ///
    /// What wakes it must not need this thread: a timer that only a runtime turns, which this thread
    /// may be part of, would never. The default waits on [`sleep_until`](Self::sleep_until).
    fn park_until(&self, at: Instant) -> bool {
        if at == Instant::NEVER {
            std::thread::park();
            return false;
        }
        let waker = Arc::new(Unpark(std::thread::current())).into();
        let mut context = Context::from_waker(&waker);
        let mut sleep = self.sleep_until(at);
        if sleep.as_mut().poll(&mut context).is_ready() {
            return true;
        }
        std::thread::park();
        sleep.as_mut().poll(&mut context).is_ready()
    }

    /// Blocks the thread until `at`, or until `cancel` is cancelled.
    fn block_until(&self, at: Instant, cancel: Option<&Cancel>) {
        let waker = Arc::new(Unpark(std::thread::current())).into();
        let _listening = cancel.map(|cancel| cancel.listen(&waker));
        while !cancel.is_some_and(Cancel::is_cancelled) && !self.park_until(at) {}
    }

    /// The tick of the timer: delays are rounded to it, at random, so that a window narrower than a
    /// tick is still spread. Zero for a timer that needs no rounding.
    fn granularity(&self) -> Duration {
        Duration::ZERO
    }

    /// Which clock the instants belong to: retriers on one clock hand deadlines down.
    fn clock(&self) -> ClockId {
        ClockId::UNKNOWN
    }
}

/// The future's output, unless this is ready before.
pub(crate) async fn before<F: Future>(future: F, mut cut: Option<Sleep>) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        match cut.as_mut().map(|cut| cut.as_mut().poll(context)) {
            Some(Poll::Ready(())) => Poll::Ready(None),
            Some(Poll::Pending) | None => Poll::Pending,
        }
    })
    .await
}

/// Wakes a parked thread.
pub(crate) struct Unpark(pub Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
