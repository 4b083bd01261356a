//! Is there room for more among all sessions, and who waits for it?

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::task::Waker;

use super::directory::Shared;

impl Shared {
    pub fn starve(&self, waker: &Waker) {
        let mut starved = self.starved.lock().unwrap_or_else(PoisonError::into_inner);
        if !starved.iter().any(|starved| starved.will_wake(waker)) {
            starved.push(waker.clone());
        }
        self.starving.store(starved.len(), Ordering::SeqCst);
    }

    /// Whether there is room to read on before the application has taken what has come. If not, this task knows when there is.
    pub fn reads_ahead(&self, waker: &Waker) -> bool {
        let has_room = || {
            let ahead = self.ahead.load(Ordering::SeqCst);
            self.bytes.load(Ordering::SeqCst).saturating_add(ahead) < self.settings.bytes
        };
        has_room() || {
            self.starve(waker);
            // Freed between the two.
            has_room()
        }
    }

    /// So much has come.
    pub fn came(&self, bytes: usize) {
        self.ahead.fetch_add(bytes, Ordering::SeqCst);
    }

    /// So much of that was given to the application.
    pub fn given(&self, bytes: usize) {
        self.ahead.fetch_sub(bytes, Ordering::SeqCst);
        self.wake_starved();
    }

    /// These bytes are kept no more.
    pub fn free(&self, bytes: usize) {
        if bytes > 0 {
            self.bytes.fetch_sub(bytes, Ordering::SeqCst);
            self.wake_starved();
        }
    }

    pub fn wake_starved(&self) {
        if self.starving.load(Ordering::SeqCst) > 0 {
            let mut starved = self.starved.lock().unwrap_or_else(PoisonError::into_inner);
            let woken = std::mem::take(&mut *starved);
            self.starving.store(0, Ordering::SeqCst);
            drop(starved);
            woken.into_iter().for_each(Waker::wake);
        }
    }
}
