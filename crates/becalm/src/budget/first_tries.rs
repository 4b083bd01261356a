//! How are retries kept to a share of first tries? By the mechanism of the ratio, fed otherwise.

use super::RatioBudget;
use super::account::{Account, Fill, Level};
use super::config::{AllOf, Budget};
use crate::classify::Failure;
use crate::time::Instant;

#[derive(Debug)]
pub(super) struct FirstTriesBudget(RatioBudget);

impl FirstTriesBudget {
    pub fn closed() -> Self {
        Self(RatioBudget::new(Budget::None))
    }
}

impl Account for FirstTriesBudget {
    fn open(&self, _generation: u32, all: &AllOf, fill: Fill, now: Instant) {
        self.0.open_as(all.first_tries, fill.usable, now);
    }

    fn close(&self, now: Instant) -> Fill {
        self.0.close(now)
    }

    fn take(&self, generation: u32, now: Instant, failure: &Failure) -> Option<u32> {
        self.0.take(generation, now, failure)
    }

    fn put_back(&self, generation: u32, taken: u32) {
        self.0.put_back(generation, taken);
    }

    fn level(&self, now: Instant) -> Level {
        self.0.level(now)
    }

    fn first_try(&self, _now: Instant) {
        self.0.deposit();
    }
}
