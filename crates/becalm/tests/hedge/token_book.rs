//! Which tokens are left, held and spent? A budget that writes it down.

use std::sync::Mutex;

use becalm::budget::{RetryBudget, Withdrawal};
use becalm::{Failure, time::Instant};

/// What has become of the tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub left: u32,
    pub held: u32,
    pub spent: u32,
    pub successes: u32,
    pub failures: u32,
}

#[derive(Debug)]
pub struct Purse(pub Mutex<Tokens>);

impl RetryBudget for Purse {
    fn deposit(&self, _: Instant) {}

    fn withdraw(&self, _: Instant, _: &Failure) -> Option<Withdrawal> {
        let mut tokens = self.0.lock().unwrap();
        tokens.left = tokens.left.checked_sub(1)?;
        tokens.held += 1;
        Some(Withdrawal::of_micros(1))
    }

    fn refund(&self, _: Withdrawal) {
        let mut tokens = self.0.lock().unwrap();
        tokens.left += 1;
        tokens.held -= 1;
    }

    fn fill(&self, _: Instant) -> f64 {
        1.0
    }

    fn hears_calls(&self) -> bool {
        true
    }

    fn spent(&self, _: Withdrawal) {
        let mut tokens = self.0.lock().unwrap();
        tokens.held -= 1;
        tokens.spent += 1;
    }

    fn on_success(&self, _: Instant, last: Option<Withdrawal>) {
        let mut tokens = self.0.lock().unwrap();
        tokens.successes += 1;
        if last.is_some() {
            tokens.held -= 1;
            tokens.spent += 1;
        }
    }

    fn on_failure(&self, _: Instant, _: &Failure) {
        self.0.lock().unwrap().failures += 1;
    }
}
