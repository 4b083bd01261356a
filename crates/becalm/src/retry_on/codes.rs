//! Which status codes of gRPC are repeated?

use alloc::vec::Vec;
use core::fmt;

/// A set of gRPC's status codes that mean failure, from 1 to 16 (grpc/grpc, `doc/statuscodes.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Codes(u32);

/// By their numbers.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// Those of failures.
#[cfg(feature = "serde")]
pub(crate) fn code_names() -> impl Iterator<Item = &'static str> + Clone {
    NAMES.into_iter().skip(1)
}

impl Codes {
    /// Adds a code; one that is none of a failure is left out.
    #[must_use]
    pub const fn and(self, code: u32) -> Self {
        match code {
            1..=16 => Self(self.0 | 1 << code),
            _ => self,
        }
    }

    /// Whether this code is one of them.
    pub const fn contains(self, code: i32) -> bool {
        0 <= code && code <= 16 && self.0 >> code & 1 == 1
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Their names, in the order of their numbers.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let codes = (0..)
            .zip(NAMES)
            .filter(move |(code, _)| self.contains(*code));
        codes.map(|(_, name)| name)
    }

    /// The number of a code by its name in any case of letters.
    pub fn by_name(name: &str) -> Option<u32> {
        let found = NAMES.iter().position(|it| it.eq_ignore_ascii_case(name))?;
        u32::try_from(found).ok()
    }
}

impl FromIterator<u32> for Codes {
    fn from_iter<T: IntoIterator<Item = u32>>(codes: T) -> Self {
        codes.into_iter().fold(Self::default(), Self::and)
    }
}

/// The names, as in `UNKNOWN, UNAVAILABLE`.
impl fmt::Display for Codes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_was_added_and_names_it() {
        for code in 0..40 {
            let set = Codes::default().and(code);
            let number = i32::try_from(code).unwrap();
            assert_eq!(set.contains(number), (1..=16).contains(&code), "{code}");
            let named = set.names().next().and_then(Codes::by_name);
            assert_eq!(named, (1..=16).contains(&code).then_some(code), "{code}");
        }
        assert!(!Codes(u32::MAX).contains(-1) && !Codes(u32::MAX).contains(17));
        assert_eq!(Codes::by_name("internal"), Some(13));
        assert_eq!(Codes::by_name("NOPE"), None);
    }
}
