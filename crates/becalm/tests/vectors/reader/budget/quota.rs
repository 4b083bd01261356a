//! Tokens that outcomes bring and take: `tokens` and `grpc`.

use super::{Fill, TOKEN, Terms, part};

/// The quota of the AWS SDKs, in tokens.
#[derive(Default)]
pub struct Tokens {
    left: u64,
    most: u64,
    cost: u64,
    throttled: u64,
    refunds: bool,
    clean: u64,
}

impl Tokens {
    pub fn open(&mut self, terms: Terms<'_>, fill: Fill) {
        let most = terms.first() as u64;
        *self = Self {
            left: part(most, fill.part()),
            most,
            cost: terms.number("cost") as u64,
            throttled: terms.number("throttled") as u64,
            refunds: terms.value("refund") == Some("last"),
            clean: terms.number("clean") as u64,
        };
    }

    pub fn state(&self) -> (u64, f64) {
        (self.left * TOKEN, self.left as f64 / self.most as f64)
    }

    pub fn take(&mut self, throttled: bool) -> Option<u64> {
        let cost = if throttled { self.throttled } else { self.cost };
        self.left = self.left.checked_sub(cost)?;
        Some(cost)
    }

    pub fn give_back(&mut self, tokens: u64) {
        self.left = self.most.min(self.left + tokens);
    }

    /// A call has succeeded without a retry.
    pub fn clean(&mut self) {
        self.give_back(self.clean);
    }

    /// A call has succeeded whose last retry cost this.
    pub fn success_of(&mut self, cost: u64) {
        self.give_back(if self.refunds { cost } else { 0 });
    }
}

/// The throttle of gRPC, in thousandths.
#[derive(Default)]
pub struct Grpc {
    left: u64,
    most: u64,
    ratio: u64,
}

impl Grpc {
    /// One that is new is as full above its half as the emptiest.
    pub fn open(&mut self, terms: Terms<'_>, fill: Fill) {
        let own = self.left as f64 / self.most as f64;
        self.most = 1000 * terms.first() as u64;
        // A6 knows three decimals.
        self.ratio = (terms.number("ratio") * 1000.0 + 1e-6) as u64;
        self.left = match fill {
            Fill::Own { .. } => part(self.most, own),
            Fill::New(fill) => part(self.most, (1.0 + fill) / 2.0),
        };
    }

    pub fn state(&self) -> (u64, f64) {
        let fill = 2.0 * (self.left as f64 / self.most as f64) - 1.0;
        (self.left * 1000, fill.max(0.0))
    }

    pub fn grants(&self) -> bool {
        self.left > self.most / 2
    }

    pub fn failed(&mut self) {
        self.left = self.left.saturating_sub(1000);
    }

    pub fn success(&mut self) {
        self.left = self.most.min(self.left + self.ratio);
    }
}
