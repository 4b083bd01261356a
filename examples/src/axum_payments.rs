//! How does a service that takes payments stay up, and take each once? axum with three layers: what known
//! callers say of their retries, idempotency keys, admission. Its end waits for what has begun.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Method, StatusCode, request::Parts};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use becalm::bulkhead::{Bulkhead, InvalidBulkhead};
use becalm::throttle::Priority;
use becalm_tower::server::{AdmissionLayer, IdempotencyLayer, MemoryStore, ScopeLayer};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// The bank that pays.
#[derive(Clone)]
pub struct Bank {
    /// Repeats what has failed.
    pub client: becalm_reqwest::Client,
    /// Where payments are sent to.
    pub url: String,
}

/// The service. `Bulkhead::adaptive().waiting(256)` finds out by itself how many payments may run at once.
pub fn payments(
    bank: Bank,
    places: Bulkhead,
    tasks: &TaskTracker,
) -> Result<Router, InvalidBulkhead> {
    let tasks = tasks.clone();
    let once = IdempotencyLayer::with_executor(MemoryStore::new(), move |task| {
        tasks.spawn(task); // goes on when its client leaves
    });
    let routes = Router::new()
        .route("/payments", post(pay))
        .route("/rates", get(rates))
        // The last is the outermost.
        .layer(AdmissionLayer::new(places)?.priority(priority))
        .layer(once.required([Method::POST]))
        .layer(ScopeLayer::from_callers(is_internal))
        .route("/health", get("well")) // not shed
        .with_state(bank);
    Ok(routes)
}

/// Serves until `stop`, and then until all payments have ended, those whose clients have left, too.
pub async fn serve(
    listener: TcpListener,
    payments: Router,
    tasks: TaskTracker,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let service = payments.into_make_service_with_connect_info::<SocketAddr>();
    let server = axum::serve(listener, service).with_graceful_shutdown(stop);
    server.await?;
    tasks.close();
    tasks.wait().await;
    Ok(())
}

/// Pays. What the bank gets has the caller's own key, so that it, too, sees a repetition as one: a 5xx is not kept,
/// and who gets one sends the payment again.
async fn pay(State(bank): State<Bank>, headers: HeaderMap, order: String) -> Response {
    let mut payment = bank.client.post(&bank.url).body(order);
    if let Some(key) = headers.get("idempotency-key") {
        payment = payment.header("idempotency-key", key);
    }
    match payment.send().await {
        Ok(paid) => {
            let status = paid.status();
            match paid.text().await {
                Ok(text) => (status, text).into_response(),
                Err(_) => StatusCode::BAD_GATEWAY.into_response(),
            }
        }
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

async fn rates() -> &'static str {
    "1 EUR = 1.08 USD"
}

/// Where not all can be served, those who pay are.
fn priority(head: &Parts) -> Priority {
    match head.uri.path() {
        "/payments" => Priority::Critical,
        _ => Priority::Sheddable,
    }
}

/// Whose word on attempts and deadlines is taken: of those on this machine. A header proves nothing.
fn is_internal(head: &Parts) -> bool {
    let peer = head.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.is_some_and(|ConnectInfo(peer)| peer.ip().is_loopback())
}
