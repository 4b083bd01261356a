//! What does a proxy stand in front of?

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Where it is, and what is said to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upstream {
    /// Tried in this order: those of [`super::allowed::Pinned`].
    pub addresses: Vec<SocketAddr>,
    pub speaks: Speaks,
}

/// What is said over a proxy's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speaks {
    /// HTTP/1 or HTTP/2 without TLS: a request is what is broken.
    Http,
    /// Anything, TLS too: a connection, or what comes on it at once, is what is broken.
    Bytes,
}
