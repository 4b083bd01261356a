//! Why is a connection of a session over?

use std::fmt;

use becalm::support::unsaid;

use super::slot::Fenced;
use super::{Cold, ProtocolError};
use crate::Refused;

/// Why a connection of a session is over, or took no message.
#[derive(Debug)]
#[non_exhaustive]
pub enum Lost<E> {
    /// The WebSocket has failed.
    Wire(E),
    /// It ended before it said hello, or took too long for that.
    NoHello,
    /// The client has broken the rules of the envelope. The session is over.
    Protocol(ProtocolError),
    /// The client has taken messages and confirmed none of them [in time](super::SessionSettings::confirm_within).
    Unconfirmed,
    /// A later connection has taken the session over.
    TakenOver,
    /// The session is over.
    Over(Cold),
    /// This connection is over; the message may have another.
    Gone,
    /// A message was not taken.
    Refused(Refused),
}

impl<E: fmt::Display> fmt::Display for Lost<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) => write!(f, "the WebSocket has failed: {error}"),
            Self::NoHello => f.write_str("the client has not said hello"),
            Self::Protocol(error) => write!(f, "the client has broken the rules: {error}"),
            Self::Unconfirmed => f.write_str("the client has confirmed nothing in time"),
            Self::TakenOver => f.write_str("another connection has taken the session over"),
            Self::Over(why) => write!(f, "the session is over: {why}"),
            Self::Gone => f.write_str("the connection is over"),
            Self::Refused(refused) => write!(f, "a message was not taken: {refused}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Lost<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Wire(error) => unsaid(self, error),
            _ => None,
        }
    }
}

impl<E> From<ProtocolError> for Lost<E> {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl<E> From<Fenced> for Lost<E> {
    fn from(fenced: Fenced) -> Self {
        match fenced {
            Fenced::TakenOver => Self::TakenOver,
            Fenced::Over(why) => Self::Over(why),
        }
    }
}
