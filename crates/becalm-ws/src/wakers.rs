//! Who is woken when something happens on a connection whose halves may be polled by two tasks?

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// The tasks that poll a connection as a stream and as a sink. What wakes it wakes both, whichever has polled last.
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    tasks: Mutex<[Option<Waker>; 2]>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Half {
    Stream,
    Sink,
}

impl Wakers {
    pub fn set(&self, half: Half, waker: &Waker) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let known = tasks[half as usize].as_ref();
        if known.is_some_and(|known| known.will_wake(waker)) {
            return;
        }
        let old = tasks[half as usize].replace(waker.clone());
        drop(tasks);
        drop(old);
    }

    pub fn wake_all(&self) {
        self.wake_half(Half::Stream);
        self.wake_half(Half::Sink);
    }

    pub fn wake_half(&self, half: Half) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tasks[half as usize].take();
        drop(tasks);
        task.into_iter().for_each(Waker::wake);
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
