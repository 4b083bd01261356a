//! Which failures are one loss? Those of one connection, and those of calls that wait for one redial.

use core::num::NonZeroU64;

/// One loss that many calls share: of a connection with all that was in flight on it, or of a redial that they wait
/// for.
///
/// One token of the budget pays for their retries together: see [`Failure::lost_with`](crate::Failure::lost_with).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Loss(NonZeroU64);

impl Loss {
    /// Of a connection that was lost while nothing was in flight on it, such as an idle one of a pool: the retry of
    /// the call that finds it costs nothing. Say it once for each connection, and take that out.
    pub const IDLE: Self = Self(NonZeroU64::MAX);

    /// A loss that no other of this process is the same as.
    #[cfg(feature = "std")]
    pub fn unique() -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static LAST: AtomicU64 = AtomicU64::new(0);
        let before = LAST.fetch_add(1, Ordering::Relaxed);
        Self(NonZeroU64::MIN.saturating_add(before))
    }
}
