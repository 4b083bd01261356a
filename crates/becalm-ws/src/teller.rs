//! What if the observer of the application panics? It is told all that follows, and the panic goes on when the socket has done its step.

use std::any::Any;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::Event;
use crate::settings::Settings;

/// The settings of one socket, whose observer and hooks may panic.
pub(crate) struct Teller {
    client: Arc<Settings>,
    /// The first panic that has not gone on.
    panicked: Option<Box<dyn Any + Send>>,
}

impl Teller {
    pub fn new(client: Arc<Settings>) -> Self {
        let panicked = None;
        Self { client, panicked }
    }

    pub fn settings(&self) -> &Arc<Settings> {
        &self.client
    }

    pub fn tell(&mut self, event: Event<'_>) {
        let client = Arc::clone(&self.client);
        if let Some(observer) = &client.observer {
            self.caught(|| observer(event));
        }
    }

    /// What a hook answers; nothing where it panics.
    pub fn caught<T>(&mut self, hook: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(hook)) {
            Ok(answer) => Some(answer),
            Err(panic) => {
                self.panicked.get_or_insert(panic);
                None
            }
        }
    }

    pub fn has_panicked(&self) -> bool {
        self.panicked.is_some()
    }

    /// A panic goes on: to the task that polls the socket.
    pub fn go_on(&mut self) {
        if let Some(panic) = self.panicked.take() {
            resume_unwind(panic);
        }
    }
}

impl Deref for Teller {
    type Target = Settings;

    fn deref(&self) -> &Settings {
        &self.client
    }
}
