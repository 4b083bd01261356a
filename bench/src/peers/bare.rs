//! What does the call cost without any library?

use super::{AsyncPeer, BARE, BlockingPeer, Through};
use crate::drive::{Drive, DriveBlocking};
use crate::operation::{AsyncOperation, BlockingOperation};

/// The operation itself, called by nobody else; a failing one is called again in a loop.
pub struct Bare;

impl AsyncPeer for Bare {
    const PACKAGE: &'static str = BARE;
    const RETRIES: bool = false;

    fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(operation)
    }

    fn waiting<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> D::Output {
        drive.drive(move || async move {
            loop {
                match operation().await {
                    Ok(value) => return Ok::<u64, crate::operation::Failed>(value),
                    Err(_) => tokio::time::sleep(super::WAIT).await,
                }
            }
        })
    }

    fn without_wait<O: AsyncOperation, D: Drive>(mut operation: O, drive: D) -> Option<D::Output> {
        Some(drive.drive(move || async move {
            loop {
                if let Ok(value) = operation().await {
                    return Ok::<u64, crate::operation::Failed>(value);
                }
            }
        }))
    }
}

impl BlockingPeer for Bare {
    const PACKAGE: &'static str = BARE;
    const RETRIES: bool = false;

    fn usual<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output {
        drive.drive(operation)
    }

    fn without_wait<O: BlockingOperation, D: DriveBlocking>(
        mut operation: O,
        drive: D,
    ) -> D::Output {
        drive.drive(move || {
            loop {
                if let Ok(value) = operation() {
                    return Ok::<u64, crate::operation::Failed>(value);
                }
            }
        })
    }
}

impl Through for Bare {
    const PACKAGE: &'static str = BARE;
    const GUARDS: bool = false;

    fn through<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output {
        drive.drive(operation)
    }
}
