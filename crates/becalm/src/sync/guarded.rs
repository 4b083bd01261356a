//! How do a few words change together, also where there is no mutex?
//!
//! Atomics that only the holder of a flag writes: safe code, the same with and without a
//! standard library. What is done under the flag takes nanoseconds, never waits and never calls
//! foreign code. Not for interrupt handlers: one that interrupts the holder would spin for ever.

use core::marker::PhantomData;

use super::atomic::{AtomicU64, Ordering};

/// What is shared as `N` words.
pub(crate) trait Packed<const N: usize> {
    fn of_words(words: [u64; N]) -> Self;

    fn words(&self) -> [u64; N];
}

/// A value of several words; nobody sees a part of a change, and no two changes mix.
#[derive(Debug)]
pub(crate) struct Guarded<T, const N: usize> {
    flag: Flag,
    words: [AtomicU64; N],
    value: PhantomData<fn() -> T>,
}

impl<T: Packed<N>, const N: usize> Guarded<T, N> {
    pub fn new(value: &T) -> Self {
        let words = value.words();
        Self {
            flag: Flag::default(),
            words: core::array::from_fn(|at| AtomicU64::new(words[at])),
            value: PhantomData,
        }
    }

    /// Changes the value, after those who are at it.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.flag.hold();
        self.change_held(change)
    }

    /// Changes the value, unless somebody is at it.
    pub fn try_change<R>(&self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let _held = self.flag.try_hold()?;
        Some(self.change_held(change))
    }

    /// One word, as the last change, or one in progress, has left it.
    #[inline]
    pub fn peek(&self, word: usize) -> u64 {
        self.words[word].load(Ordering::Relaxed)
    }

    fn change_held<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut words = [0; N];
        for (word, cell) in words.iter_mut().zip(&self.words) {
            *word = cell.load(Ordering::Relaxed);
        }
        let mut value = T::of_words(words);
        let result = change(&mut value);
        for (word, cell) in value.words().iter().zip(&self.words) {
            cell.store(*word, Ordering::Relaxed);
        }
        result
    }
}

/// A flag that one at a time holds.
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicU64);

impl Flag {
    /// Holds it, unless it is held.
    pub fn try_hold(&self) -> Option<Held<'_>> {
        let held = self
            .0
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        held.ok().map(|_| Held(&self.0))
    }

    #[inline]
    fn hold(&self) -> Held<'_> {
        self.try_hold().unwrap_or_else(|| self.hold_next())
    }

    /// Holds it after those who do.
    #[cold]
    fn hold_next(&self) -> Held<'_> {
        let mut tries = 0_u32;
        loop {
            if let Some(held) = self.try_hold() {
                return held;
            }
            tries = tries.saturating_add(1);
            relax(tries);
        }
    }
}

/// Lets the flag go also when a change panics.
pub(crate) struct Held<'a>(&'a AtomicU64);

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
