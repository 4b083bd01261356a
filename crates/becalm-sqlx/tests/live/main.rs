//! Does becalm-sqlx keep its word with a Postgres that is killed, cut off and in its own way? Waits end with events; [`within`]
//! only bounds them.

mod body;
mod bounds;
mod bytes;
mod conflicts;
mod counted;
mod full;
mod in_doubt;
mod late;
mod logins;
mod pooler;
mod pools;
mod proxy;
mod restarts;
mod server;
mod trips;
mod writers;

use std::time::Duration;

/// Fails where the future hangs.
async fn within<F: Future>(future: F) -> F::Output {
    let ended = tokio::time::timeout(Duration::from_secs(600), Box::pin(future)).await;
    ended.expect("it ends within ten minutes")
}
