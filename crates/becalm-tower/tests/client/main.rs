//! Do the client layers keep to HTTP? Over services made up for the case, on a clock that stands still;
//! and over real sockets, where waits end with events and [`within`] only bounds them.

mod bodies;
mod connections;
mod made_up;
mod options;
mod pieces;
mod responses;
mod scope;
mod sent_once;
mod servers;

use std::time::Duration;

/// Longer than any of these tests takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Fails where the future hangs.
async fn within<F: Future>(future: F) -> F::Output {
    let ended = tokio::time::timeout(LONG, future).await;
    ended.expect("it ends within a minute")
}
