//! How may a peer break the rules of a session?

use std::fmt;

/// Of the envelope.
pub(crate) const VERSION: u8 = 1;

/// The peer has broken the rules of the envelope. It is not asked again: it would do the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The message is in no envelope.
    NoEnvelope,
    /// The client speaks another version of it.
    Version(u8),
    /// The message may not come at this point.
    OutOfPlace,
    /// The message is not the next one.
    Number {
        /// The next one.
        expected: u64,
        /// The one that came.
        came: u64,
    },
    /// The peer confirms what it was not sent.
    Confirms {
        /// The last that it was sent.
        sent: u64,
        /// The one that it confirms.
        came: u64,
    },
    /// The message is longer than it was told that a message may be.
    TooLong {
        /// Bytes that came.
        length: usize,
        /// Bytes that may come.
        longest: u32,
    },
    /// The text is not UTF-8.
    NotText,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEnvelope => f.write_str(
                "a message came in no envelope: sessions must be switched on at both ends, or at none",
            ),
            Self::Version(version) => write!(
                f,
                "the client speaks version {version} of the envelope, and this side version {VERSION}"
            ),
            Self::OutOfPlace => f.write_str("a message came that may not come at this point"),
            Self::Number { expected, came } => {
                write!(f, "message {came} came where {expected} was next")
            }
            Self::Confirms { sent, came } => {
                write!(f, "message {came} was confirmed where {sent} was the last one sent")
            }
            Self::TooLong { length, longest } => write!(
                f,
                "a message of {length} bytes came where {longest} are the most: raise the bound, or send less"
            ),
            Self::NotText => f.write_str("a text came that is not UTF-8"),
        }
    }
}

impl std::error::Error for ProtocolError {}
