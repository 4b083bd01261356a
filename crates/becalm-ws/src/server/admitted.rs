//! Where does what was admitted wait for the handler of its request?

use std::sync::{Arc, Mutex, PoisonError};

use tokio_tungstenite::tungstenite::http::Extensions;

use super::Connection;
use super::admit::Admitted;

/// What was admitted, until the handler takes it.
#[derive(Debug, Clone)]
pub(crate) struct Place(Arc<Mutex<Option<Admitted>>>);

impl Place {
    pub fn of(admitted: Admitted) -> Self {
        Self(Arc::new(Mutex::new(Some(admitted))))
    }

    pub fn take(extensions: &Extensions) -> Option<Admitted> {
        let Self(place) = extensions.get()?;
        place.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Connection {
    /// The connection of a request that was admitted, to be kept beside a WebSocket of another library; `None` if it was not, or was
    /// taken. With axum it is an extractor.
    pub fn of(extensions: &Extensions) -> Option<Self> {
        Place::take(extensions).map(Self::new)
    }
}
