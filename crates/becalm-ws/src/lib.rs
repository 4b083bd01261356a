//! WebSockets that outlive their connections.
//!
//! A [`WebSocket`] is a `Stream` and a `Sink` that dials again whenever its connection is lost, as [`becalm::reconnect`]
//! decides: with full jitter, one timer, the server's own word, and a count that begins anew only when a connection has
//! proved healthy.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use becalm_ws::{Client, StreamExt};
//!
//! let mut prices = Client::new("wss://feed.example/prices".parse()?).open()?;
//! while let Some(message) = prices.next().await {
//!     println!("{}", message?); // an error is the end: it gave up
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What it promises, and what not
//!
//! - **At most once**: a message is handed to one connection. What that connection has taken may be lost with it. What
//!   waits for a connection stays, within a [bound of bytes](Client::outbox), and what is dropped there is
//!   [told](Event::Dropped).
//! - **Exactly once**, with [`Client::resume`] and a server that keeps [sessions](session): what a connection has lost is sent
//!   again with the next. Where a session cannot go on, [`Event::Cold`] says why, before any message.
//! - **Half-open connections** are found: where nothing comes for a while it pings, and where nothing comes then the
//!   connection is [lost](Ended::Silent).
//! - **Nothing runs by itself**: as with any stream, it dials, reads and answers pings while it is polled. Give it to a task, and
//!   talk to it through a [`Handle`].
//!
//! # Servers
//!
//! `server` (feature `server`; `tower` and `axum` for HTTP servers) lets a herd in at the rate that it can take, and leaves without
//! making one. Where such a server, or another that speaks as it does, tells this client when to come back and with which
//! ticket, the client does so.
//!
//! # TLS
//!
//! `wss://` needs a feature: `rustls-native-roots` or `rustls-webpki-roots`. Where the program has chosen no cryptography for
//! rustls, ring's is taken. Your own certificate authorities come with `Client::connector`. All sockets of one [`Client`] share
//! their authorities and what they remember of TLS, so that a dial resumes what an earlier one has negotiated.

#![forbid(unsafe_code)]

mod at_once;
mod client;
mod dial;
mod ended;
mod event;
mod handle;
mod heartbeat;
mod open;
mod outbox;
#[cfg(feature = "server")]
pub mod server;
pub mod session;
mod socket;
#[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
mod tls;
mod wakers;
mod watched;
mod websocket;

pub use becalm::reconnect::Reconnect;
pub use becalm::{self, Policy, StopReason};
pub use client::{Client, Dialling};
pub use ended::{Ended, GaveUp};
pub use event::Event;
pub use futures_util::{SinkExt, StreamExt};
pub use handle::{Handle, State};
pub use heartbeat::Heartbeat;
pub use outbox::{Overflow, Refused};
#[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
pub use tokio_tungstenite::Connector;
pub use tokio_tungstenite::tungstenite::{
    self, ClientRequestBuilder, Message, Utf8Bytes,
    protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
};
pub use watched::{Broken, Watched};
pub use websocket::WebSocket;
