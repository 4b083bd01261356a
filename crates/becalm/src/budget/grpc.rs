//! When have failures outweighed successes so far that gRPC makes no more retries?

use super::balance::{Balance, fill, part};
use super::config::Grpc;
use crate::atomic::{AtomicU64, Ordering};
use crate::classify::{Class, Failure};
use crate::hint::Hint;

/// A token, in the unit of the word: A6 knows three decimals.
const TOKEN: u32 = 1000;

/// gRFC A6, *Throttling Retry Attempts and Hedged RPCs*: one word of thousandths of a token.
///
/// A success while it is full writes nothing.
#[derive(Debug)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub(super) struct GrpcBudget {
    tokens: Balance,
    /// In thousandths.
    most: AtomicU64,
    ratio: AtomicU64,
}

impl GrpcBudget {
    pub fn closed() -> Self {
        Self {
            tokens: Balance::closed(),
            most: AtomicU64::new(0),
            ratio: AtomicU64::new(0),
        }
    }

    /// Denies everything until it is opened, and tells the tokens' part of their maximum.
    pub fn close(&self) -> f64 {
        fill(self.tokens.close(), of(&self.most))
    }

    /// Opens with this part of the maximum. That is how gRPC's C-core reloads: old / old maximum x
    /// new maximum.
    pub fn open(&self, generation: u32, config: Grpc, tokens: f64) {
        let most = config.max_tokens.saturating_mul(TOKEN);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // 0.29 x 1000 is a bit less than 290
        let ratio = (config.token_ratio * f64::from(TOKEN) + 1e-6) as u32;
        self.most.store(most.into(), Ordering::Relaxed);
        self.ratio.store(ratio.into(), Ordering::Relaxed);
        self.tokens.open(generation, part(most, tokens));
    }

    /// An attempt has failed.
    pub fn failed(&self, failure: &Failure) {
        let may_be_retried = matches!(failure.class, Class::Transient | Class::Throttled);
        if may_be_retried || failure.hint == Some(Hint::Stop) {
            self.tokens.change(None, |tokens| {
                (tokens > 0).then(|| tokens.saturating_sub(TOKEN))
            });
        }
    }

    /// A call has succeeded.
    #[inline]
    pub fn succeeded(&self) {
        self.tokens.change(None, |tokens| {
            let next = tokens.saturating_add(of(&self.ratio)).min(of(&self.most));
            (next != tokens).then_some(next)
        });
    }

    /// Whether retries and hedges are made.
    pub fn allows(&self) -> bool {
        // A closed one holds nothing, which is not more than half of anything.
        self.tokens.amount() > of(&self.most) / 2
    }

    /// Tokens left, and at most.
    pub fn level(&self) -> (f64, f64) {
        let tokens = |thousandths: u32| f64::from(thousandths) / f64::from(TOKEN);
        (tokens(self.tokens.amount()), tokens(of(&self.most)))
    }

    /// What is left above the half at which retries end: 1 if all, 0 if nothing.
    pub fn fill(&self) -> f64 {
        usable(fill(self.tokens.amount(), of(&self.most)))
    }
}

/// The usable part for this part of the maximum.
pub(super) fn usable(tokens: f64) -> f64 {
    (2.0 * tokens - 1.0).max(0.0)
}

/// The part of the maximum that has this usable part.
pub(super) fn of_usable(fill: f64) -> f64 {
    f64::midpoint(1.0, fill)
}

fn of(field: &AtomicU64) -> u32 {
    u32::try_from(field.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
}
