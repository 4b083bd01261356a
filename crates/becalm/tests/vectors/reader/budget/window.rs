//! Retries of the last seconds, counted in slices: `window` and `per-minute`.

use std::collections::BTreeMap;

use super::super::policy::time;
use super::{Fill, TOKEN, Terms, millionths, part};

#[derive(Default)]
pub struct Window {
    /// The length of a slice in nanoseconds, and how many slices count, the current one included.
    slice: u64,
    slices: u64,
    share: u64,
    /// Millionths of a retry, whatever the traffic.
    reserve: u64,
    first_tries: BTreeMap<u64, u64>,
    retries: BTreeMap<u64, u64>,
}

impl Window {
    pub fn open(&mut self, terms: Terms<'_>, fill: Fill, now: u64) {
        let before = self.slice;
        if terms.kind() == "window" {
            let ttl = time(terms.value("ttl").expect("a length"));
            (self.slice, self.slices) = (ttl / 10, 10);
            self.share = millionths(terms.first());
            let floor = u128::from(millionths(terms.number("floor")));
            self.reserve = (floor * u128::from(ttl) / 1_000_000_000) as u64;
        } else {
            (self.slice, self.slices) = (1_000_000_000, 61);
            self.reserve = terms.first() as u64 * TOKEN;
        }
        if self.slice != before {
            self.first_tries.clear();
        }
        let most = self.most(now) / TOKEN;
        let made = most - part(most, fill.part());
        self.retries = BTreeMap::from([(now / self.slice, made)]);
    }

    fn sum(&self, of: &BTreeMap<u64, u64>, now: u64) -> u64 {
        let newest = now / self.slice;
        let oldest = (newest + 1).saturating_sub(self.slices);
        of.range(oldest..=newest).map(|(_, count)| count).sum()
    }

    fn most(&self, now: u64) -> u64 {
        self.share * self.sum(&self.first_tries, now) + self.reserve
    }

    pub fn state(&self, now: u64) -> (u64, f64) {
        let most = self.most(now) / TOKEN;
        let made = self.sum(&self.retries, now);
        let left = most.saturating_sub(made);
        let fill = if made == 0 {
            1.0
        } else {
            left as f64 / most.max(1) as f64
        };
        (left * TOKEN, fill)
    }

    pub fn first_try(&mut self, now: u64) {
        *self.first_tries.entry(now / self.slice).or_default() += 1;
    }

    /// Tells in which slice it is counted.
    pub fn take(&mut self, now: u64) -> Option<u64> {
        let made = self.sum(&self.retries, now) + 1;
        if made * TOKEN > self.most(now) {
            return None;
        }
        *self.retries.entry(now / self.slice).or_default() += 1;
        Some(now / self.slice)
    }

    pub fn give_back(&mut self, slice: u64) {
        if let Some(count) = self.retries.get_mut(&slice) {
            *count -= 1;
        }
    }
}
