//! Does a WebSocket come back, once at a time, and does nothing go silently? Against real servers on loopback.

mod buffers;
mod closes;
mod colds;
mod cuts;
mod faults;
mod handshakes;
mod hooks;
mod javascript;
mod javascript_closes;
mod logins;
mod lost_sessions;
mod messages;
mod restarts;
mod server;
mod sessions;
mod silence;
#[cfg(feature = "rustls-webpki-roots")]
mod tls;
#[cfg(feature = "rustls-webpki-roots")]
#[path = "../tls_support/mod.rs"]
mod tls_support;

use std::time::Duration;

use becalm::Policy;
use becalm::reconnect::Reconnect;

/// What does not happen within ten seconds does not happen.
async fn within<F: Future>(future: F) -> F::Output {
    let bounded = tokio::time::timeout(Duration::from_secs(10), future);
    bounded.await.expect("it happens within ten seconds")
}

/// Dials soon again, for ever.
fn soon() -> Reconnect {
    let policy = Policy::exponential(Duration::from_millis(1)).cap(Duration::from_millis(20));
    Reconnect::new(policy.attempts(Policy::UNLIMITED))
}
