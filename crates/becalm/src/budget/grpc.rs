//! When have failures outweighed successes so far that gRPC makes no more retries?

use super::account::{Account, Fill, Level};
use super::balance::{Balance, fill, part};
use super::config::Grpc;
use super::kind::Budget;
use crate::classify::{Class, Failure};
use crate::hint::Hint;
use crate::sync::{AtomicU32, Ordering};
use crate::time::Instant;

impl Budget {
    /// gRPC's `retryThrottling` with this `maxTokens` and `tokenRatio`.
    pub const fn grpc(max_tokens: u32, token_ratio: f64) -> Self {
        Self::Grpc(Grpc {
            max_tokens,
            token_ratio,
        })
    }
}

/// A token, in the unit of the word: A6 knows three decimals.
const TOKEN: u32 = 1000;

/// gRFC A6, *Throttling Retry Attempts and Hedged RPCs*: one word of thousandths of a token.
///
/// A success while it is full writes nothing.
#[derive(Debug, Default)]
#[repr(align(128))] // two cache lines: neighbours must not share the word's line
pub(super) struct GrpcBudget {
    tokens: Balance,
    /// In thousandths.
    most: AtomicU32,
    ratio: AtomicU32,
}

impl Account for GrpcBudget {
    /// One that was open before has the same part of the maximum as then. That is how gRPC's C-core
    /// reloads: old / old maximum x new maximum.
    fn open(&self, generation: u32, own: Option<Budget>, fill: Fill, _now: Instant) {
        let Some(Budget::Grpc(config)) = own else {
            return;
        };
        let tokens = fill.own.unwrap_or_else(|| of_usable(fill.usable));
        let most = config.max_tokens.saturating_mul(TOKEN);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // 0.29 x 1000 is a bit less than 290
        let ratio = (config.token_ratio * f64::from(TOKEN) + 1e-6) as u32;
        self.most.store(most, Ordering::Relaxed);
        self.ratio.store(ratio, Ordering::Relaxed);
        self.tokens.open(generation, part(most, tokens));
    }

    fn close(&self, _now: Instant) -> Fill {
        let tokens = fill(self.tokens.close(), self.most.load(Ordering::Relaxed));
        Fill {
            own: Some(tokens),
            ..Fill::of(usable(tokens))
        }
    }

    /// Takes nothing: what counts has failed before.
    fn take(&self, _generation: u32, _now: Instant, _failure: &Failure) -> Option<u32> {
        // A closed one holds nothing, which is not more than half of anything.
        (self.tokens.amount() > self.most.load(Ordering::Relaxed) / 2).then_some(0)
    }

    fn put_back(&self, _generation: u32, _taken: u32) {}

    /// Its fill is what is left above the half at which retries end.
    fn level(&self, _now: Instant) -> Level {
        let (amount, most) = (self.tokens.amount(), self.most.load(Ordering::Relaxed));
        let tokens = |thousandths: u32| f64::from(thousandths) / f64::from(TOKEN);
        Level {
            left: tokens(amount),
            most: tokens(most),
            fill: usable(fill(amount, most)),
        }
    }

    fn failed(&self, failure: &Failure) {
        let may_be_retried = matches!(failure.class, Class::Transient | Class::Throttled);
        if may_be_retried || failure.hint == Some(Hint::Stop) {
            self.tokens.change(None, &mut |tokens| {
                (tokens > 0).then(|| tokens.saturating_sub(TOKEN))
            });
        }
    }

    fn call_succeeded(&self, _is_clean: bool) {
        self.tokens.change(None, &mut |tokens| {
            let next = tokens
                .saturating_add(self.ratio.load(Ordering::Relaxed))
                .min(self.most.load(Ordering::Relaxed));
            (next != tokens).then_some(next)
        });
    }
}

/// The usable part for this part of the maximum.
fn usable(tokens: f64) -> f64 {
    (2.0 * tokens - 1.0).max(0.0)
}

/// The part of the maximum that has this usable part.
fn of_usable(fill: f64) -> f64 {
    f64::midpoint(1.0, fill)
}
