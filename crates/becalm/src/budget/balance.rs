//! How does a balance outlive a reload, without a lock?
//!
//! One atomic word holds the amount and the generation of the parameters that it counts by. A reload
//! takes the amount and closes the word in one step, changes the parameters, and opens the next
//! generation: what was begun under the old one then finds nothing to change.

use crate::sync::{AtomicU64, Ordering, change};

/// An amount that is open, in some generation, or closed; at first closed, with nothing in it.
#[derive(Debug, Default)]
pub(super) struct Balance(AtomicU64);

/// No generation has this number.
const CLOSED: u32 = 0;

impl Balance {
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
    /// `next` names another. Parameters that `next` reads are those of the generation that is
    /// changed.
    #[inline]
    pub fn change(&self, of: Option<u32>, next: &mut dyn FnMut(u32) -> Option<u32>) -> bool {
        change(&self.0, |seen| {
            let generation = generation(seen);
            let is_open = generation != CLOSED && of.is_none_or(|of| of == generation);
            Some(word(generation, next(amount(seen)).filter(|_| is_open)?))
        })
        .is_some()
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
