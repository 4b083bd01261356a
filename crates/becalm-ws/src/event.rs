//! What is told of a socket while it lives?

use std::time::Duration;

use becalm::StopReason;
use tokio_tungstenite::tungstenite::Message;

use crate::Ended;

/// A thing that has happened to a socket.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A dial begins: its number since the last healthy connection, as the policy counts attempts.
    Dials(u32),
    /// A connection is open.
    Opened,
    /// A connection has ended, or a dial has failed.
    Ended(&'a Ended),
    /// It dials again after this wait.
    Waits(Duration),
    /// It does not dial again by itself.
    GaveUp(StopReason),
    /// This message is not sent: newer ones have driven it out, or it is longer than a message may be.
    Dropped(&'a Message),
    /// It is closed.
    Closed,
}
