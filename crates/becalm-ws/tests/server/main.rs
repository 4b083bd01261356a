//! Does a server let a herd in at its rate, tell the others when to come, and leave without losing anybody? Over real sockets.

mod crowds;
mod drains;
mod http2;
mod killed;
mod layering;
mod peers;
#[cfg(unix)]
mod processes;
mod refusals;
mod returns;
mod servers;
mod silences;
#[cfg(feature = "rustls-webpki-roots")]
mod tls;
#[cfg(feature = "rustls-webpki-roots")]
#[path = "../tls_support/mod.rs"]
mod tls_support;

use std::time::Duration;

/// What does not happen within ten seconds does not happen.
async fn within<F: Future>(future: F) -> F::Output {
    let bounded = tokio::time::timeout(Duration::from_secs(10), future);
    bounded.await.expect("it happens within ten seconds")
}

/// Comes back when it is so.
async fn until(is_so: impl Fn() -> bool) {
    within(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
