//! How are retries kept to so many in any minute?
//!
//! Counted in 61 slices of a second. Any interval of a minute touches at most 61 of them, so the
//! bound that holds for those holds for it. The state is a [window](super::window) without first
//! tries.

use super::kind::{Budget, InvalidBudget, part};
use crate::grammar::Kind as Text;
use crate::reasons::require;
use crate::setters::setters;

/// A minute, and the current slice. The model checker has a minute of two seconds: the same code.
pub(super) const LIVE: usize = if cfg!(becalm_loom) { 3 } else { 61 };

/// So many retries in any minute: the bound of the Google SRE book for a process.
///
/// Over any interval of a minute: retries <= `retries` + refunds in it.
///
/// The budget of a process in the Google SRE book (ch. 21, *Handling Overload*). Retries are counted
/// in slices of a second and forgotten when a whole minute has passed since the end of theirs: 60 to
/// 61 s. Only time, and a retry that never starts, give room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PerMinute {
    /// Retries in a minute. From 1 to 1 000 000. Default 60.
    pub retries: u32,
}

impl PerMinute {
    pub(super) fn validate(self) -> Result<(), InvalidBudget> {
        require([(
            (1..=1_000_000).contains(&self.retries),
            InvalidBudget::PerMinute,
        )])
    }
}

impl Default for PerMinute {
    fn default() -> Self {
        Self { retries: 60 }
    }
}

setters! {
    /// Setters: each returns the kind with one field changed.
    impl PerMinute;
    /// Sets the retries in a minute.
    retries: u32;
}

impl Budget {
    /// Retries are at most this many in any minute.
    pub const fn per_minute(retries: u32) -> Self {
        Self::PerMinute(PerMinute { retries })
    }
}

/// How it is written.
pub(super) const TEXT: Text<Budget> = Text {
    name: "per-minute",
    example: "per-minute:60",
    start: || Budget::PerMinute(PerMinute::default()),
    first: Some(part!(PerMinute, Whole, retries)),
    parameters: &[],
};
