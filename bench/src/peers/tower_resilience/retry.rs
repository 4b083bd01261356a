//! Its retry: a layer around a service.

use std::sync::Arc;

use tower::{Layer, Service, service_fn};
use tower_resilience_retry::{
    ExponentialRandomBackoff, RetryBudget, RetryBudgetBuilder, RetryConfigBuilder, RetryLayer,
};

use crate::drive::Drive;
use crate::operation::{AsyncOperation, Failed};
use crate::peers::Throttle;
use crate::peers::{AsyncPeer, BASE, CAP, RETRIES, WAIT};

/// The package.
pub const PACKAGE: &str = "tower-resilience-retry";

/// Attempts and backoff.
pub struct TowerResilience;

/// tower-resilience with a shared budget that pays a retry for each first try.
pub struct TowerResilienceBudget;

type Builder<E> = RetryConfigBuilder<(), u64, E>;

/// The policy.
pub fn exponential<E>() -> Builder<E> {
    let backoff = ExponentialRandomBackoff::new(BASE, 0.5).expect("a constant that it accepts");
    attempts().backoff(backoff.max_interval(CAP))
}

fn constant() -> Builder<Failed> {
    attempts().fixed_backoff(WAIT)
}

fn attempts<E>() -> Builder<E> {
    RetryLayer::builder().max_attempts(RETRIES as usize + 1)
}

/// Its token bucket: a deposit for each success.
pub fn bucket() -> Arc<dyn RetryBudget> {
    let bucket = RetryBudgetBuilder::new().token_bucket();
    bucket.build().expect("its defaults")
}

fn call<O: AsyncOperation, D: Drive>(
    builder: Builder<Failed>,
    mut operation: O,
    drive: D,
) -> D::Output {
    let mut service = builder.build().layer(service_fn(move |()| operation()));
    drive.drive(move || service.call(()))
}

macro_rules! layer {
    ($name:ident, $note:literal, $builder:ident => $with:expr) => {
        impl AsyncPeer for $name {
            const PACKAGE: &'static str = PACKAGE;
            const NOTE: &'static str = $note;

            fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
                let $builder = exponential();
                call($with, operation, drive)
            }

            fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
                let $builder = constant();
                call($with, operation, drive)
            }
        }
    };
}

layer!(TowerResilience, "", builder => builder);
layer!(TowerResilienceBudget, "shared budget", builder => builder.budget(bucket()));

/// A budget as its service holds it.
#[derive(Clone)]
struct Shared(Arc<dyn RetryBudget>);

/// The token bucket, whose success pays for a retry.
pub fn token_bucket() -> impl Throttle {
    Shared(bucket())
}

/// The budget whose size itself is adapted.
pub fn aimd() -> impl Throttle {
    let budget = RetryBudgetBuilder::new().aimd();
    Shared(budget.build().expect("its defaults"))
}

impl Throttle for Shared {
    #[inline]
    fn success(&mut self) {
        self.0.deposit();
    }

    #[inline]
    fn recovery(&mut self) -> bool {
        let granted = self.0.try_withdraw();
        self.0.deposit();
        granted
    }

    fn failure(&mut self) -> bool {
        self.0.try_withdraw()
    }
}
