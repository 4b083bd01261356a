//! Which atomics does this build use? The platform's, a fallback's, or the model checker's.

#[cfg(becalm_loom)]
pub use loom::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(all(not(becalm_loom), feature = "portable-atomic"))]
pub use portable_atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

#[cfg(all(not(becalm_loom), not(feature = "portable-atomic")))]
pub use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

#[cfg(not(becalm_loom))]
pub(crate) use core::sync::atomic::fence;

#[cfg(all(
    not(becalm_loom),
    not(target_has_atomic = "64"),
    not(feature = "portable-atomic")
))]
compile_error!("this target has no 64-bit atomics: enable becalm's feature `portable-atomic`");

// Where there is something to wait for a lock with.
#[cfg(becalm_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(all(feature = "std", not(becalm_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard};
