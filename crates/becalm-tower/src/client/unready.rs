//! Why did the service below not become ready, when the caller asked before the call? The first attempt of the call has
//! failed so.

use std::any::Any;
use std::fmt;
use std::sync::Mutex;

/// An error of `poll_ready`, which is of the next call and of no clone. Its type depends on the request. For drivers.
#[derive(Default)]
pub struct Unready(Mutex<Option<Box<dyn Any + Send>>>);

impl Unready {
    /// Whether there is one.
    pub fn is_some(&mut self) -> bool {
        self.slot().is_some()
    }

    /// Keeps this one.
    pub fn set(&mut self, error: impl Any + Send) {
        *self.slot() = Some(Box::new(error));
    }

    /// Takes it, once.
    pub fn take<E: 'static>(&mut self) -> Option<E> {
        let error = self.slot().take()?.downcast().ok()?;
        Some(*error)
    }

    fn slot(&mut self) -> &mut Option<Box<dyn Any + Send>> {
        self.0
            .get_mut()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Clone for Unready {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unready").finish_non_exhaustive()
    }
}
