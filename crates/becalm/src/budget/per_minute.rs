//! How are retries kept to so many in any minute?
//!
//! Counted in 61 slices of a second. Any interval of a minute touches at most 61 of them, so the
//! bound that holds for those holds for it. The state is a [window](super::window) without first
//! tries.

use super::config::PerMinute;
use super::kind::Budget;

/// A minute, and the current slice. The model checker has a minute of two seconds: the same code.
pub(super) const LIVE: usize = if cfg!(becalm_loom) { 3 } else { 61 };

impl Budget {
    /// Retries are at most this many in any minute.
    pub const fn per_minute(retries: u32) -> Self {
        Self::PerMinute(PerMinute { retries })
    }
}
