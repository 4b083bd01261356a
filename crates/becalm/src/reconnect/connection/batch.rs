//! How many commands may hold a connection at once? Any number, unless one after another is cut under them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::time::Everybody;

/// The commands that hold one connection.
#[derive(Debug)]
pub(super) struct Holders {
    now: AtomicUsize,
    /// Those that have let go of it.
    served: AtomicUsize,
    /// Those that wait for a place.
    waiting: Everybody,
}

/// A command's place on a connection.
#[derive(Debug)]
pub(super) struct Place {
    holders: Arc<Holders>,
    /// Somebody may wait for it.
    is_wanted: bool,
}

/// The largest batch of commands: any number, until two connections in a row were cut before either had proved healthy.
/// Then half of those that were in flight, and half of those at the next cut. It grows by one with each batch that is
/// served, and a healthy connection lifts it.
#[derive(Debug, Default)]
pub(super) struct Batch {
    cuts: u32,
    most: Option<usize>,
}

impl Holders {
    pub fn new(waiting: &Everybody) -> Arc<Self> {
        Arc::new(Self {
            now: AtomicUsize::new(0),
            served: AtomicUsize::new(0),
            waiting: waiting.clone(),
        })
    }

    fn now(&self) -> usize {
        self.now.load(Ordering::Relaxed)
    }
}

impl Batch {
    /// Whether commands may have to wait for a place.
    pub fn is_bounded(&self) -> bool {
        self.most.is_some()
    }

    /// A place, if there is one. One at a time asks.
    pub fn place(&mut self, holders: &Arc<Holders>) -> Option<Place> {
        if let Some(most) = &mut self.most {
            if holders.served.load(Ordering::Relaxed) >= *most {
                holders.served.store(0, Ordering::Relaxed);
                *most += 1;
            }
            if holders.now() >= *most {
                return None;
            }
        }
        holders.now.fetch_add(1, Ordering::Relaxed);
        Some(Place {
            holders: Arc::clone(holders),
            is_wanted: self.is_bounded(),
        })
    }

    /// A connection was cut under those that held it.
    pub fn cut(&mut self, holders: &Holders) {
        let commands = holders.now();
        if commands == 0 {
            return; // idle: nothing was lost with it
        }
        self.cuts = self.cuts.saturating_add(1);
        if self.cuts > 1 {
            self.most = Some((commands / 2).max(1));
        }
    }

    /// A connection has proved healthy.
    pub fn lift(&mut self) {
        *self = Self::default();
    }
}

impl Clone for Place {
    fn clone(&self) -> Self {
        self.holders.now.fetch_add(1, Ordering::Relaxed);
        Self {
            holders: Arc::clone(&self.holders),
            is_wanted: self.is_wanted,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.holders.now.fetch_sub(1, Ordering::Relaxed);
        self.holders.served.fetch_add(1, Ordering::Relaxed);
        if self.is_wanted {
            // One for the place, and one in case that the batch has grown.
            self.holders.waiting.wake_first(2);
        }
    }
}
