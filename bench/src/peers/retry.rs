//! retry: a function over an iterator of delays.

use std::time::Duration;

use retry::delay::{Exponential, jitter};

use super::{BASE, BlockingPeer, CAP, RETRIES};
use crate::drive::DriveBlocking;
use crate::operation::BlockingOperation;

/// Exponential backoff with full jitter; the cap is an adaptor of the iterator.
pub struct Retry;

#[expect(clippy::cast_possible_truncation)] // 100
fn exponential(base: Duration) -> impl Iterator<Item = Duration> {
    Exponential::from_millis_with_factor(base.as_millis() as u64, 2.0)
        .map(|delay| delay.min(CAP))
        .map(jitter)
        .take(RETRIES as usize)
}

impl BlockingPeer for Retry {
    const PACKAGE: &'static str = "retry";

    fn usual<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output {
        drive.drive(move || retry::retry(exponential(BASE), operation))
    }

    fn without_wait<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output {
        drive.drive(move || retry::retry(exponential(Duration::ZERO), operation))
    }
}
