//! How is the same call written with each library?
//!
//! One file for each. Policies say the same thing as far as the library can say it: four attempts
//! in all, 100 ms doubled up to 20 s, jittered. What is prepared once by a user (a service, a
//! policy, a retrier) is prepared once here; what a user writes for each call is written for each
//! call.

pub mod aws_smithy;
mod backoff;
mod backon;
mod bare;
pub mod execution_policy;
pub mod failsafe;
pub mod google_gax;
mod mettle;
pub mod recloser;
mod retry;
mod tokio_retry;
pub mod tower;
pub mod tower_resilience;
mod tryhard;

use std::time::Duration;

pub use self::backoff::Backoff;
pub use self::backon::{Backon, exponential as backon_exponential};
pub use self::bare::Bare;
pub use self::google_gax::GoogleGax;
pub use self::mettle::{Mettle, MettleDeadline};
pub use self::retry::Retry;
pub use self::tokio_retry::TokioRetry;
pub use self::tower::TowerHedge;
pub use self::tower_resilience::TowerResilienceHedge;
pub use self::tryhard::Tryhard;

use crate::drive::{Drive, DriveBlocking};
use crate::operation::{AsyncOperation, BlockingOperation, Outcome};

/// The name of the row without a library.
pub const BARE: &str = "the bare call";
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

/// The timeout of an attempt, of the rows that have one.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// When a hedge is sent.
pub const HEDGE_AFTER: Duration = Duration::from_millis(100);

/// A way to make an async call through something that leaves a fast success alone.
pub trait Through {
    /// The package.
    const PACKAGE: &'static str;
    /// What is particular about this way of using it.
    const NOTE: &'static str = "";
    /// Whether there is anything.
    const GUARDS: bool = true;
    /// Whether a breaker is part of it.
    const BREAKS: bool = false;

    /// The call, as a user would write it.
    fn through<O: AsyncOperation, D: Drive>(operation: O, drive: D) -> D::Output;
}

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

/// A closed breaker as one thread holds it; clones share its state.
pub trait Breaker: Clone + Send + 'static {
    /// A call through it whose operation replies with the request, as the library's documentation
    /// makes one; nothing where the breaker rejects it.
    fn call(&mut self, request: Outcome) -> Option<Outcome>;
}

/// What decides whether a call may be retried, as one thread holds it; clones share its state.
///
/// Each method does what the library's own loop does for such a call, and nothing else of the loop.
pub trait Throttle: Clone + Send + 'static {
    /// A call that succeeds at its first attempt.
    fn success(&mut self);

    /// A call whose first attempt fails and whose retry, if it is granted, succeeds.
    fn recovery(&mut self) -> bool;

    /// An attempt fails; whether a retry is granted, which is then under way for ever.
    fn failure(&mut self) -> bool;
}
