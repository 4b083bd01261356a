//! How is a call written that is hedged, and one that has every protection?

use becalm::breaker::Breaker;
use becalm::time::TokioSleeper;
use becalm::{Hedge, Policy, Retrier, Sleeper};

use super::clocks::Ticking;
use super::exponential;
use crate::drive::{Drive, complete};
use crate::operation::{AsyncOperation, succeed};
use crate::peers::{ATTEMPT_TIMEOUT, DEADLINE, HEDGE_AFTER, Through};

/// On a clock whose reading is free.
pub const WITHOUT_CLOCK: &str = "besides its clock reads";

/// A policy with a deadline, retries, a breaker, a budget and an attempt timeout.
pub fn every_protection() -> Policy {
    exponential()
        .deadline(DEADLINE)
        .breaker(Breaker::default())
        .attempt_timeout(ATTEMPT_TIMEOUT)
}

/// A policy with a hedge after a fixed delay.
pub fn hedge_after() -> Policy {
    exponential().hedge(Hedge::after(HEDGE_AFTER))
}

/// A policy with a hedge at a quantile of the latencies.
pub fn hedge_at() -> Policy {
    exponential().hedge(Hedge::at_quantile(0.95))
}

/// More latencies than a quantile needs.
const LATENCIES: u32 = 200;

/// The retrier, as it is once it has served some calls.
fn retrier(policy: Policy, sleeper: impl Sleeper) -> &'static Retrier {
    let retrier = policy.builder().sleeper(sleeper).build();
    let retrier = Box::leak(Box::new(retrier.expect("constants within their ranges")));
    for _ in 0..LATENCIES {
        assert!(complete(retrier.retry(|_| succeed())).is_ok());
    }
    retrier
}

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident, $note:expr, $breaks:literal, $policy:ident, $sleeper:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Through for $name {
            const PACKAGE: &'static str = "becalm";
            const NOTE: &'static str = $note;
            const BREAKS: bool = $breaks;

            fn through<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> D::Output {
                let retrier = retrier($policy(), $sleeper);
                drive.drive(move || retrier.retry(move |_| operation()))
            }
        }
    )*};
}

rows! {
    /// Deadline, retry with a budget, breaker, attempt timeout.
    Stack, "", true, every_protection, TokioSleeper::new();
    /// Every protection on a clock whose reading is free.
    StackWithoutClock, WITHOUT_CLOCK, true, every_protection, Ticking::default();
    /// A hedge after a fixed delay, and retries with a budget.
    HedgeAfter, "fixed delay", false, hedge_after, TokioSleeper::new();
    /// A hedge after a fixed delay on a clock whose reading is free.
    HedgeAfterWithoutClock, "fixed delay, besides its clock reads", false, hedge_after, Ticking::default();
    /// A hedge at a quantile, and retries with a budget.
    HedgeAt, "95th percentile", false, hedge_at, TokioSleeper::new();
    /// A hedge at a quantile on a clock whose reading is free.
    HedgeAtWithoutClock, "95th percentile, besides its clock reads", false, hedge_at, Ticking::default();
}
