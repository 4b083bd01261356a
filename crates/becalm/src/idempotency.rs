//! May an operation that perhaps took effect be repeated?

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use crate::reasons::reasons;

/// What repeating the operation would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Operation {
    /// Repeating it changes nothing more. What `retrier.retry` declares.
    #[default]
    Idempotent,
    /// Each attempt carries this key, by which the server recognises a repetition.
    Keyed(IdempotencyKey),
    /// Each attempt carries a key that the caller put there.
    KeyedByCaller,
    /// Repeating it may do it twice: repeated only when the last attempt proved
    /// [`Unsent`](crate::classify::Effect::Unsent).
    NotIdempotent,
}

impl Operation {
    /// Whether an attempt of unknown effect may be repeated.
    pub const fn is_repeatable(self) -> bool {
        !matches!(self, Self::NotIdempotent)
    }

    /// Whether each attempt carries a key.
    pub const fn is_keyed(self) -> bool {
        matches!(self, Self::Keyed(_) | Self::KeyedByCaller)
    }

    /// The key that becalm made for this call.
    pub const fn key(self) -> Option<IdempotencyKey> {
        match self {
            Self::Keyed(key) => Some(key),
            _ => None,
        }
    }
}

/// A key made once per call and the same on every attempt: a version 4 UUID (RFC 9562).
///
/// `Display` writes the hyphenated form. In an `Idempotency-Key` header it goes between double
/// quotes (a Structured Field string, draft-ietf-httpapi-idempotency-key-header-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    high: u64,
    low: u64,
}

impl IdempotencyKey {
    /// The key of these 128 bits, as they are.
    #[expect(clippy::cast_possible_truncation)] // the halves
    pub const fn from_u128(bits: u128) -> Self {
        Self {
            high: (bits >> 64) as u64,
            low: bits as u64,
        }
    }

    /// The key's 128 bits.
    pub const fn as_u128(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    /// The version 4 UUID of these 128 random bits (six of them are overwritten by the version and
    /// variant).
    pub const fn from_random(bits: u128) -> Self {
        const VERSION: u128 = 0xf000 << 64;
        const VARIANT: u128 = 0xc0 << 56;
        Self::from_u128((bits & !VERSION & !VARIANT) | (0x4000 << 64) | (0x80 << 56))
    }

    /// A new key from the operating system's entropy.
    #[cfg(feature = "std")]
    pub fn random() -> Self {
        let [high, low] = [crate::rng::entropy(), crate::rng::entropy()];
        Self::from_random(u128::from(high) << 64 | u128::from(low))
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.as_u128();
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            bits >> 96,
            (bits >> 80) & 0xffff,
            (bits >> 64) & 0xffff,
            (bits >> 48) & 0xffff,
            bits & 0xffff_ffff_ffff
        )
    }
}

reasons! {
    /// Why a text, or a field of a request, holds no idempotency key.
    InvalidKey;
    /// The text is not a UUID.
    Uuid: "the idempotency key is not a UUID; for a key of your own, send it yourself and declare the operation KeyedByCaller";
    /// The field `Idempotency-Key` is not one text between double quotes.
    Quotes: "`Idempotency-Key` is to be one text between double quotes, such as \"8e03978e\"";
}

impl FromStr for IdempotencyKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let digits: String = text.split('-').collect();
        let key = u128::from_str_radix(&digits, 16).map(Self::from_u128);
        key.ok()
            .filter(|key| key.to_string().eq_ignore_ascii_case(text))
            .ok_or(InvalidKey::Uuid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_key_is_a_version_4_uuid_and_reads_back() {
        for bits in [0, u128::MAX, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef] {
            let key = IdempotencyKey::from_random(bits);
            let text = key.to_string();
            assert_eq!(text.as_bytes()[14], b'4', "{text}");
            assert!(
                matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b'),
                "{text}"
            );
            assert_eq!(text.parse(), Ok(key));
        }
    }

    #[test]
    fn only_a_uuid_is_read() {
        for text in [
            "",
            "order-17",
            "0123456789abcdef0123456789abcdef0000",
            "é".repeat(18).as_str(),
        ] {
            assert_eq!(
                text.parse::<IdempotencyKey>(),
                Err(InvalidKey::Uuid),
                "{text}"
            );
        }
    }
}
