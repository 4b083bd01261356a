#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! A [`Client`] opens a [`WebSocket`], which dials as [`becalm::reconnect`] decides; a [`Handle`] speaks to it from elsewhere, and
//! [`Event`]s tell what happens. [`session`] is what outlives a connection; `server` is the other side.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod answer;
mod at_once;
mod carried;
mod client;
mod dial;
mod ended;
mod event;
mod handle;
mod heartbeat;
mod open;
mod outbox;
mod protocol_error;
#[cfg(feature = "server")]
pub mod server;
pub mod session;
mod settings;
mod socket;
mod teller;
#[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
mod tls;
mod trust;
mod unflushed;
mod wakers;
mod watched;
mod websocket;

pub use answer::Answer;
pub use becalm::reconnect::Reconnect;
pub use becalm::{self, Policy, StopReason};
pub use client::Client;
pub use ended::{Ended, GaveUp};
pub use event::Event;
pub use futures_util::{SinkExt, StreamExt};
pub use handle::{Handle, State};
pub use heartbeat::Heartbeat;
pub use outbox::{Overflow, Refused};
pub use settings::Dialling;
#[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
pub use tokio_tungstenite::Connector;
pub use tokio_tungstenite::tungstenite::{
    self, ClientRequestBuilder, Message, Utf8Bytes,
    protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
};
pub use watched::{Broken, Watched};
pub use websocket::WebSocket;
