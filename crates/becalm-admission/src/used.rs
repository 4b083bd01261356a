//! Which tickets have been used, or wait to be?

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use becalm::time::Instant;

use super::claims::Claims;
use super::numbered::Numbered;

/// Each ticket that was used, until it expires: so there are never more than can be admitted within the time that a ticket is
/// worth something.
#[derive(Debug, Default)]
pub(super) struct UsedTickets {
    expiry: Numbered,
    /// By when they expire. One that was withdrawn stays until then, unless most of these were.
    by_expiry: BinaryHeap<Reverse<(Instant, u64)>>,
}

/// So many that were withdrawn cost less to pass over than to look for.
const FEW: usize = 64;

impl UsedTickets {
    /// Forgets those that have expired.
    #[inline]
    pub fn settle(&mut self, now: Instant) {
        while let Some(Reverse((expires, number))) = self.by_expiry.peek().copied() {
            if expires >= now {
                return;
            }
            self.by_expiry.pop();
            if self.expiry.get(number) == Some(expires) {
                self.expiry.remove(number);
            }
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.expiry.len()
    }

    #[inline]
    pub fn contains(&self, claims: &Claims) -> bool {
        self.expiry.get(claims.number).is_some()
    }

    pub fn insert(&mut self, claims: &Claims) {
        self.expiry.insert(claims.number, claims.expires);
        if self.by_expiry.len() > 2 * self.expiry.len() + FEW {
            let left = self.expiry.iter();
            self.by_expiry = left.map(|(number, at)| Reverse((at, number))).collect();
        } else {
            self.by_expiry
                .push(Reverse((claims.expires, claims.number)));
        }
    }

    /// It was not used after all.
    pub fn remove(&mut self, claims: &Claims) {
        self.expiry.remove(claims.number);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use becalm::rng::{SplitMix64, uniform};

    use super::*;

    #[test]
    fn a_ticket_is_used_until_it_expires_or_is_withdrawn_and_none_that_was_takes_memory_for_long() {
        let mut random = SplitMix64::new(7);
        let mut used = UsedTickets::default();
        let mut model: BTreeMap<u64, Instant> = BTreeMap::new();
        for now in 0..100_000 {
            let at = Instant::from_nanos(now);
            used.settle(at);
            model.retain(|_, expires| *expires >= at);
            let number = uniform(&mut random, 0, 300);
            let expires = Instant::from_nanos(now + uniform(&mut random, 0, 400));
            let claims = Claims::new(number, at, expires);
            assert_eq!(used.contains(&claims), model.contains_key(&number));
            if uniform(&mut random, 0, 4) > 0 {
                used.insert(&claims);
                model.insert(number, expires);
            } else {
                used.remove(&claims);
                model.remove(&number);
            }
            assert_eq!(used.len(), model.len());
        }
        // Who comes and hangs up again and again, with one ticket.
        let claims = Claims::new(1000, Instant::ZERO, Instant::NEVER);
        for _ in 0..10_000 {
            used.insert(&claims);
            used.remove(&claims);
        }
        assert!(used.by_expiry.len() <= 2 * model.len() + FEW + 3);
    }
}
