//! backoff: a function over an operation whose errors say whether they are transient.

use std::future::{Ready, ready};
use std::time::Duration;

use backoff::future::{Retry, Sleeper};
use backoff::{ExponentialBackoff, ExponentialBackoffBuilder};

use super::{AsyncPeer, BASE, BlockingPeer, CAP, WAIT};
use crate::drive::{Drive, DriveBlocking};
use crate::operation::{AsyncOperation, BlockingOperation};

/// Exponential backoff with proportional jitter. It has no bound on attempts but on time.
pub struct Backoff;

fn exponential() -> ExponentialBackoff {
    ExponentialBackoffBuilder::new()
        .with_initial_interval(BASE)
        .with_multiplier(2.0)
        .with_max_interval(CAP)
        .build()
}

fn constant() -> ExponentialBackoff {
    ExponentialBackoffBuilder::new()
        .with_initial_interval(WAIT)
        .with_multiplier(1.0)
        .with_randomization_factor(0.0)
        .with_max_interval(WAIT)
        .build()
}

struct NoTimer;

impl Sleeper for NoTimer {
    type Sleep = Ready<()>;

    fn sleep(&self, _: Duration) -> Ready<()> {
        ready(())
    }
}

impl AsyncPeer for Backoff {
    const PACKAGE: &'static str = "backoff";
    const NOTE: &'static str = "bounds the time, not the attempts";

    fn usual<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> D::Output {
        drive.drive(move || {
            backoff::future::retry(exponential(), move || {
                let attempt = operation();
                async move { attempt.await.map_err(backoff::Error::transient) }
            })
        })
    }

    fn waiting<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> D::Output {
        drive.drive(move || {
            backoff::future::retry(constant(), move || {
                let attempt = operation();
                async move { attempt.await.map_err(backoff::Error::transient) }
            })
        })
    }

    fn without_wait<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> Option<D::Output> {
        Some(drive.drive(move || {
            Retry::new(
                NoTimer,
                exponential(),
                |_, _| (),
                move || {
                    let attempt = operation();
                    async move { attempt.await.map_err(backoff::Error::transient) }
                },
            )
        }))
    }
}

impl BlockingPeer for Backoff {
    const PACKAGE: &'static str = "backoff";
    const NOTE: &'static str = "bounds the time, not the attempts";

    fn usual<O: BlockingOperation, D: DriveBlocking>(mut operation: O, drive: D) -> D::Output {
        drive.drive(move || {
            backoff::retry(exponential(), || {
                operation().map_err(backoff::Error::transient)
            })
        })
    }

    fn without_wait<O: BlockingOperation, D: DriveBlocking>(
        mut operation: O,
        drive: D,
    ) -> D::Output {
        drive.drive(move || {
            let mut zero = exponential();
            zero.initial_interval = Duration::ZERO;
            zero.current_interval = Duration::ZERO;
            zero.randomization_factor = 0.0;
            backoff::retry(zero, || operation().map_err(backoff::Error::transient))
        })
    }
}
