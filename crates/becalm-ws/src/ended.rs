//! Why is there no connection, and what does that mean for dialling again?

use std::error::Error as StdError;
use std::fmt;

use becalm::classify::websocket::classify_close;
use becalm::classify::{Class, connect};
use becalm::support::to_the_root;
use becalm::{Failure, StopReason};
use becalm_admission::{Advice, TICKET_HEADER};
use tokio_tungstenite::tungstenite::{Error, http::HeaderMap, protocol::CloseFrame};

use crate::Answer;
use crate::answer::by_default;
use crate::protocol_error::ProtocolError;

/// Why a connection has ended, or has not come about.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended {
    /// The provider has named no endpoint.
    NoEndpoint(Box<dyn StdError + Send + Sync>),
    /// The dial took too long, from the connection to the end of the handshake.
    TooLate,
    /// There was no connection, or no handshake.
    Handshake(Box<Error>),
    /// The peer closed it, with a code or without.
    Closed(Option<CloseFrame>),
    /// It broke; `None` if it ended without a word.
    Broken(Option<Box<Error>>),
    /// Nothing came any more, not even an answer to a ping.
    Silent,
    /// The peer has broken the rules of the session, or knows of none.
    Session(ProtocolError),
}

/// It does not dial again by itself: [`dial_now`](crate::Handle::dial_now) does.
#[derive(Debug)]
#[non_exhaustive]
pub struct GaveUp {
    /// The reason.
    pub reason: StopReason,
    /// How the last connection ended.
    pub ended: Ended,
}

impl Ended {
    /// What that means, by the tables of [`becalm::classify`] but for the close codes and the answers to handshakes, which are judged
    /// so. The address has worked before, or not.
    pub(crate) fn meaning(
        &self,
        closing: impl Fn(u16, &str) -> Failure,
        answering: impl Fn(&Answer<'_>) -> Failure,
        worked_before: bool,
    ) -> Failure {
        let mut failure = self.class(closing, answering, worked_before);
        if let Some(advice) = self.advice() {
            if failure.class != Class::Permanent {
                failure.hint = Some(advice.hint());
            }
        }
        failure
    }

    /// When to come back, and with which ticket, by the word of a server that admits by appointment.
    pub(crate) fn advice(&self) -> Option<Advice> {
        match self {
            Self::Closed(Some(frame)) => frame.reason.parse().ok(),
            Self::Handshake(error) => match &**error {
                Error::Http(answer) => advised(answer.headers()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it is the end at an address that never worked, and not at one that did.
    pub(crate) fn is_doubtful(&self) -> bool {
        let Self::Handshake(error) = self else {
            return false;
        };
        let is_the_end =
            |worked_before| handshake(error, worked_before, by_default).class == Class::Permanent;
        is_the_end(false) && !is_the_end(true)
    }

    fn class(
        &self,
        closing: impl Fn(u16, &str) -> Failure,
        answering: impl Fn(&Answer<'_>) -> Failure,
        worked_before: bool,
    ) -> Failure {
        match self {
            Self::NoEndpoint(_) | Self::TooLate => Failure::transient().unsent(),
            Self::Handshake(error) => handshake(error, worked_before, answering),
            // tungstenite 0.30 hands on codes that it does not know, 1014 among them, as 1002 with this reason.
            Self::Closed(Some(frame))
                if u16::from(frame.code) == 1002
                    && frame.reason.as_str() == "Protocol violation" =>
            {
                classify_close(1014)
            }
            Self::Closed(Some(frame)) => closing(frame.code.into(), frame.reason.as_str()),
            Self::Closed(None) => closing(1005, ""),
            // What the peer has sent would be refused again.
            Self::Broken(Some(error)) if is_its_fault(error) => closing(1002, ""),
            Self::Session(_) => closing(1002, ""),
            Self::Broken(_) | Self::Silent => closing(1006, ""),
        }
    }

    /// Whether it is for the want of a login, which the provider may renew.
    pub(crate) fn wants_login(&self) -> bool {
        match self {
            Self::Handshake(error) => match &**error {
                Error::Http(answer) => matches!(answer.status().as_u16(), 401 | 407),
                _ => false,
            },
            _ => false,
        }
    }
}

/// Read as the reason of a close is, so that a ticket is what one may be.
fn advised(headers: &HeaderMap) -> Option<Advice> {
    let field = |name| headers.get(name)?.to_str().ok();
    let (wait, ticket) = (field("retry-after-ms")?, field(TICKET_HEADER)?);
    format!("retry-after-ms={wait}; ticket={ticket}")
        .parse()
        .ok()
}

fn handshake(
    error: &Error,
    worked_before: bool,
    answering: impl Fn(&Answer<'_>) -> Failure,
) -> Failure {
    let failure = match error {
        Error::Http(answer) => return answering(&Answer::of(answer, worked_before)),
        // No server was asked.
        Error::Url(_) | Error::HttpFormat(_) => return Failure::permanent().unsent(),
        Error::Io(_) | Error::Tls(_) => connect::classify(error),
        // A connection that was cut within the handshake.
        Error::Protocol(
            tokio_tungstenite::tungstenite::error::ProtocolError::HandshakeIncomplete,
        ) => Failure::transient().unsent(),
        // It is no WebSocket, or none of this subprotocol; a header is wrong.
        _ => Failure::permanent().unsent(),
    };
    // The door of a restart: a proxy's own certificate, a page in place of an upgrade.
    match failure.class {
        Class::Permanent if worked_before => Failure::transient().unsent(),
        _ => failure,
    }
}

fn is_its_fault(error: &Error) -> bool {
    matches!(
        error,
        Error::Capacity(_) | Error::Utf8(_) | Error::AttackAttempt
    )
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEndpoint(error) => write!(f, "no endpoint: {}", to_the_root(&**error)),
            Self::TooLate => f.write_str("the dial took too long"),
            Self::Handshake(error) => write!(f, "no handshake: {}", to_the_root(error)),
            Self::Closed(Some(frame)) => write!(f, "the peer closed it: {frame}"),
            Self::Closed(None) => f.write_str("the peer closed it"),
            Self::Broken(Some(error)) => write!(f, "it broke: {}", to_the_root(error)),
            Self::Broken(None) => f.write_str("it ended without a word"),
            Self::Silent => f.write_str("nothing came any more"),
            Self::Session(error) => write!(f, "the session broke: {error}"),
        }
    }
}

/// The sentence goes down to the root cause.
impl StdError for Ended {}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "gave up connecting because {}: {}",
            self.reason, self.ended
        )
    }
}

/// The sentence says how the last connection ended.
impl StdError for GaveUp {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_cause_is_in_the_sentence_once() {
        let refused = || std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let handshake = || Box::new(Error::Io(refused()));
        for ended in [
            Ended::NoEndpoint(handshake()),
            Ended::Handshake(handshake()),
            Ended::Broken(Some(handshake())),
        ] {
            let reason = StopReason::AttemptsExhausted;
            let gave_up = GaveUp { reason, ended };
            let sentence = gave_up.to_string();
            assert_eq!(
                sentence.matches("connection refused").count(),
                1,
                "{sentence}"
            );
            assert!(gave_up.source().is_none());
        }
    }
}
