//! tokio-retry: a future over an iterator of delays.

use std::time::Duration;

use tokio_retry::Retry;
use tokio_retry::strategy::{ExponentialBackoff, FixedInterval, jitter};

use super::{AsyncPeer, CAP, RETRIES, WAIT};
use crate::drive::Drive;
use crate::operation::AsyncOperation;

/// Exponential backoff with full jitter.
pub struct TokioRetry;

/// 100 ms doubled: its `from_millis` takes the base of the power, its factor the unit.
fn exponential() -> impl Iterator<Item = Duration> {
    ExponentialBackoff::from_millis(2)
        .factor(50)
        .max_delay(CAP)
        .map(jitter)
        .take(RETRIES as usize)
}

impl AsyncPeer for TokioRetry {
    const PACKAGE: &'static str = "tokio-retry";

    fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || Retry::start(exponential(), operation))
    }

    fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || {
            let delays = FixedInterval::new(WAIT).take(RETRIES as usize);
            Retry::start(delays, operation)
        })
    }
}
