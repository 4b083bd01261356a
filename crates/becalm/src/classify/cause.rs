//! What has failed, in the words that drivers tell and a policy may list?

use crate::names::names;

names! {
    /// A kind of failure without an answer that counts.
    FailureKind: "failure";
    /// There is no connection: refused, unreachable, a name without address, a handshake that failed. Nothing was sent.
    Connect = "connect";
    /// No connection in time. Nothing was sent.
    ConnectTimeout = "connect-timeout";
    /// The server says that it has not processed the request: `REFUSED_STREAM`, or a `GOAWAY` that names an earlier
    /// stream as the last (RFC 9113 section 8.7).
    RefusedStream = "refused-stream";
    /// The connection ended before the whole answer was there.
    Reset = "reset";
    /// No answer in time: an attempt time-out, the policy's or the client's own.
    TimedOut = "timeout";
    /// What came is no answer of the protocol.
    InvalidAnswer = "invalid-answer";
    /// The other side asks for less load, whatever its status or code: every failure of the class `throttled`.
    Throttled = "throttled";
}

#[cfg(feature = "std")]
impl FailureKind {
    /// What an IO error of this kind is.
    pub(crate) fn of_io(kind: std::io::ErrorKind) -> Option<Self> {
        use std::io::ErrorKind as Io;
        match kind {
            Io::ConnectionRefused
            | Io::AddrNotAvailable
            | Io::HostUnreachable
            | Io::NetworkUnreachable
            | Io::NetworkDown => Some(Self::Connect),
            Io::ConnectionReset
            | Io::ConnectionAborted
            | Io::BrokenPipe
            | Io::NotConnected
            | Io::UnexpectedEof => Some(Self::Reset),
            Io::TimedOut => Some(Self::TimedOut),
            Io::InvalidData => Some(Self::InvalidAnswer),
            _ => None,
        }
    }
}

/// What a driver knows of a failure, for [`RetryOn`](crate::retry_on::RetryOn) to look it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// An answer of HTTP with this status.
    Status(u16),
    /// The end of a call of gRPC with this code.
    Code(u8),
    /// No answer.
    Kind(FailureKind),
}
