//! What may a process retry that hears of no store? Its own share.

use becalm::support::{AtomicI64, Ordering, change};

/// A balance of the process alone, in millionths of a token. It has no floor: the clocks of retriers and of exchanges may differ.
#[derive(Debug)]
pub(super) struct Own {
    balance: AtomicI64,
    /// The most that it holds.
    most: AtomicI64,
    /// What one that earns retries adds.
    ratio: i64,
}

/// A token, in millionths.
pub(super) const TOKEN: i64 = 1_000_000;
/// What a balance, or what is added to it, is at most.
const MOST: i64 = 100_000_000 * TOKEN;
/// No balance at all, whatever is added late.
const CLOSED: i64 = i64::MIN / 2;

impl Own {
    /// One that is closed. `ratio` is what one that earns retries adds.
    pub fn new(ratio: f64) -> Self {
        Self {
            balance: AtomicI64::new(CLOSED),
            most: AtomicI64::new(0),
            ratio: micros(ratio),
        }
    }

    /// Opens it with so many tokens.
    pub fn open(&self, tokens: u32, most: f64) {
        let most = micros(most);
        self.most.store(most, Ordering::Relaxed);
        let balance = (TOKEN * i64::from(tokens)).min(most);
        self.balance.swap(balance, Ordering::AcqRel);
    }

    /// Closes it, and tells how many whole tokens were left.
    pub fn close(&self) -> u32 {
        let balance = self.balance.swap(CLOSED, Ordering::AcqRel);
        u32::try_from(balance.max(0) / TOKEN).unwrap_or(u32::MAX)
    }

    /// Changes the most that it holds. What is above it is lost.
    pub fn hold_at_most(&self, tokens: f64) {
        let most = micros(tokens);
        self.most.store(most, Ordering::Relaxed);
        change(&self.balance, |balance| (balance > most).then_some(most));
    }

    /// What earns retries has happened.
    pub fn deposit(&self) {
        let most = self.most.load(Ordering::Relaxed);
        change(&self.balance, |balance| {
            (balance < most).then(|| balance.saturating_add(self.ratio).min(most))
        });
    }

    /// Takes a token, if there is one.
    pub fn withdraw(&self) -> bool {
        let taken = change(&self.balance, |balance| {
            (balance >= TOKEN).then(|| balance - TOKEN)
        });
        taken.is_some()
    }

    /// The tokens that are left.
    #[expect(clippy::cast_precision_loss)] // exact up to 2^53
    pub fn tokens(&self) -> f64 {
        self.balance.load(Ordering::Acquire).max(0) as f64 / TOKEN as f64
    }
}

/// Millionths, rounded to the nearest.
#[expect(clippy::cast_possible_truncation)] // saturates
fn micros(tokens: f64) -> i64 {
    ((tokens * 1e6 + 0.5) as i64).clamp(0, MOST)
}
