//! What is told of a socket while it lives?

use std::time::Duration;

use becalm::StopReason;
use tokio_tungstenite::tungstenite::Message;

use crate::Ended;
use crate::session::Cold;

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
    /// The connection goes on with the [session](crate::session): nothing was lost, nothing comes twice.
    Resumed,
    /// The connection begins a new session. What waited for the one before is [dropped](Self::Dropped) and what it had sent may be
    /// [unconfirmed](Self::Unconfirmed): that was told just before. Send again what is still wanted.
    Cold(Cold),
    /// This message was sent, and its receipt was never confirmed: the peer has it or not, and it is not sent again.
    Unconfirmed(&'a Message),
    /// It is closed.
    Closed,
}
