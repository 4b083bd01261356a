//! How is the same call written with each library?
//!
//! One file for each. Policies say the same thing as far as the library can say it: four attempts
//! in all, 100 ms doubled up to 20 s, jittered. What is prepared once by a user (a service, a
//! policy, a retrier) is prepared once here; what a user writes for each call is written for each
//! call.

mod backoff;
mod backon;
mod bare;
pub mod execution_policy;
mod mettle;
mod retry;
mod tokio_retry;
pub mod tower;
mod tryhard;

use std::time::Duration;

pub use self::backoff::Backoff;
pub use self::backon::Backon;
pub use self::bare::Bare;
pub use self::mettle::{Mettle, MettleDeadline};
pub use self::retry::Retry;
pub use self::tokio_retry::TokioRetry;
pub use self::tryhard::Tryhard;

use crate::drive::{Drive, DriveBlocking};
use crate::operation::{AsyncOperation, BlockingOperation};

/// Retries after the first try.
pub const RETRIES: u32 = 3;
/// The first ceiling.
pub const BASE: Duration = Duration::from_millis(100);
/// The longest delay.
pub const CAP: Duration = Duration::from_secs(20);
/// The wait of [`AsyncPeer::waiting`].
pub const WAIT: Duration = Duration::from_millis(1);
/// The deadline of the rows that have one.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A library with an async interface.
pub trait AsyncPeer {
    /// The package.
    const PACKAGE: &'static str;
    /// What is particular about this way of using it.
    const NOTE: &'static str = "";
    /// Whether it retries at all.
    const RETRIES: bool = true;

    /// The policy above, as a user would write it.
    fn usual<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output;

    /// Waits of one millisecond on tokio's timer.
    fn waiting<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output;

    /// No wait and no timer; nothing where the library offers no way to leave its timer out.
    fn without_wait<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> Option<D::Output> {
        let _ = (operation, drive);
        None
    }
}

/// A library with a blocking interface.
pub trait BlockingPeer {
    /// The package.
    const PACKAGE: &'static str;
    /// What is particular about this way of using it.
    const NOTE: &'static str = "";
    /// Whether it retries at all.
    const RETRIES: bool = true;

    /// The policy above, as a user would write it.
    fn usual<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output;

    /// No wait.
    fn without_wait<O: BlockingOperation, D: DriveBlocking>(operation: O, drive: D) -> D::Output;
}
