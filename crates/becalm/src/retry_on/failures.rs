//! Which kinds of failures are repeated?

use alloc::vec::Vec;
use core::fmt;

use crate::classify::FailureKind;

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
