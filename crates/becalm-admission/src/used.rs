//! Which tickets have been used, or wait to be?

use alloc::collections::{BTreeMap, BTreeSet};

use becalm::time::Instant;

use super::claims::Claims;

/// Each ticket that was used, until it expires: so there are never more than can be admitted within the time that a ticket is
/// worth something.
#[derive(Debug, Default)]
pub(super) struct UsedTickets {
    expiry: BTreeMap<u64, Instant>,
    by_expiry: BTreeSet<(Instant, u64)>,
}

impl UsedTickets {
    /// Forgets those that have expired.
    pub fn settle(&mut self, now: Instant) {
        while let Some((expires, number)) = self.by_expiry.first().copied() {
            if expires >= now {
                return;
            }
            self.by_expiry.pop_first();
            self.expiry.remove(&number);
        }
    }

    pub fn len(&self) -> usize {
        self.expiry.len()
    }

    pub fn contains(&self, claims: &Claims) -> bool {
        self.expiry.contains_key(&claims.number)
    }

    pub fn insert(&mut self, claims: &Claims) {
        self.remove(claims);
        self.expiry.insert(claims.number, claims.expires);
        self.by_expiry.insert((claims.expires, claims.number));
    }

    /// It was not used after all.
    pub fn remove(&mut self, claims: &Claims) {
        if let Some(expires) = self.expiry.remove(&claims.number) {
            self.by_expiry.remove(&(expires, claims.number));
        }
    }
}
