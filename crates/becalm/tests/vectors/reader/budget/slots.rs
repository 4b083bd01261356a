//! Retries in progress: `concurrency`.

use super::{TOKEN, Terms, millionths};

#[derive(Default)]
pub struct Slots {
    /// Calls in progress.
    pub calls: u64,
    /// Retries in progress, their waits included.
    pub taken: u64,
    share: u64,
    floor: u64,
}

impl Slots {
    pub fn open(&mut self, terms: Terms<'_>) {
        self.share = millionths(terms.first());
        self.floor = terms.number("floor") as u64;
    }

    fn most(&self) -> u64 {
        self.floor.max(self.share * self.calls / TOKEN)
    }

    pub fn state(&self) -> (u64, f64) {
        let most = self.most();
        let left = most.saturating_sub(self.taken);
        let fill = if left < most {
            left as f64 / most as f64
        } else {
            1.0
        };
        (left * TOKEN, fill)
    }

    pub fn take(&mut self) -> Option<u64> {
        let is_free = self.taken < self.most();
        self.taken += u64::from(is_free);
        is_free.then_some(1)
    }
}
