//! How do threads share a few words, without waiting for each other?
//!
//! What every room with shared state needs, once: the loop that exchanges a word, words that change
//! together, state that is made when it is first asked for, and counts of the last while.

mod atomic;
mod exchange;
mod guarded;
mod millionths;
mod once;
mod window;

pub(crate) use atomic::fence;
pub use atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
#[cfg(any(feature = "std", becalm_loom))]
pub(crate) use atomic::{Mutex, MutexGuard};
pub use exchange::{Word, change};
pub(crate) use guarded::{Flag, Guarded, Packed};
pub use millionths::{MILLION, millionths};
pub(crate) use once::Once;
pub(crate) use window::{Counter, SLICES, Sums, TimeSlices, Window};
