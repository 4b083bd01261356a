//! How is a blocking call told to give up?

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A handle that ends the waits of blocking calls from another thread.
///
/// ```
/// use becalm::Cancel;
/// let cancel = Cancel::new();
/// let handle = cancel.clone(); // to a signal handler, a supervisor
/// handle.cancel();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    cancelled: bool,
    next: u64,
    listeners: Vec<(u64, Waker)>,
}

impl Cancel {
    /// A handle that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels, for good: waits end, and no further attempt starts.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.cancelled = true;
        let listeners = std::mem::take(&mut state.listeners);
        drop(state);
        for (_, waker) in listeners {
            waker.wake();
        }
    }

    /// Whether anybody has cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Wakes this waker on cancellation, at once if that has been, for as long as the listener
    /// lives. For a
    /// [`Sleeper`](super::Sleeper) of your own.
    pub fn listen(&self, waker: &Waker) -> Listening {
        let mut state = self.state();
        state.next += 1;
        let id = state.next;
        state.listeners.push((id, waker.clone()));
        let is_too_late = state.cancelled;
        drop(state);
        if is_too_late {
            waker.wake_by_ref();
        }
        Listening {
            cancel: self.clone(),
            id,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A waker that is woken on cancellation, as long as this lives: see [`Cancel::listen`].
#[derive(Debug)]
#[must_use = "dropped, it is woken no more"]
pub struct Listening {
    cancel: Cancel,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.cancel
            .state()
            .listeners
            .retain(|(id, _)| *id != self.id);
    }
}
