//! Does a connection go on with the session, and if not, why?

use std::fmt;

/// How a connection has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Began {
    /// The session goes on: nothing was lost, nothing comes twice.
    Resumed,
    /// The session is new: whatever stood on an earlier one has to be told anew.
    Cold(Cold),
}

/// Why a session is new, or over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cold {
    /// There was none before.
    New,
    /// The server knows no such session, and no longer knows whether there was one.
    Unknown,
    /// The session was without a connection for too long.
    Expired,
    /// The session made room for others.
    Evicted,
    /// The session belongs to another user. It goes on without this connection.
    WrongUser,
    /// What one side has received and what the other keeps do not meet: one of them was set back to an older state.
    Gap,
    /// The server's sessions are of another epoch: it was restarted without them, or has begun a new one.
    Epoch,
    /// A later connection of the session was there before: this one was delayed, or two clients share one session. It goes on
    /// without this connection.
    Superseded,
    /// The session was resumed many times and the same message never came through, as one that is too long for something on
    /// the way. It is not sent for ever.
    Stuck,
    /// The session was ended, by the application of either side.
    Ended,
    /// One side has broken the rules of the envelope.
    Protocol,
}

const ALL: [Cold; 11] = [
    Cold::New,
    Cold::Unknown,
    Cold::Expired,
    Cold::Evicted,
    Cold::WrongUser,
    Cold::Gap,
    Cold::Epoch,
    Cold::Superseded,
    Cold::Stuck,
    Cold::Ended,
    Cold::Protocol,
];

impl Cold {
    /// Its code in the envelope: 0 to 10, in the order of the variants above.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The reason with this code. One that a later version has added is [`Unknown`](Self::Unknown): it means the same to do.
    pub fn from_code(code: u8) -> Self {
        ALL.get(usize::from(code)).copied().unwrap_or(Self::Unknown)
    }
}

impl fmt::Display for Cold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::New => "there was no session before",
            Self::Unknown => "the server does not know the session",
            Self::Expired => "the session was without a connection for too long",
            Self::Evicted => "the session has made room for others",
            Self::WrongUser => "the session belongs to another user",
            Self::Gap => "what was received and what is kept do not meet",
            Self::Epoch => "the server has begun a new epoch",
            Self::Superseded => "a later connection of the session came first",
            Self::Stuck => "the same message was sent many times and never came through",
            Self::Ended => "the session was ended",
            Self::Protocol => "the rules of the envelope were broken",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back() {
        for (code, cold) in (0..).zip(ALL) {
            assert_eq!((cold.code(), Cold::from_code(code)), (code, cold));
        }
        assert_eq!(Cold::from_code(200), Cold::Unknown);
    }
}
