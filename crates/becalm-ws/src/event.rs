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
    /// This message is not sent: newer ones have driven it out, it is longer than a message may be, the socket is closed, or it is not to
    /// [go over](crate::Client::carries) the session that begins.
    Dropped(&'a Message),
    /// The connection goes on with the [session](crate::session): nothing was lost, nothing comes twice.
    Resumed,
    /// The connection begins a new session. What the one before had sent may be [unconfirmed](Self::Unconfirmed): that was told just before. Send
    /// again what of it is still wanted. What no connection was given goes over the new session, unless
    /// [`Client::carries`](crate::Client::carries) says otherwise: then it was [dropped](Self::Dropped).
    Cold(Cold),
    /// This message was sent, and its receipt was never confirmed: the peer has it or not, and it is not sent again. Without a
    /// session it is one that a connection was given, and that broke before all was written. Of what was written nothing is known.
    Unconfirmed(&'a Message),
    /// It is closed.
    Closed,
}
