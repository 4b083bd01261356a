//! How does a balance outlive a reload, without a lock?
//!
//! One atomic word holds the amount and the generation of the parameters that it counts by. A reload
//! takes the amount and closes the word in one step, changes the parameters, and opens the next
//! generation: what was begun under the old one then finds nothing to change.

use super::ratio::step_aside;
use crate::atomic::{AtomicU64, Ordering, load_to_exchange};

/// An amount that is open, in some generation, or closed.
#[derive(Debug)]
pub(super) struct Balance(AtomicU64);

/// No generation has this number.
const CLOSED: u32 = 0;

impl Balance {
    /// Closed, with nothing in it.
    pub fn closed() -> Self {
        Self(AtomicU64::new(word(CLOSED, 0)))
    }

    /// Opens a closed balance in this generation, which is not 0.
    pub fn open(&self, generation: u32, amount: u32) {
        // Not a plain store: the model checker orders only exchanges of a word with each other.
        self.0.swap(word(generation, amount), Ordering::AcqRel);
    }

    /// Refuses every change until it is opened, and tells what is in it.
    pub fn close(&self) -> u32 {
        amount(self.0.swap(word(CLOSED, 0), Ordering::AcqRel))
    }

    /// What is in it.
    pub fn amount(&self) -> u32 {
        amount(self.0.load(Ordering::Acquire))
    }

    /// Changes the amount if the balance is open, in the generation `of` if one is given, and
    /// `change` names another. Parameters that `change` reads are those of the generation that is
    /// changed.
    #[inline]
    pub fn change(&self, of: Option<u32>, mut change: impl FnMut(u32) -> Option<u32>) -> bool {
        let mut seen = load_to_exchange(&self.0);
        loop {
            let generation = generation(seen);
            if generation == CLOSED || of.is_some_and(|of| of != generation) {
                return false;
            }
            let Some(changed) = change(amount(seen)) else {
                return false;
            };
            let next = word(generation, changed);
            match self
                .0
                .compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return true,
                Err(other) => seen = step_aside(other),
            }
        }
    }
}

const fn word(generation: u32, amount: u32) -> u64 {
    (generation as u64) << 32 | amount as u64
}

const fn generation(word: u64) -> u32 {
    (word >> 32) as u32
}

#[expect(clippy::cast_possible_truncation)] // the lower half
const fn amount(word: u64) -> u32 {
    word as u32
}

/// This part of `whole`, rounded down, but for what a division and a multiplication lose.
pub(super) fn part(whole: u32, fill: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let part = (f64::from(whole) * fill + 1e-6) as u32;
    part.min(whole)
}

/// How full an amount is, from 0 to 1.
pub(super) fn fill(amount: u32, most: u32) -> f64 {
    if most == 0 {
        return 1.0;
    }
    f64::from(amount.min(most)) / f64::from(most)
}
