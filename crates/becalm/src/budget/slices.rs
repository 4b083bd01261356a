//! How much happened in the last slices of time, when each slice is really forgotten?
//!
//! One atomic word for each slice: its number, and its count. A word whose slice lies too far back
//! counts for nothing, and is taken over by the first event of a newer slice. So nothing has to be
//! swept, and an idle time of any length is as good as a sweep.

use crate::sync::{AtomicU64, Ordering, change, fence};

/// Counts of the last `N` slices.
#[derive(Debug)]
pub(super) struct Slices<const N: usize>([AtomicU64; N]);

/// A slice of time, under parameters of some generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    /// Slices of different generations have nothing to do with each other.
    generation: u8,
    /// Wraps: after 13 years of slices of 100 ms.
    number: u32,
}

impl Slice {
    /// The slice in which this nanosecond lies.
    pub fn at(generation: u32, nanos: u64, length: u64) -> Self {
        #[expect(clippy::cast_possible_truncation)]
        let (generation, number) = (generation as u8, (nanos / length.max(1)) as u32);
        Self { generation, number }
    }

    /// The slice of this number.
    pub fn numbered(generation: u32, number: u32) -> Self {
        Self::at(generation, number.into(), 1)
    }

    /// Its number within its generation.
    pub fn number(self) -> u32 {
        self.number
    }
}

const COUNT_BITS: u32 = 24;
const MOST: u64 = (1 << COUNT_BITS) - 1;

impl<const N: usize> Default for Slices<N> {
    fn default() -> Self {
        Self(core::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl<const N: usize> Slices<N> {
    /// Counts one in this slice, or in the newer one that has taken its place. A slice that can hold
    /// no more is left as it is.
    #[inline]
    pub fn add(&self, slice: Slice) {
        self.change(slice, |_, count| Some((count + 1).min(MOST)));
    }

    /// Counts one, if all counts together with it are allowed; tells in which slice.
    ///
    /// Under any interleaving the counts never come to more than is allowed: in one slice, the
    /// exchange settles it; two threads on either side of a slice's end look again, each after it
    /// has counted, so that at least one sees both and steps back.
    pub fn add_if(&self, slice: Slice, allowed: impl Fn(u64) -> bool) -> Option<Slice> {
        let counted = self.change(slice, |own, count| {
            let others = self.sum_besides(slice, own);
            (count < MOST && allowed(others + count + 1)).then_some(count + 1)
        })?;
        fence(Ordering::SeqCst);
        if allowed(self.sum(counted)) {
            return Some(counted);
        }
        self.remove(counted);
        None
    }

    /// Takes one back, if its slice is still there.
    pub fn remove(&self, slice: Slice) {
        change(&self.0[Self::index(slice)], |word| {
            (slice_of(word) == slice && count_of(word) > 0).then(|| word - 1)
        });
    }

    /// All counts of the `N` slices up to this one, and of newer ones.
    pub fn sum(&self, slice: Slice) -> u64 {
        self.sum_besides(slice, N)
    }

    /// Goes over to another generation, in which every count is forgotten, or kept in its slice.
    pub fn renew(&self, now: Slice, keep: bool) {
        #[expect(clippy::cast_possible_truncation)] // a few
        let oldest = now.number.wrapping_sub(N as u32);
        for word in &self.0 {
            change(word, |word| {
                let number = if keep { slice_of(word).number } else { oldest };
                let count = if keep { count_of(word) } else { 0 };
                let generation = now.generation;
                Some(word_of(Slice { generation, number }, count))
            });
        }
    }

    /// Counts this many in a slice that has no other.
    pub fn set(&self, slice: Slice, count: u64) {
        self.0[Self::index(slice)].swap(word_of(slice, count.min(MOST)), Ordering::AcqRel);
    }

    fn sum_besides(&self, slice: Slice, own: usize) -> u64 {
        sum_besides(&self.0, slice, own)
    }

    /// Changes the count of this slice; `None` if `next` names no other, or if the generation is
    /// over.
    fn change(&self, slice: Slice, next: impl Fn(usize, u64) -> Option<u64>) -> Option<Slice> {
        let own = Self::index(slice);
        let (_, changed) = change(&self.0[own], |seen| {
            let there = slice_of(seen);
            let (counted, count) = match age(there, slice)? {
                // An empty one is not newer: nobody has been there, wherever the clock began.
                0.. if count_of(seen) > 0 => (there, count_of(seen)),
                _ => (slice, 0),
            };
            Some(word_of(counted, next(own, count)?))
        })?;
        Some(slice_of(changed))
    }

    fn index(slice: Slice) -> usize {
        slice.number as usize % N
    }
}

fn sum_besides(words: &[AtomicU64], slice: Slice, own: usize) -> u64 {
    let mut sum = 0;
    for (index, word) in words.iter().enumerate() {
        let word = word.load(Ordering::Acquire);
        let is_live = |newer: i32| newer >= 0 || (newer.unsigned_abs() as usize) < words.len();
        if index != own && age(slice_of(word), slice).is_some_and(is_live) {
            sum += count_of(word);
        }
    }
    sum
}

/// By how many slices `there` is newer than `here`; below 0 if it is older. `None` if the generation
/// of `here` is over.
fn age(there: Slice, here: Slice) -> Option<i32> {
    #[expect(clippy::cast_possible_wrap)] // a distance on a circle
    let newer = there.number.wrapping_sub(here.number) as i32;
    (there.generation == here.generation).then_some(newer)
}

fn word_of(slice: Slice, count: u64) -> u64 {
    u64::from(slice.generation) << 56 | u64::from(slice.number) << COUNT_BITS | count
}

fn slice_of(word: u64) -> Slice {
    #[expect(clippy::cast_possible_truncation)]
    let (generation, number) = ((word >> 56) as u8, (word >> COUNT_BITS) as u32);
    Slice { generation, number }
}

fn count_of(word: u64) -> u64 {
    word & MOST
}
