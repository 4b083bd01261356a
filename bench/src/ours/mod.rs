//! How is the same call written with becalm?

pub mod breaker;
mod clocks;
pub mod guarded;
pub mod throttle;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::time::{Sleep, Sleeper, TokioSleeper};
use becalm::{Budget, Cancel, Classify, Failure, Jitter, Policy, Retrier, time::Instant};

use crate::drive::{Drive, DriveBlocking};
use crate::operation::{AsyncOperation, BlockingOperation, Failed};
use crate::peers::{AsyncPeer, BASE, BlockingPeer, CAP, DEADLINE, RETRIES, WAIT};

/// The default: full jitter, a shared budget, nested retries detected.
pub struct Becalm;

/// The default without a budget.
pub struct BecalmWithoutBudget;

/// The default with a deadline.
pub struct BecalmDeadline;

impl Classify for Failed {
    fn classify(&self) -> Failure {
        Failure::transient()
    }
}

/// The policy that every library is given here.
pub fn exponential() -> Policy {
    Policy::exponential(BASE).cap(CAP).attempts(RETRIES + 1)
}

/// In a program it would be a `static`.
pub fn retrier(policy: Policy) -> &'static Retrier {
    let retrier = policy.retrier().expect("constants within their ranges");
    Box::leak(Box::new(retrier))
}

fn retrier_without_timer(policy: Policy) -> &'static Retrier {
    let retrier = policy.builder().sleeper(NoTimer::default()).build();
    Box::leak(Box::new(retrier.expect("constants within their ranges")))
}

/// A deposit of one token for each call that succeeds pays for the one retry of each measured call.
fn paid(policy: Policy) -> Policy {
    match policy.budget {
        Budget::Ratio(_) => policy.budget(Budget::ratio(1.0)),
        _ => policy,
    }
}

/// The default sleeper, but for the timer.
#[derive(Debug, Default)]
struct NoTimer(TokioSleeper);

impl Sleeper for NoTimer {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep_until(&self, _: Instant) -> Sleep {
        Box::pin(Over)
    }

    fn block_until(&self, _: Instant, _: Option<&Cancel>) {}

    fn granularity(&self) -> Duration {
        self.0.granularity()
    }
}

/// A wait that is over. It has no size, so that its box is no allocation: what is counted is becalm's own.
struct Over;

impl Future for Over {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

fn run<O: AsyncOperation, D: Drive>(
    retrier: &'static Retrier,
    mut operation: O,
    drive: D,
) -> D::Output {
    drive.drive(move || retrier.retry(move |_| operation()))
}

fn run_blocking<O: BlockingOperation, D: DriveBlocking>(
    retrier: &'static Retrier,
    mut operation: O,
    drive: D,
) -> D::Output {
    drive.drive(move || retrier.retry_blocking(move |_| operation()))
}

macro_rules! rows {
    ($($name:ident, $note:literal, $policy:ident => $with:expr;)*) => {$(
        impl AsyncPeer for $name {
            const PACKAGE: &'static str = "becalm";
            const NOTE: &'static str = $note;

            fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
                let $policy = exponential();
                run(retrier($with), operation, drive)
            }

            fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
                let $policy = Policy::fixed(WAIT).jitter(Jitter::None);
                run(retrier(paid($with)), operation, drive)
            }

            fn without_wait<O: AsyncOperation, D: Drive>(
                operation: O,
                drive: D,
            ) -> Option<D::Output> {
                let $policy = exponential();
                Some(run(retrier_without_timer(paid($with)), operation, drive))
            }
        }

        impl BlockingPeer for $name {
            const PACKAGE: &'static str = "becalm";
            const NOTE: &'static str = $note;

            fn usual<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output {
                let $policy = exponential();
                run_blocking(retrier($with), operation, drive)
            }

            fn without_wait<O: BlockingOperation, D: DriveBlocking>(
                operation: O,
                drive: D,
            ) -> D::Output {
                let $policy = exponential();
                run_blocking(retrier_without_timer(paid($with)), operation, drive)
            }
        }
    )*};
}

rows! {
    Becalm, "shared budget", policy => policy;
    BecalmWithoutBudget, "", policy => policy.budget(Budget::None);
    BecalmDeadline, "shared budget, deadline", policy => policy.deadline(DEADLINE);
}
