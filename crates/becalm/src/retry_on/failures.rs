//! What has failed, in the words that a policy may list?

use alloc::vec::Vec;
use core::fmt;

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

/// What a driver knows of a failure, for [`RetryOn`](super::RetryOn) to look it up.
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

/// A set of kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Failures(u8);

impl Failures {
    /// Adds a kind.
    #[must_use]
    pub const fn and(self, kind: FailureKind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether this kind is one of them.
    pub const fn contains(self, kind: FailureKind) -> bool {
        self.0 >> kind as u8 & 1 == 1
    }

    /// All of them, in the order of [`FailureKind::ALL`].
    pub fn iter(self) -> impl Iterator<Item = FailureKind> {
        let all = FailureKind::ALL.iter().copied();
        all.filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<FailureKind> for Failures {
    fn from_iter<T: IntoIterator<Item = FailureKind>>(kinds: T) -> Self {
        kinds.into_iter().fold(Self::default(), Self::and)
    }
}

/// The words, as in `connect, timeout`.
impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.iter().map(FailureKind::as_str).collect();
        f.write_str(&words.join(", "))
    }
}
