//! What is a session called?

use std::fmt;
use std::str::FromStr;

use becalm::rng::{Random, Seed};

/// The header of an upgrade request that names the session which the client is about to resume: a hint for an admission that
/// lets those first who come back.
pub const HEADER: &str = "becalm-session";

/// The 128 bits that name a session. They are drawn from the operating system's entropy, and worth nothing to another user.
///
/// `Display` writes 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(u128);

impl SessionId {
    /// The id of these bits; `None` for zero, which on the wire means "no session".
    pub const fn from_u128(bits: u128) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }

    /// The bits.
    pub const fn as_u128(self) -> u128 {
        self.0
    }

    /// Each half is the first draw of a stream of its own, so that both have all the entropy there is.
    pub(super) fn draw(seed: &Seed) -> Self {
        let [high, low] = [seed.stream().next_u64(), seed.stream().next_u64()];
        Self((u128::from(high) << 64 | u128::from(low)).max(1))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The text is no session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a session id is 32 hexadecimal digits that are not all zero")
    }
}

impl std::error::Error for InvalidId {}

impl FromStr for SessionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let is_hex = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let bits = u128::from_str_radix(text, 16).ok().filter(|_| is_hex);
        bits.and_then(Self::from_u128).ok_or(InvalidId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_nothing_else_does() {
        let id = SessionId::draw(&Seed::entropy());
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_ne!(id, SessionId::draw(&Seed::entropy()));
        for text in [
            "",
            "7",
            "+0000000000000000000000000000001",
            "00000000000000000000000000000000",
            "g0000000000000000000000000000001",
            "000000000000000000000000000000001",
        ] {
            assert_eq!(text.parse::<SessionId>(), Err(InvalidId), "{text}");
        }
    }
}
