//! Do the server layers keep their word? Over real sockets, where waits end with events and [`within`] only
//! bounds them, and on a clock that stands still.

mod admission;
mod deaf;
mod endless;
mod grpc;
mod layering;
mod memory;
mod model;
mod once;
mod overload;
mod pairs;
mod replays;
mod scope;
mod servers;
mod shares;
mod statuses;

use std::time::Duration;

/// Longer than any of these tests takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Fails where the future hangs.
async fn within<F: Future>(future: F) -> F::Output {
    let ended = tokio::time::timeout(LONG, future).await;
    ended.expect("it ends within a minute")
}
