//! What would becalm have done to a command that it runs once, because its policy only observes?

use std::sync::{Arc, Mutex, PoisonError};

use becalm::observe::{About, Would};
use becalm::{Event, Observer};

/// What is told of the run, up to when it is [taken](Self::take). Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Observed(Arc<Mutex<Vec<Would>>>);

impl Observed {
    pub fn take(&self) -> Vec<Would> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *told)
    }
}

impl Observer for Observed {
    fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
        if let Event::Observed { would } = event {
            let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            told.push(*would);
        }
    }
}
