//! How does a thread wait until it is woken?

use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Waker;
use core::time::Duration;
use std::sync::Arc;
use std::task::Wake;
use std::thread::Thread;

/// The thread that made it, waiting; its waker ends the wait, also one that begins later.
#[derive(Debug)]
pub struct Parker {
    state: Arc<State>,
    waker: Waker,
}

#[derive(Debug)]
struct State {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Parker {
    /// A parker of the thread that calls this. The engines make their own; for tests of a
    /// [`Sleeper`](super::Sleeper).
    #[expect(clippy::new_without_default, reason = "it belongs to one thread")]
    pub fn new() -> Self {
        let state = Arc::new(State {
            thread: std::thread::current(),
            is_woken: AtomicBool::new(false),
        });
        let waker = Arc::clone(&state).into();
        Self { state, waker }
    }

    /// What wakes the thread.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Blocks the thread until it is woken, or for this long. May end early.
    pub fn park(&self, longest: Option<Duration>) {
        if self.state.is_woken.swap(false, Ordering::Acquire) {
            return;
        }
        match longest {
            Some(longest) => std::thread::park_timeout(longest),
            None => std::thread::park(),
        }
        self.state.is_woken.store(false, Ordering::Relaxed);
    }
}

impl Wake for State {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
