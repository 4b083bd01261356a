//! How do a few words change together, also where there is no mutex?
//!
//! Atomics that only the holder of a flag writes: safe code, the same with and without a
//! standard library. What is done under the flag takes nanoseconds, never waits and never calls
//! foreign code. Not for interrupt handlers: one that interrupts the holder would spin for ever.

use crate::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub(super) struct Guarded<const N: usize> {
    held: AtomicU64,
    words: [AtomicU64; N],
}

impl<const N: usize> Guarded<N> {
    pub fn new(words: [u64; N]) -> Self {
        Self {
            held: AtomicU64::new(0),
            words: words.map(AtomicU64::new),
        }
    }

    /// Changes the words; nobody sees a part of the change, and no two changes mix.
    pub fn change<R>(&self, change: impl FnOnce(&mut [u64; N]) -> R) -> R {
        let _held = self.hold();
        let mut words = [0; N];
        for (word, cell) in words.iter_mut().zip(&self.words) {
            *word = cell.load(Ordering::Relaxed);
        }
        let result = change(&mut words);
        for (word, cell) in words.iter().zip(&self.words) {
            cell.store(*word, Ordering::Relaxed);
        }
        result
    }

    /// One word, as the last change, or one in progress, has left it.
    pub fn peek(&self, word: usize) -> u64 {
        self.words[word].load(Ordering::Relaxed)
    }

    fn hold(&self) -> Held<'_> {
        let mut tries = 0_u32;
        while self
            .held
            .compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            tries = tries.saturating_add(1);
            relax(tries);
        }
        Held(&self.held)
    }
}

/// Lets the flag go also when a change panics.
struct Held<'a>(&'a AtomicU64);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// Waits a moment for another thread; where there is a scheduler, one that was preempted while it
/// held the flag soon gets its turn.
#[cfg(not(becalm_loom))]
fn relax(tries: u32) {
    #[cfg(feature = "std")]
    if tries > 32 {
        return std::thread::yield_now();
    }
    let _ = tries;
    core::hint::spin_loop();
}

#[cfg(becalm_loom)]
fn relax(_tries: u32) {
    loom::thread::yield_now();
}
