//! How is a call told to give up?

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::alarms::wake_all;

/// A handle that ends calls from elsewhere: another thread, another task, a shutdown.
///
/// Clones are one handle. Asking it takes no lock.
///
/// ```
/// use becalm::Cancel;
/// let cancel = Cancel::new();
/// let handle = cancel.clone(); // to a supervisor
/// handle.cancel();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    listeners: Mutex<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners {
    next: u64,
    wakers: Vec<(u64, Waker)>,
}

impl Cancel {
    /// A handle that nobody has cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels, for good: waits end, and no further attempt starts.
    ///
    /// It wakes all who listen. One whose waker panics takes nothing from the others.
    pub fn cancel(&self) {
        self.state.cancelled.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut self.listeners().wakers);
        wake_all(wakers.into_iter().map(|(_, waker)| waker));
    }

    /// Whether somebody has cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.state.cancelled.load(Ordering::SeqCst)
    }

    /// A future that ends when somebody cancels, at once if that has happened. It owns its handle.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use becalm::Cancel;
    /// let cancel = Cancel::new();
    /// let shutdown = tokio::spawn(cancel.cancelled());
    /// cancel.cancel();
    /// assert!(shutdown.await.is_ok());
    /// # }
    /// ```
    pub fn cancelled(&self) -> Cancelled {
        Cancelled {
            cancel: self.clone(),
            id: None,
        }
    }

    /// Wakes this waker on cancellation, once, for as long as the listener lives; at once if
    /// somebody has cancelled. For drivers that poll nothing else.
    pub fn listen(&self, waker: &Waker) -> impl Drop + use<> {
        let mut listening = self.cancelled();
        if listening.poll_with(waker).is_ready() {
            waker.wake_by_ref();
        }
        listening
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        let listeners = self.state.listeners.lock();
        listeners.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The future of [`Cancel::cancelled`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Cancelled {
    cancel: Cancel,
    id: Option<u64>,
}

impl Cancelled {
    pub(crate) fn poll_with(&mut self, waker: &Waker) -> Poll<()> {
        if self.cancel.is_cancelled() {
            return Poll::Ready(());
        }
        // A waker that is cloned or dropped may run anything: never under the lock.
        let mut waker = waker.clone();
        let mut listeners = self.cancel.listeners();
        let known = self.id.and_then(|own| {
            let mut wakers = listeners.wakers.iter_mut();
            wakers.find(|(id, _)| *id == own)
        });
        if let Some((_, known)) = known {
            std::mem::swap(known, &mut waker);
            drop(listeners);
            drop(waker);
        } else {
            listeners.next += 1;
            let id = listeners.next;
            listeners.wakers.push((id, waker));
            drop(listeners);
            self.id = Some(id);
        }
        // Who cancelled in between may have looked before this waker was there.
        if self.cancel.is_cancelled() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.poll_with(context.waker())
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        let Some(own) = self.id else {
            return;
        };
        let mut listeners = self.cancel.listeners();
        let mut wakers = listeners.wakers.iter();
        let at = wakers.position(|(id, _)| *id == own);
        let left = at.map(|at| listeners.wakers.swap_remove(at));
        drop(listeners);
        drop(left);
    }
}
