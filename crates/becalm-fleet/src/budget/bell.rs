//! How is it said that there is something to look at?

use core::task::Waker;
use std::sync::{Mutex, PoisonError};

/// Tells the future that there is something to look at.
#[derive(Debug, Default)]
pub(super) struct Bell(Mutex<Rung>);

#[derive(Debug, Default)]
struct Rung {
    is_rung: bool,
    listens: Option<Waker>,
}

impl Bell {
    pub fn ring(&self) {
        let mut rung = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rung.is_rung = true;
        let listens = rung.listens.take();
        drop(rung);
        if let Some(waker) = listens {
            waker.wake();
        }
    }

    /// Whether it has rung since it was last asked; if not, it wakes this when it does.
    pub fn has_rung(&self, waker: &Waker) -> bool {
        let mut rung = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if core::mem::take(&mut rung.is_rung) {
            return true;
        }
        rung.listens = Some(waker.clone());
        false
    }
}
