//! backon: an extension method on the operation.

use std::future::ready;

use backon::{BlockingRetryable, ConstantBuilder, ExponentialBuilder, Retryable};

use super::{AsyncPeer, BASE, BlockingPeer, CAP, RETRIES, WAIT};
use crate::drive::{Drive, DriveBlocking};
use crate::operation::{AsyncOperation, BlockingOperation};

/// Exponential backoff with its own jitter.
pub struct Backon;

/// The policy that every library is given here.
pub fn exponential() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(BASE)
        .with_max_delay(CAP)
        .with_max_times(RETRIES as usize)
        .with_jitter()
}

fn constant() -> ConstantBuilder {
    ConstantBuilder::default()
        .with_delay(WAIT)
        .with_max_times(RETRIES as usize)
}

impl AsyncPeer for Backon {
    const PACKAGE: &'static str = "backon";

    fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || Retryable::retry(operation, exponential()))
    }

    fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || Retryable::retry(operation, constant()))
    }

    fn without_wait<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> Option<D::Output> {
        Some(drive.drive(move || Retryable::retry(operation, exponential()).sleep(|_| ready(()))))
    }
}

impl BlockingPeer for Backon {
    const PACKAGE: &'static str = "backon";

    fn usual<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output {
        drive.drive(move || BlockingRetryable::retry(operation, exponential()).call())
    }

    fn without_wait<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output {
        drive.drive(move || {
            BlockingRetryable::retry(operation, exponential())
                .sleep(|_| ())
                .call()
        })
    }
}
