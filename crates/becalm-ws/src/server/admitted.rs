//! Where does what was admitted wait for the handler of its request?

use std::sync::{Arc, Mutex, PoisonError};

use tokio_tungstenite::tungstenite::http::Extensions;

use super::admit::Admitted;
use super::{Connection, Server};

/// What was admitted, until the handler takes it.
#[derive(Debug, Clone)]
pub(crate) struct Place(Arc<Mutex<Option<Admitted>>>);

impl Place {
    pub fn of(admitted: Admitted) -> Self {
        Self(Arc::new(Mutex::new(Some(admitted))))
    }

    /// The server that has admitted the request, if its handler has not taken that yet.
    pub fn server(&self) -> Option<Server> {
        let Self(place) = self;
        let place = place.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_ref().map(|admitted| admitted.server.clone())
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
