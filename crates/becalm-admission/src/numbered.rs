//! When does the ticket of this number expire?
//!
//! A table with open addresses: a used ticket is looked for, kept and forgotten once each, and a tree would be a third of an
//! arrival's cost. No client chooses a number, since they are sealed: none can crowd one part of the table.

use alloc::vec::Vec;

use becalm::rng::{Random, SplitMix64};
use becalm::time::Instant;

type Entry = Option<(u64, Instant)>;

/// Numbers, each with a moment. At most half of the places are taken, as many as a power of two.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    places: Vec<Entry>,
    len: usize,
}

impl Numbered {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, Instant)> + '_ {
        self.places.iter().flatten().copied()
    }

    pub fn get(&self, number: u64) -> Option<Instant> {
        let (_, moment) = (*self.places.get(self.find(number))?)?;
        Some(moment)
    }

    pub fn insert(&mut self, number: u64, moment: Instant) {
        if 2 * self.len >= self.places.len() {
            self.grow();
        }
        let at = self.find(number);
        if let Some(place) = self.places.get_mut(at) {
            self.len += usize::from(place.is_none());
            *place = Some((number, moment));
        }
    }

    pub fn remove(&mut self, number: u64) {
        let mut hole = self.find(number);
        if !matches!(self.places.get(hole), Some(Some(_))) {
            return;
        }
        self.len -= 1;
        self.places[hole] = None;
        // Those behind it that came there because it was taken move up, or they would not be found.
        let mut at = self.behind(hole);
        while let Some((number, _)) = self.places[at] {
            let own = self.home(number);
            let is_between =
                (at.wrapping_sub(own) & self.mask()) < (at.wrapping_sub(hole) & self.mask());
            if !is_between {
                self.places.swap(at, hole);
                hole = at;
            }
            at = self.behind(at);
        }
    }

    /// Where the number is, or would be; behind the end of a table without a place.
    fn find(&self, number: u64) -> usize {
        let mut at = self.home(number);
        while let Some(Some((other, _))) = self.places.get(at) {
            if *other == number {
                break;
            }
            at = self.behind(at);
        }
        at
    }

    #[expect(clippy::cast_possible_truncation)] // of bits that are as good as any
    fn home(&self, number: u64) -> usize {
        SplitMix64::new(number).next_u64() as usize & self.mask()
    }

    fn behind(&self, at: usize) -> usize {
        (at + 1) & self.mask()
    }

    fn mask(&self) -> usize {
        self.places.len().wrapping_sub(1)
    }

    fn grow(&mut self) {
        let places = (2 * self.places.len()).max(16);
        let before = core::mem::replace(&mut self.places, alloc::vec![None; places]);
        self.len = 0;
        for (number, moment) in before.into_iter().flatten() {
            self.insert(number, moment);
        }
    }
}
