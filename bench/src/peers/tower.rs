//! tower: a service around the service, with a policy that its user writes.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Sleep;
use tower::hedge::{self, Hedge};
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::retry::{Policy, Retry};
use tower::timeout::TimeoutLayer;
use tower::util::rng::HasherRng;
use tower::{Service, ServiceBuilder, service_fn};

use super::{ATTEMPT_TIMEOUT, AsyncPeer, BASE, CAP, DEADLINE, HEDGE_AFTER, RETRIES, Through, WAIT};
use crate::drive::Drive;
use crate::operation::AsyncOperation;
use crate::peers::Throttle;

/// Attempts and backoff.
pub struct Tower;

/// tower with the ratio budget.
pub struct TowerBudget;

/// How a policy waits.
pub trait Wait: Clone + 'static {
    /// The wait.
    type Future: Future<Output = ()> + 'static;

    /// The next one.
    fn next(&mut self) -> Self::Future;
}

/// Its exponential backoff with jitter.
pub type Jittered = ExponentialBackoff<HasherRng>;

impl Wait for Jittered {
    type Future = Sleep;

    fn next(&mut self) -> Sleep {
        self.next_backoff()
    }
}

#[derive(Clone)]
struct Constant;

impl Wait for Constant {
    type Future = Sleep;

    fn next(&mut self) -> Sleep {
        tokio::time::sleep(WAIT)
    }
}

#[derive(Clone)]
struct NoWait;

impl Wait for NoWait {
    type Future = Ready<()>;

    fn next(&mut self) -> Ready<()> {
        ready(())
    }
}

/// The policy of its documentation: attempts, a backoff, a budget that is shared.
#[derive(Clone)]
pub struct Attempts<W> {
    retries: u32,
    wait: W,
    budget: Option<Arc<TpsBudget>>,
}

impl Attempts<Jittered> {
    /// With the jittered backoff and a budget that pays a retry for each first try.
    pub fn jittered() -> Self {
        attempts(jittered(), true)
    }

    /// What its service does after a success.
    pub fn deposit(&self) {
        if let Some(budget) = &self.budget {
            budget.deposit();
        }
    }
}

fn attempts<W>(wait: W, with_budget: bool) -> Attempts<W> {
    Attempts {
        retries: RETRIES,
        wait,
        budget: with_budget.then(budget),
    }
}

/// A retry for each first try, and ten each second.
fn budget() -> Arc<TpsBudget> {
    Arc::new(TpsBudget::new(Duration::from_secs(10), 10, 1.0))
}

/// The delays grow from the base and have half of it on top at random.
fn jittered() -> Jittered {
    ExponentialBackoffMaker::new(BASE, CAP, 0.5, HasherRng::default())
        .expect("constants that it accepts")
        .make_backoff()
}

impl<W: Wait, E> Policy<(), u64, E> for Attempts<W> {
    type Future = W::Future;

    fn retry(&mut self, (): &mut (), result: &mut Result<u64, E>) -> Option<W::Future> {
        let budget = self.budget.as_deref();
        if result.is_ok() {
            if let Some(budget) = budget {
                budget.deposit();
            }
            return None;
        }
        if self.retries == 0 || !budget.is_none_or(Budget::withdraw) {
            return None;
        }
        self.retries -= 1;
        Some(self.wait.next())
    }

    fn clone_request(&mut self, (): &()) -> Option<()> {
        Some(())
    }
}

fn call<W: Wait, O: AsyncOperation, D: Drive>(
    policy: Attempts<W>,
    mut operation: O,
    drive: D,
) -> D::Output {
    let mut service = Retry::new(policy, service_fn(move |()| operation()));
    drive.drive(move || service.call(()))
}

macro_rules! layer {
    ($name:ident, $note:literal, $budget:literal) => {
        impl AsyncPeer for $name {
            const PACKAGE: &'static str = "tower";
            const NOTE: &'static str = $note;

            fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
                call(attempts(jittered(), $budget), operation, drive)
            }

            fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
                call(attempts(Constant, $budget), operation, drive)
            }

            fn without_wait<O: AsyncOperation, D: Drive>(
                operation: O,
                drive: D,
            ) -> Option<D::Output> {
                Some(call(attempts(NoWait, $budget), operation, drive))
            }
        }
    };
}

layer!(Tower, "", false);
layer!(TowerBudget, "shared budget", true);

/// The ratio budget, as a policy holds it.
#[derive(Clone)]
struct Shared(Arc<TpsBudget>);

/// A budget whose deposit pays for a retry.
pub fn tps_budget() -> impl Throttle {
    Shared(budget())
}

impl Throttle for Shared {
    #[inline]
    fn success(&mut self) {
        self.0.deposit();
    }

    #[inline]
    fn recovery(&mut self) -> bool {
        let granted = self.0.withdraw();
        self.0.deposit();
        granted
    }

    fn failure(&mut self) -> bool {
        self.0.withdraw()
    }
}

/// One hedge at a percentile of the latencies.
pub struct TowerHedge;

/// Every request may be hedged.
#[derive(Clone)]
struct Always;

impl hedge::Policy<()> for Always {
    fn clone_request(&self, (): &()) -> Option<()> {
        Some(())
    }

    fn can_retry(&self, (): &()) -> bool {
        true
    }
}

impl Through for TowerHedge {
    const PACKAGE: &'static str = "tower";
    const NOTE: &'static str = "95th percentile";

    /// With latencies to take the percentile of, as it has them after its first period. The period
    /// outlasts the run, because between the rounds nothing is recorded.
    fn through<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> D::Output {
        let service = service_fn(move |()| operation());
        let latencies = [u64::try_from(HEDGE_AFTER.as_millis()).unwrap_or(u64::MAX); 100];
        let period = Duration::from_hours(1);
        let mut hedge =
            Hedge::new_with_mock_latencies(service, Always, 10, 0.95, period, &latencies);
        drive.drive(move || hedge.call(()))
    }
}

/// Deadline, retry with a budget, attempt timeout.
pub struct TowerStack;

impl Through for TowerStack {
    const PACKAGE: &'static str = "tower";
    const NOTE: &'static str = "no breaker";

    fn through<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> D::Output {
        let mut service = ServiceBuilder::new()
            .layer(TimeoutLayer::new(DEADLINE))
            .retry(attempts(jittered(), true))
            .layer(TimeoutLayer::new(ATTEMPT_TIMEOUT))
            .service(service_fn(move |()| operation()));
        drive.drive(move || service.call(()))
    }
}
