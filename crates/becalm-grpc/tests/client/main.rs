//! Are calls of tonic repeated where they may be, and only there? Over loopback, against a server of tonic and a raw one of
//! HTTP/2, which count what they see; in virtual time where waits matter.

mod allocations;
mod channels;
mod config;
mod faults;
mod foreign;
mod grpcio;
mod orders;
mod raw;
mod readiness;
mod server;
mod silent;
mod statuses;
mod streams;

use std::time::Duration;

/// Fails where the future hangs.
async fn within<F: IntoFuture>(future: F) -> F::Output {
    let ended = tokio::time::timeout(Duration::from_secs(60), future).await;
    ended.expect("it ends within a minute")
}
