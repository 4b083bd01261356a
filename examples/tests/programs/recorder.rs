//! What did a retrier tell its observer?

use std::sync::mpsc::{Receiver, Sender, channel};

use becalm::observe::{About, Event, Observer};

/// Sends every event, as its `Debug` shows it.
pub struct Recorder(Sender<String>);

impl Recorder {
    /// An observer, and what it is told.
    pub fn new() -> (Self, Receiver<String>) {
        let (events, told) = channel();
        (Self(events), told)
    }
}

impl Observer for Recorder {
    fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
        // The test may have ended.
        let _ = self.0.send(format!("{event:?}"));
    }
}
