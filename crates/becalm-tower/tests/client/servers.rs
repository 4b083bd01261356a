//! An HTTP server on loopback that fails where it is told to, and the client for it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::{Policy, Retrier};
use becalm_tower::client::ReplayBody;
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tower::Service;

use crate::pieces::Pieces;

/// The version that both ends speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Http1,
    Http2,
}

/// What the server does with a request. After the last of a script it answers 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Reads it all, answers this status.
    Answer(u16),
    /// Answers this status before it reads the body.
    AnswerEarly(u16),
    /// Reads it all, answers 503 with a body of this length, which pauses in its middle.
    RejectWith(usize),
    /// Closes the connection before it reads anything of it.
    CloseAtOnce,
    /// Closes the connection after the first piece of the body.
    CloseInRequest,
    /// Closes the connection after all of it.
    CloseAfterRequest,
    /// Answers 200, and in the middle of its body waits until it is told to
    /// [hang up](Server::hang_up).
    CloseInResponse,
    /// Refuses the stream of HTTP/2, before it reads anything of it.
    RefuseStream,
    /// Reads it all, and never answers.
    Stall,
}

/// The body of a request as the server saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It did not come to its end, or not yet.
    Broken,
    /// It did, and was this long.
    Whole(usize),
    /// It had other bytes than [`bytes`].
    Wrong,
}

pub struct Server {
    pub port: u16,
    state: Arc<State>,
    _connections: JoinSet<()>,
}

#[derive(Default)]
struct State {
    script: Mutex<VecDeque<Does>>,
    seen: Mutex<Vec<Seen>>,
    accepted: AtomicUsize,
    hangs_up: Notify,
}

impl State {
    fn next(&self) -> Does {
        let mut script = self.script.lock().expect("unpoisoned");
        script.pop_front().unwrap_or(Does::Answer(200))
    }
}

impl Server {
    pub async fn start(version: Version, script: impl IntoIterator<Item = Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(State::default());
        state.script.lock().expect("unpoisoned").extend(script);
        let mut server = JoinSet::new();
        let shared = Arc::clone(&state);
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                shared.accepted.fetch_add(1, Ordering::SeqCst);
                let _ = stream.set_nodelay(true);
                connections.spawn(serve(version, stream, Arc::clone(&shared)));
            }
        });
        Self {
            port,
            state,
            _connections: server,
        }
    }

    pub fn uri(&self) -> String {
        format!("http://127.0.0.1:{}/orders", self.port)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("unpoisoned").clone()
    }

    /// Closes a connection.
    pub fn hang_up(&self) {
        self.state.hangs_up.notify_one();
    }

    pub fn accepted(&self) -> usize {
        self.state.accepted.load(Ordering::SeqCst)
    }
}

async fn serve(version: Version, stream: TcpStream, state: Arc<State>) {
    {
        let mut script = state.script.lock().expect("unpoisoned");
        if script.front() == Some(&Does::CloseAtOnce) {
            script.pop_front();
            return;
        }
    }
    let closes = Arc::new(Notify::new());
    let told = Arc::clone(&closes);
    let shared = Arc::clone(&state);
    let service =
        service_fn(move |request| answer(request, Arc::clone(&shared), Arc::clone(&told)));
    let io = TokioIo::new(stream);
    let connection: Pin<Box<dyn Future<Output = _> + Send>> = match version {
        Version::Http1 => {
            Box::pin(hyper::server::conn::http1::Builder::new().serve_connection(io, service))
        }
        Version::Http2 => Box::pin(
            hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(io, service),
        ),
    };
    tokio::select! {
        _ = connection => (),
        () = closes.notified() => (),
        () = state.hangs_up.notified() => (),
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
    closes: Arc<Notify>,
) -> Result<Response<Pieces>, h2::Error> {
    let does = state.next();
    let is_head = request.method() == Method::HEAD;
    let mut body = request.into_body();
    let at = {
        let mut seen = state.seen.lock().expect("unpoisoned");
        seen.push(Seen::Broken);
        seen.len() - 1
    };
    match does {
        Does::AnswerEarly(status) => {
            // Goes on reading, as servers do that want to keep their connection.
            tokio::spawn(async move { note(&state, at, &mut body).await });
            return Ok(with_status(status, Pieces::new(0, 1)));
        }
        Does::RefuseStream => return Err(h2::Reason::REFUSED_STREAM.into()),
        Does::CloseInRequest => {
            let _ = body.frame().await;
            closes.notify_one();
            return std::future::pending().await;
        }
        _ => note(&state, at, &mut body).await,
    }
    Ok(match does {
        Does::Answer(status) if is_head => with_status(status, Pieces::new(0, 1)),
        Does::CloseInResponse if is_head => with_status(200, Pieces::new(0, 1)),
        Does::Answer(status) => with_status(status, Pieces::new(2, 2)),
        Does::RejectWith(length) => {
            let pause = Duration::from_millis(10);
            with_status(503, Pieces::new(length, 1024).pausing(pause))
        }
        Does::CloseInResponse => with_status(200, Pieces::new(64, 16).stalling()),
        Does::Stall => std::future::pending().await,
        _ => {
            closes.notify_one();
            std::future::pending().await
        }
    })
}

async fn note(state: &State, at: usize, body: &mut Incoming) {
    let (mut length, mut is_right) = (0, true);
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return };
        if let Ok(data) = frame.into_data() {
            is_right &= LONGEST.get(length..length + data.len()) == Some(&data);
            length += data.len();
        }
    }
    let seen = if is_right {
        Seen::Whole(length)
    } else {
        Seen::Wrong
    };
    state.seen.lock().expect("unpoisoned")[at] = seen;
}

fn with_status(status: u16, body: Pieces) -> Response<Pieces> {
    Response::builder()
        .status(status)
        .body(body)
        .expect("valid")
}

pub type Hyper<B> = Client<Connector, ReplayBody<B>>;

/// hyper's pooled client, whose first connections go where nobody listens.
pub fn hyper<B>(version: Version, refused: usize) -> Hyper<B>
where
    B: hyper::body::Body + Send + Unpin,
{
    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    let nobody = TcpSocket::new_v4().expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    nobody.bind(any).expect("a port");
    let connector = Connector {
        http,
        refused: Arc::new(AtomicUsize::new(refused)),
        nobody: Arc::new(nobody),
    };
    Client::builder(TokioExecutor::new())
        .retry_canceled_requests(false)
        .http2_only(version == Version::Http2)
        .build(connector)
}

#[derive(Clone)]
pub struct Connector {
    http: HttpConnector,
    refused: Arc<AtomicUsize>,
    /// Has a port on which it does not listen.
    nobody: Arc<TcpSocket>,
}

impl Service<Uri> for Connector {
    type Response = <HttpConnector as Service<Uri>>::Response;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = <HttpConnector as Service<Uri>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.http.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let count = |left: usize| left.checked_sub(1);
        let is_refused = self
            .refused
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, count);
        let nobody = || Some(self.nobody.local_addr().ok()?.port());
        self.http
            .call(match is_refused.ok().and_then(|_| nobody()) {
                Some(port) => Uri::builder()
                    .scheme("http")
                    .authority(format!("127.0.0.1:{port}"))
                    .path_and_query("/")
                    .build()
                    .expect("valid"),
                None => uri,
            })
    }
}

/// A policy whose waits are short.
pub fn quick() -> Policy {
    Policy::exponential(Duration::from_millis(1))
        .attempt_timeout(Duration::from_secs(10))
        .deadline(Duration::from_secs(50))
}

pub fn retrier() -> Retrier {
    quick().retrier().expect("a valid policy")
}

/// The bytes of a body of this length.
pub fn bytes(length: usize) -> Bytes {
    LONGEST.slice(..length)
}

/// Of a length that no other divides, so that what is left out or comes twice is seen.
static LONGEST: LazyLock<Bytes> = LazyLock::new(|| {
    let cycle: Vec<u8> = (0..251).collect();
    cycle.repeat((10 << 20) / 251 + 1).into()
});
