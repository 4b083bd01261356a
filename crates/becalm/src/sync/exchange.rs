//! How is a word changed by what it holds? By the one loop of compare and exchange, after the
//! `measure_and_replace` of the crate `governor`.
//!
//! All of it is sequentially consistent, since some of its users go by the order of two words.

use super::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// A word that several threads exchange.
pub trait Word {
    type Value: Copy;

    /// What it holds, for an exchange that follows.
    fn look(&self) -> Self::Value;

    /// Exchanges it, or says what it holds instead.
    fn exchange(&self, old: Self::Value, new: Self::Value) -> Result<Self::Value, Self::Value>;
}

/// The model checker (loom 0.7.2) remembers only the last access to a word. After a thread's own
/// load it no longer sees that the thread's exchange conflicts with another's access before, and
/// leaves out what would come of it. A change of nothing is a conflict itself.
macro_rules! words {
    ($($atomic:ty: $value:ty;)*) => {$(
        impl Word for $atomic {
            type Value = $value;

            #[inline]
            fn look(&self) -> $value {
                if cfg!(becalm_loom) {
                    self.fetch_or(0, Ordering::SeqCst)
                } else {
                    self.load(Ordering::SeqCst)
                }
            }

            #[inline]
            fn exchange(&self, old: $value, new: $value) -> Result<$value, $value> {
                self.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Acquire)
            }
        }
    )*};
}

words! {
    AtomicI64: i64;
    AtomicU32: u32;
    AtomicU64: u64;
}

/// Changes a word to what `next` names for what it holds. Tells what it held and what it holds now;
/// `None`, and nothing has changed, if `next` names nothing.
///
/// `next` is asked again after each lost race. The cache line is then left to the winner for a
/// moment, about 0.1 microseconds: two threads on one word reach twice to three times the rate (`bench/`),
/// for they no longer take it from each other at every step.
#[inline]
pub fn change<W: Word>(
    word: &W,
    mut next: impl FnMut(W::Value) -> Option<W::Value>,
) -> Option<(W::Value, W::Value)> {
    let mut seen = word.look();
    loop {
        let named = next(seen)?;
        match word.exchange(seen, named) {
            Ok(_) => return Some((seen, named)),
            Err(other) => seen = other,
        }
        for _ in 0..8 {
            core::hint::spin_loop();
        }
    }
}
