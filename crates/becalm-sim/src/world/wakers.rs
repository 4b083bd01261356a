//! How does a guard's wake reach the event loop? Each waiting call has a waker that writes its
//! place into a list, which is read after each event.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Calls that were woken and have not been polled since.
#[derive(Debug, Clone, Default)]
pub(super) struct Woken(Arc<List>);

#[derive(Debug, Default)]
struct List {
    is_some: AtomicBool,
    calls: Mutex<Vec<u32>>,
}

struct CallWaker {
    call: u32,
    list: Arc<List>,
}

impl Wake for CallWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut calls = self
            .list
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        calls.push(self.call);
        self.list.is_some.store(true, Ordering::Relaxed);
    }
}

impl Woken {
    /// The waker of the call in this place.
    pub fn waker(&self, call: u32) -> Waker {
        Waker::from(Arc::new(CallWaker {
            call,
            list: Arc::clone(&self.0),
        }))
    }

    /// Whether anybody was woken.
    #[inline]
    pub fn is_some(&self) -> bool {
        self.0.is_some.load(Ordering::Relaxed)
    }

    /// Takes all out, in the order in which they were woken.
    pub fn drain(&self, mut each: impl FnMut(u32)) {
        let mut calls = self.0.calls.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.is_some.store(false, Ordering::Relaxed);
        calls.drain(..).for_each(&mut each);
    }
}
