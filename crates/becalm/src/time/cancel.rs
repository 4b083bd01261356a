//! How is a call told to give up?

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Instant;
use super::alarms::{Alarms, Waiting};

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
    cancelled: Arc<AtomicBool>,
    listeners: Arc<Alarms>,
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
        self.cancelled.store(true, Ordering::SeqCst);
        self.listeners.wake_due(Instant::NEVER);
    }

    /// Whether somebody has cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
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
            cancelled: Arc::clone(&self.cancelled),
            waiting: Waiting::new(Arc::clone(&self.listeners), Instant::NEVER),
        }
    }

    /// Wakes this waker on cancellation, once, for as long as the listener lives; at once if
    /// somebody has cancelled. For drivers that poll nothing else.
    pub fn listen(&self, waker: &Waker) -> Cancelled {
        let mut listening = self.cancelled();
        if listening.poll_with(waker).is_ready() {
            waker.wake_by_ref();
        }
        listening
    }
}

/// The future of [`Cancel::cancelled`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Cancelled {
    cancelled: Arc<AtomicBool>,
    waiting: Waiting<Arc<Alarms>>,
}

impl Cancelled {
    pub(crate) fn poll_with(&mut self, waker: &Waker) -> Poll<()> {
        if self.cancelled.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        self.waiting.wake(waker);
        // Who cancelled in between may have looked before this waker was there.
        if self.cancelled.load(Ordering::SeqCst) {
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
