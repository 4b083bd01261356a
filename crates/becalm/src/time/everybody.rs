//! How does one event wake all who wait for it, and how does a future wake them, no matter which of them polls it?

use core::task::Waker;
use std::sync::Arc;
use std::task::Wake;

use super::Instant;
use super::alarms::{Alarms, Waiting};

/// All who wait for one thing. Clones are one.
#[derive(Debug, Clone)]
pub(crate) struct Everybody {
    alarms: Arc<Alarms>,
    waker: Waker,
}

/// One of them. Dropped, it is not woken.
pub(crate) struct OneOfAll(Waiting<Arc<Alarms>>);

impl Everybody {
    pub fn new() -> Self {
        let alarms = Arc::<Alarms>::default();
        let bell = Arc::new(Bell(Arc::clone(&alarms)));
        Self {
            alarms,
            waker: bell.into(),
        }
    }

    /// Wakes all, once each.
    pub fn wake(&self) {
        self.alarms.wake_due(Instant::ZERO);
    }

    /// Wakes at most this number, those that have waited longest.
    pub fn wake_first(&self, most: usize) {
        self.alarms.wake_first(Instant::ZERO, most);
    }

    /// What wakes all.
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// One more who waits.
    pub fn one(&self) -> OneOfAll {
        OneOfAll(Waiting::new(Arc::clone(&self.alarms), Instant::ZERO))
    }
}

impl OneOfAll {
    /// From here on, up to the next time that all are woken, this waker is woken and no other.
    pub fn wake(&mut self, waker: &Waker) {
        self.0.wake(waker);
    }
}

struct Bell(Arc<Alarms>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_due(Instant::ZERO);
    }
}
