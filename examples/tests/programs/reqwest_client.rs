//! Does the HTTP client hold with a server that rejects, stalls and hangs up?

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::{Policy, StopReason, run::Last};
use becalm_examples::reqwest_client::{order, read, shop};
use becalm_reqwest::Client;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::recorder::Recorder;
use crate::servers::free_port;
use crate::within;

/// What the server does with a request.
#[derive(Debug, Clone, Copy)]
pub enum Does {
    Answer(u16, &'static str),
    /// 503 with `Retry-After: 1`.
    Reject,
    Stall,
    HangUp,
}

/// A request as it came: method, key, body.
pub type Seen = (String, Option<String>, String);

/// An HTTP server that does this, one request after the other. It ends with its test.
pub struct Server {
    pub address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _connections: JoinSet<()>,
}

impl Server {
    pub async fn start(script: impl IntoIterator<Item = Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let mut server = JoinSet::new();
        let notes = Arc::clone(&seen);
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (script, notes) = (Arc::clone(&script), Arc::clone(&notes));
                let service = service_fn(move |request| {
                    let next = script.lock().expect("unpoisoned").pop_front();
                    answer(
                        request,
                        next.expect("the script is long enough"),
                        Arc::clone(&notes),
                    )
                });
                let http = hyper::server::conn::http1::Builder::new();
                let connection = http.serve_connection(TokioIo::new(stream), service);
                connections.spawn(async move { drop(connection.await) }); // a hang-up is its error
            }
        });
        Self {
            address: format!("http://127.0.0.1:{port}"),
            seen,
            _connections: server,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("unpoisoned").clone()
    }
}

async fn answer(
    request: Request<Incoming>,
    does: Does,
    seen: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<Full<Bytes>>, std::io::Error> {
    let method = request.method().to_string();
    let key = request.headers().get("idempotency-key");
    let key = key.map(|key| key.to_str().expect("a text").to_owned());
    let body = request
        .into_body()
        .collect()
        .await
        .map_err(|_| ErrorKind::Other)?;
    let body = String::from_utf8(body.to_bytes().into()).expect("a text");
    seen.lock().expect("unpoisoned").push((method, key, body));
    let response = Response::builder();
    let response = match does {
        Does::Answer(status, text) => response.status(status).body(Full::from(text)),
        Does::Reject => response
            .status(503)
            .header("retry-after", "1")
            .body("busy".into()),
        Does::Stall => match std::future::pending::<Infallible>().await {},
        Does::HangUp => return Err(ErrorKind::ConnectionReset.into()),
    };
    Ok(response.expect("a valid response"))
}

fn client() -> (Client, Receiver<String>) {
    let (recorder, events) = Recorder::new();
    let retrier = Policy::exponential(Duration::from_millis(10))
        .attempt_timeout(Duration::from_secs(1))
        .deadline(Duration::from_secs(30))
        .builder()
        .observer(recorder)
        .build();
    let builder = reqwest::Client::builder().no_proxy();
    let client = shop(builder, &retrier.expect("a valid policy"));
    (client.expect("a client"), events)
}

#[tokio::test]
async fn c5_a_get_outlasts_a_rejection_a_stall_and_a_hang_up() {
    let script = [
        Does::Reject,
        Does::Stall,
        Does::HangUp,
        Does::Answer(200, "17"),
    ];
    let server = Server::start(script).await;
    let (shop, events) = client();
    let answer = within(read(&shop, server.url("/orders/17")))
        .await
        .expect("an answer");
    assert_eq!(answer.text().await.expect("a body"), "17");
    assert_eq!(server.seen().len(), 4);
    let delays: Vec<String> = events
        .try_iter()
        .filter(|told| told.starts_with("Retry"))
        .collect();
    // The server's second is a floor.
    let first = &delays[0];
    assert!(
        first.contains("delay: 1.") || first.contains("delay: 1s"),
        "{first}"
    );
    assert_eq!(delays.len(), 3);
}

#[tokio::test]
async fn c3_a_keyed_post_is_one_request_to_the_server() {
    // The second is told that the first, which had stalled, is still at work.
    let script = [
        Does::Stall,
        Does::Answer(409, "at work"),
        Does::Answer(201, "made"),
    ];
    let server = Server::start(script).await;
    let (shop, _) = client();
    let answer = within(order(&shop, server.url("/orders"), "a lamp".into()))
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 201);
    let seen = server.seen();
    let (_, key, _) = &seen[0];
    assert!(key.as_ref().is_some_and(|key| key.len() == 38), "{key:?}");
    assert_eq!(
        seen,
        vec![("POST".to_owned(), key.clone(), "a lamp".to_owned()); 3]
    );
}

#[tokio::test]
async fn c2_the_last_response_is_given_back_as_it_came() {
    let busy = ["first", "second", "third", "last"].map(|text| Does::Answer(500, text));
    let missing = [Does::Answer(404, "no such order")];
    let server = Server::start(busy.into_iter().chain(missing)).await;
    let (shop, _) = client();
    for (status, text) in [(500, "last"), (404, "no such order")] {
        let answer = within(read(&shop, server.url("/orders/17")))
            .await
            .expect("an answer");
        assert_eq!(answer.status(), status);
        assert_eq!(answer.text().await.expect("a body"), text);
    }
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn c10_what_never_connected_is_an_error_and_not_an_answer() {
    let (shop, _) = client();
    let url = format!("http://127.0.0.1:{}", free_port());
    let gave_up = within(read(&shop, url)).await.expect_err("nobody listens");
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    assert!(matches!(gave_up.last(), Last::Error(error) if error.is_connect()));
    assert!(
        gave_up
            .records()
            .all(|record| record.effect == becalm::Effect::Unsent)
    );
}
