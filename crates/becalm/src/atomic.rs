//! Which atomics does this build use? The platform's, a fallback's, or the model checker's.

#[cfg(becalm_loom)]
pub(crate) use loom::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering, fence};

#[cfg(all(not(becalm_loom), feature = "portable-atomic"))]
pub(crate) use portable_atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

#[cfg(all(not(becalm_loom), not(feature = "portable-atomic")))]
pub(crate) use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

#[cfg(not(becalm_loom))]
pub(crate) use core::sync::atomic::fence;

#[cfg(all(
    not(becalm_loom),
    not(target_has_atomic = "64"),
    not(feature = "portable-atomic")
))]
compile_error!("this target has no 64-bit atomics: enable becalm's feature `portable-atomic`");

#[cfg(not(becalm_loom))]
pub(crate) use core::hint::spin_loop;
#[cfg(becalm_loom)]
pub(crate) use loom::hint::spin_loop;

// Where there is something to wait for a lock with.
#[cfg(becalm_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard};
#[cfg(all(feature = "std", not(becalm_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard};

/// What a word holds, for an exchange that follows.
#[cfg(not(becalm_loom))]
#[inline]
pub(crate) fn load_to_exchange(word: &AtomicU64) -> u64 {
    word.load(Ordering::Acquire)
}

/// Loads a word with a sign that an exchange follows.
#[cfg(not(becalm_loom))]
#[inline]
pub(crate) fn load_signed_to_exchange(word: &AtomicI64) -> i64 {
    word.load(Ordering::Acquire)
}

/// The model checker (loom 0.7.2) remembers only the last access to a word. After a thread's own
/// load it no longer sees that the thread's exchange conflicts with another's access before, and
/// leaves out what would come of it. A change of nothing is a conflict itself.
#[cfg(becalm_loom)]
pub(crate) fn load_to_exchange(word: &AtomicU64) -> u64 {
    word.fetch_or(0, Ordering::AcqRel)
}

#[cfg(becalm_loom)]
pub(crate) fn load_signed_to_exchange(word: &AtomicI64) -> i64 {
    word.fetch_or(0, Ordering::AcqRel)
}
