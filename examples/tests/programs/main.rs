//! Do the programs do what they say? Each runs against the real thing on loopback. Waits end with
//! events; [`within`] only bounds them.

mod axum_chat;
mod axum_payments;
mod behind_envoy;
mod behind_nginx;
mod boxed_service;
mod front_page;
mod grpc_orders;
mod hyper_client;
mod load;
mod postgres_orders;
mod rabbitmq_orders;
mod recorder;
mod redis_counter;
mod redis_herd;
mod reqwest_client;
mod servers;
mod smol_client;
mod thread_pool;
mod three_services;
mod tower_service;
mod trace;
mod upstream;
mod websocket_clients_of_others;
mod websocket_feed;
mod websockets_behind_nginx;
mod websockets_in_a_browser;
mod websockets_of_others;

use std::time::Duration;

/// Longer than any of these tests takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Fails where the future hangs.
async fn within<F: Future>(future: F) -> F::Output {
    let ended = tokio::time::timeout(LONG, future).await;
    ended.expect("it ends within a minute")
}
