//! How do services in a row retry without multiplying? Each takes on the attempt and the deadline of its
//! caller, and its client tells both to the next. `cargo run -p becalm-examples --example three_services`
//! prints what passes between them.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::StatusCode;
use axum::middleware::map_request;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use becalm::Policy;
use becalm_reqwest::{Client, ClientBuilder};
use becalm_tower::server::ScopeLayer;
use tokio::net::TcpListener;

/// A client of the service at this origin, which it tells of attempt and deadline.
pub fn client(origin: &str, policy: Policy) -> Result<Client, Box<dyn Error>> {
    let reqwest = reqwest::Client::builder().no_proxy();
    let client = ClientBuilder::new(reqwest, &policy.retrier()?).scope_to([origin]);
    Ok(client.build()?)
}

/// A service that answers with what the next one answers.
pub fn service(next: Client, url: String) -> Router {
    Router::new().route("/", get(move || ask(next, url)))
}

async fn ask(next: Client, url: String) -> Response {
    match next.get(url).send().await {
        Ok(answer) => (answer.status(), answer.text().await.unwrap_or_default()).into_response(),
        Err(gave_up) => (StatusCode::GATEWAY_TIMEOUT, gave_up.to_string()).into_response(),
    }
}

/// Serves on loopback: the origin, and the service as a future, which runs as long as it is polled.
///
/// A caller is believed if it is on this machine. In a network of services their certificates would say it.
pub async fn serve(service: Router) -> io::Result<(String, impl Future<Output = io::Result<()>>)> {
    let is_ours = |peer: &ConnectInfo<SocketAddr>| peer.ip().is_loopback();
    let scope = ScopeLayer::from_callers(move |head| head.extensions.get().is_some_and(is_ours));
    let service = service.layer(scope);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let origin = format!("http://{}", listener.local_addr()?);
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    Ok((origin, async { axum::serve(listener, service).await }))
}

/// Three of them, of which the last fails five times: `orders` repeats its request four times, then `front` its own.
pub fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(run())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let policy = Policy::exponential(Duration::from_millis(100)).deadline(Duration::from_secs(2));
    let failures = Arc::new(AtomicU32::new(5));
    let count = move || {
        let is_failure = failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        let answer = match is_failure {
            Ok(_) => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            Err(_) => (StatusCode::OK, "17 lamps"),
        };
        std::future::ready(answer)
    };
    let stock = start("stock", Router::new().route("/", get(count))).await?;
    let orders = service(client(&stock, policy.clone())?, stock);
    let orders = start("orders", orders).await?;
    let front = service(client(&orders, policy.clone())?, orders);
    let front = start("front", front).await?;
    let answer = client(&front, policy)?.get(&front).send().await?;
    println!("{}: {}", answer.status(), answer.text().await?);
    Ok(())
}

/// In a task, with a line for each request.
async fn start(name: &'static str, service: Router) -> io::Result<String> {
    let print = move |request: Request| {
        println!(
            "{name:6} <- becalm-scope: {:?}",
            request.headers().get("becalm-scope")
        );
        std::future::ready(request)
    };
    let (origin, serving) = serve(service.layer(map_request(print))).await?;
    tokio::spawn(serving);
    Ok(origin)
}
