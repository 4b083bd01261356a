//! Who is woken when something happens on a connection whose halves may be polled by two tasks?

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// The tasks that poll a connection as a stream and as a sink. What wakes it wakes both, whichever has polled last.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    pollers: Mutex<[Poller; 2]>,
    /// Since the stream was polled.
    was_woken: AtomicBool,
}

/// A half of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Stream,
    Sink,
}

/// A task that polls a half. Its waker stays when it waits no longer: most often it is the one of the next time.
#[derive(Debug, Default)]
pub(crate) struct Poller {
    waker: Option<Waker>,
    pub is_waiting: bool,
}

impl Poller {
    /// It waits; what is returned is to be dropped without the lock.
    pub fn wait(&mut self, waker: &Waker) -> Option<Waker> {
        self.is_waiting = true;
        let is_known = |known: &Waker| known.will_wake(waker);
        if self.waker.as_ref().is_some_and(is_known) {
            return None;
        }
        self.waker.replace(waker.clone())
    }

    /// Who is to be woken, if it waits.
    pub fn take(&mut self) -> Option<Waker> {
        if !mem::take(&mut self.is_waiting) {
            return None;
        }
        self.waker.clone()
    }
}

impl Wakers {
    pub fn set(&self, half: Half, waker: &Waker) {
        let old = self.with(|pollers| pollers[half as usize].wait(waker));
        drop(old);
    }

    /// The stream is polled.
    pub fn begin(&self) {
        self.was_woken.store(false, Ordering::Release);
    }

    /// What the stream was polled for is not there.
    pub fn wait_for_stream(&self, waker: &Waker) {
        self.set(Half::Stream, waker);
        // It may have woken before anybody waited.
        if self.was_woken.load(Ordering::Acquire) {
            waker.wake_by_ref();
        }
    }

    pub fn wake_all(&self) {
        self.was_woken.store(true, Ordering::Release);
        let woken = self.with(|[stream, sink]| [stream.take(), sink.take()]);
        woken.into_iter().flatten().for_each(Waker::wake);
    }

    pub fn wake_half(&self, half: Half) {
        self.was_woken.store(true, Ordering::Release);
        let woken = self.with(|pollers| pollers[half as usize].take());
        woken.into_iter().for_each(Waker::wake);
    }

    fn with<T>(&self, change: impl FnOnce(&mut [Poller; 2]) -> T) -> T {
        change(&mut self.pollers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_all();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_all();
    }
}
