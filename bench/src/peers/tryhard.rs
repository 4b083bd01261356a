//! tryhard: a builder over the operation.

use tryhard::retry_fn;

use super::{AsyncPeer, BASE, CAP, RETRIES, WAIT};
use crate::drive::Drive;
use crate::operation::AsyncOperation;

/// Exponential backoff. It has no jitter.
pub struct Tryhard;

impl AsyncPeer for Tryhard {
    const PACKAGE: &'static str = "tryhard";
    const NOTE: &'static str = "no jitter";

    fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || {
            retry_fn(operation)
                .retries(RETRIES)
                .exponential_backoff(BASE)
                .max_delay(CAP)
        })
    }

    fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(move || retry_fn(operation).retries(RETRIES).fixed_backoff(WAIT))
    }
}
