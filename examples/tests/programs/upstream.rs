//! How often did a request come through what stands between?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// A service that answers 200 after some milliseconds, under `/busy` 503, and notes what came. It ends with its
/// test.
pub struct Upstream {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    _server: JoinSet<()>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: Method,
    /// By which its sender knows it: the query.
    pub id: String,
    pub key: Option<String>,
    /// `x-envoy-attempt-count`.
    pub attempt: Option<String>,
}

impl Upstream {
    pub async fn start() -> Self {
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let notes = Arc::clone(&seen);
        let answer = move |request: Request| answer(request, Arc::clone(&notes));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let mut server = JoinSet::new();
        let service = Router::new().fallback(answer);
        server.spawn(async { axum::serve(listener, service).await.expect("it serves") });
        Self {
            port,
            seen,
            _server: server,
        }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("unpoisoned").clone()
    }
}

async fn answer(request: Request, notes: Arc<Mutex<Vec<Seen>>>) -> StatusCode {
    notes.lock().expect("unpoisoned").push(Seen::of(&request));
    // So that some are always at work when something breaks.
    sleep(Duration::from_millis(5)).await;
    match request.uri().path() {
        "/busy" => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    }
}

impl Seen {
    fn of(request: &Request) -> Self {
        let header = |name| {
            let value = request.headers().get(name)?;
            Some(value.to_str().expect("a text").to_owned())
        };
        Self {
            method: request.method().clone(),
            id: request.uri().query().unwrap_or_default().to_owned(),
            key: header("idempotency-key"),
            attempt: header("x-envoy-attempt-count"),
        }
    }
}
