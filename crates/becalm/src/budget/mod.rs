//! How many retries may all calls to one dependency make together?
//!
//! [`Budget`] is the configuration, plain data; [`RetryBudget`] is the seam behind which the
//! kinds keep their state; [`Budgets`] is the state of whatever is configured, [`RatioBudget`]
//! that of the default kind alone. A kind of your own implements
//! [`RetryBudget`]; the crate becalm-fleet has one that many processes share.

mod account;
mod balance;
mod bound;
mod burst;
mod concurrency;
mod config;
mod earnings;
mod grpc;
#[cfg(feature = "std")]
mod idle;
mod invalid;
mod kind;
mod kinds;
mod per_minute;
mod ratio;
mod set;
mod slices;
mod tokens;
mod when_spent;
mod window;
mod withdrawal;

pub use burst::Burst;
pub use config::{Concurrency, Grpc, PerMinute, Ratio, Tokens, Window};
pub use invalid::InvalidBudget;
pub use kind::{Budget, Kind};
pub use ratio::RatioBudget;
pub use set::{Budgets, Gauge};
pub use when_spent::WhenSpent;
pub use withdrawal::Withdrawal;

use core::fmt;

use crate::classify::Failure;
use crate::time::Instant;

/// Shared state that bounds the retries of all calls together.
///
/// A call that succeeds deposits; a retry withdraws *before* it waits. What was withdrawn is refunded
/// when the retry never starts; once the operation has been invoked for it, it is [spent](Self::spent),
/// or handed to [`on_success`](Self::on_success) by the call that succeeds. All methods may be
/// called from many threads at once and must not over-grant under any interleaving.
pub trait RetryBudget: fmt::Debug + Send + Sync {
    /// Whether [`first_try`](Self::first_try), [`deposit`](Self::deposit) or
    /// [`on_success`](Self::on_success) look at their `now`. Where they do not, callers may pass any
    /// instant, and save a clock read at the start and at the end of every call.
    fn reads_clock(&self) -> bool {
        true
    }

    /// The first attempt of a call begins; a probe of the breaker is not told.
    fn first_try(&self, _now: Instant) {}

    /// A call has succeeded, once for each whatever its attempts; by a probe of the breaker it is not
    /// told.
    fn deposit(&self, now: Instant);

    /// A retry or a hedge after this failure asks to be paid for; `None` means denied, and changes
    /// nothing.
    fn withdraw(&self, now: Instant, failure: &Failure) -> Option<Withdrawal>;

    /// A retry that was paid for never starts; returns exactly what it had taken.
    fn refund(&self, withdrawal: Withdrawal);

    /// How full the budget is, from 0 (nothing left) to 1.
    fn fill(&self, now: Instant) -> f64;

    /// How much is left, where it counts as one of the [kinds](Kind) does; by default nothing is told.
    fn gauge(&self, _now: Instant) -> Option<Gauge> {
        None
    }

    /// Whether the methods below want to be called. Budgets that look at successful calls, first
    /// tries and retries alone leave it.
    fn hears_calls(&self) -> bool {
        false
    }

    /// A call begins, a first try or not.
    fn call_began(&self) {}

    /// A call has ended, in whatever way. Told once for each [`call_began`](Self::call_began), and
    /// for no other call: one that began before the budget wanted to hear of it is not told of.
    fn call_ended(&self) {}

    /// An attempt has failed; told before the withdrawal that may follow.
    fn on_failure(&self, _now: Instant, _failure: &Failure) {}

    /// A call has succeeded. `last` is what its last retry or hedge had taken, `None` for a clean
    /// success; it is told in place of [`spent`](Self::spent).
    fn on_success(&self, _now: Instant, _last: Option<Withdrawal>) {}

    /// A retry that was paid for, and did start, has ended without success.
    fn spent(&self, _withdrawal: Withdrawal) {}
}
