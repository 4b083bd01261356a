//! What do clients and servers of the drill say to each other? Numbers, so that each that is missing or comes twice is seen.
//!
//! A client sends 1, 2, 3 and so on; the server applies each, and answers with the same number. While a session of becalm-ws goes on,
//! that is all. Where none does, since the server keeps none or has forgotten it, nothing outlives a connection but the numbers: the
//! new one begins with what each side has (the client tells in its address, the server in its welcome), and each sends what the
//! other lacks, as a real application does.

use std::fmt;

/// What a client says of itself at every dial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guest {
    pub client: u32,
    /// The number of its dial. Without a session what it sends bears it, so that nothing that was meant for another connection counts
    /// on this one.
    pub dial: u32,
    /// The last answer that it has.
    pub answered: u64,
}

impl Guest {
    /// Reads the path of an address that is written by `Display`.
    pub fn of(path: &str) -> Option<Self> {
        let mut parts = path.strip_prefix('/')?.split('/');
        let guest = Self {
            client: parts.next()?.parse().ok()?,
            dial: parts.next()?.parse().ok()?,
            answered: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(guest)
    }
}

impl fmt::Display for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/{}/{}", self.client, self.dial, self.answered)
    }
}

/// What the server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The first on a connection without a session, or of a new one: the last number that it has applied.
    Welcome(u64),
    /// This number is applied.
    Applied(u64),
}

/// A number on its way to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub dial: u32,
    pub number: u64,
}

impl Answer {
    pub fn bytes(self) -> Vec<u8> {
        let (kind, number) = match self {
            Self::Welcome(number) => (0, number),
            Self::Applied(number) => (1, number),
        };
        [&[kind][..], &number.to_le_bytes()].concat()
    }

    pub fn of(bytes: &[u8]) -> Option<Self> {
        let (kind, number) = bytes.split_first()?;
        let number = u64::from_le_bytes(number.try_into().ok()?);
        match kind {
            0 => Some(Self::Welcome(number)),
            1 => Some(Self::Applied(number)),
            _ => None,
        }
    }
}

impl Sent {
    pub fn bytes(self) -> Vec<u8> {
        [&self.dial.to_le_bytes()[..], &self.number.to_le_bytes()].concat()
    }

    pub fn of(bytes: &[u8]) -> Option<Self> {
        let (dial, number) = bytes.split_first_chunk()?;
        Some(Self {
            dial: u32::from_le_bytes(*dial),
            number: u64::from_le_bytes(number.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let guest = Guest {
            client: 7,
            dial: 3,
            answered: 12,
        };
        assert_eq!(guest.to_string(), "/7/3/12");
        assert_eq!(Guest::of("/7/3/12"), Some(guest));
        for wrong in ["", "/", "/7/3", "/7/3/12/1", "/-7/3/12", "7/3/12"] {
            assert_eq!(Guest::of(wrong), None, "{wrong}");
        }
        for answer in [Answer::Welcome(0), Answer::Applied(u64::MAX)] {
            assert_eq!(Answer::of(&answer.bytes()), Some(answer));
        }
        let sent = Sent { dial: 3, number: 9 };
        assert_eq!(Sent::of(&sent.bytes()), Some(sent));
        assert_eq!((Answer::of(&[2; 9]), Sent::of(&[0; 11])), (None, None));
    }
}
