//! Does the client keep to HTTP? Over real sockets on loopback; waits end with events, and [`within`]
//! only bounds them.

mod answers;
mod bodies;
mod credentials;
mod options;
mod redirects;
#[cfg(feature = "h2")]
mod refused;
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
