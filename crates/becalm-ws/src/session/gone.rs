//! What is left of a session that is over?

use std::sync::Arc;

use tokio_tungstenite::tungstenite::Message;

use super::{Cold, SessionId};

/// A session that is over.
#[derive(Debug)]
#[non_exhaustive]
pub struct Gone {
    /// Its name.
    pub id: SessionId,
    /// The user that it was bound to.
    pub user: Arc<str>,
    /// The reason.
    pub why: Cold,
    /// What was sent over a connection and not confirmed: the client may have it or not.
    pub unconfirmed: Vec<Message>,
    /// What no connection was given.
    pub unsent: Vec<Message>,
}
