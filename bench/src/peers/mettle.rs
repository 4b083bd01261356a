//! mettle: a builder over the operation, async and blocking.

use std::future::{Ready, ready};
use std::time::{Duration, Instant};

use mettle::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffConfig, Jittered};
use mettle::clock::{Clock, TokioClock};
use mettle::{blocking, retry};

use super::{AsyncPeer, BASE, BlockingPeer, CAP, DEADLINE, RETRIES, WAIT};
use crate::drive::{Drive, DriveBlocking};
use crate::operation::{AsyncOperation, BlockingOperation};

/// Exponential backoff with full jitter.
pub struct Mettle;

/// mettle with a bound on the time of the whole call.
pub struct MettleDeadline;

fn exponential() -> Jittered<ExponentialBackoff> {
    backoff(BASE, CAP, 2).jittered()
}

fn constant() -> ExponentialBackoff {
    backoff(WAIT, WAIT, 1)
}

fn backoff(base: Duration, max_delay: Duration, factor: u32) -> ExponentialBackoff {
    ExponentialBackoff::new(ExponentialBackoffConfig {
        factor,
        base,
        max_retries: RETRIES,
        max_delay,
    })
    .expect("constants that it accepts")
}

/// Its own clock, but for the timer.
#[derive(Clone, Copy)]
struct NoTimer;

impl Clock for NoTimer {
    type Sleep = Ready<()>;

    fn now(&self) -> Instant {
        TokioClock.now()
    }

    fn sleep(&self, _: Duration) -> Ready<()> {
        ready(())
    }
}

impl blocking::Clock for NoTimer {
    fn now(&self) -> Instant {
        blocking::Clock::now(&blocking::StdClock)
    }

    fn sleep(&self, _: Duration) {}
}

impl AsyncPeer for Mettle {
    const PACKAGE: &'static str = "mettle";

    fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || retry(operation).backoff(exponential()).into_future())
    }

    fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || retry(operation).backoff(constant()).into_future())
    }

    fn without_wait<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> Option<D::Output> {
        Some(drive.drive(move || {
            let call = retry(operation).backoff(exponential());
            call.clock(NoTimer).into_future()
        }))
    }
}

impl AsyncPeer for MettleDeadline {
    const PACKAGE: &'static str = "mettle";
    const NOTE: &'static str = "deadline";

    fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || {
            let call = retry(operation).backoff(exponential());
            call.max_elapsed(DEADLINE).into_future()
        })
    }

    fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || {
            let call = retry(operation).backoff(constant());
            call.max_elapsed(DEADLINE).into_future()
        })
    }
}

impl BlockingPeer for Mettle {
    const PACKAGE: &'static str = "mettle";

    fn usual<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output {
        drive.drive(move || blocking::retry(operation).backoff(exponential()).call())
    }

    fn without_wait<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output {
        drive.drive(move || {
            let call = blocking::retry(operation).backoff(exponential());
            call.clock(NoTimer).call()
        })
    }
}
