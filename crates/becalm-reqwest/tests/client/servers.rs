//! An HTTP server on loopback that fails where it is told to, and the client for it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::{Policy, Retrier};
use becalm_reqwest::{Client, ClientBuilder};
use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// The version that both ends speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Http1,
    #[cfg(feature = "h2")]
    Http2,
}

pub const VERSIONS: &[Version] = &[
    Version::Http1,
    #[cfg(feature = "h2")]
    Version::Http2,
];

/// What the server does with a request. After the last of a script it answers 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// Reads it all, answers this status.
    Answer(u16),
    /// Reads it all, answers this status with this header.
    AnswerWith(u16, &'static str, String),
    /// Reads it all, answers 503 with a body of this length.
    RejectWith(usize),
    /// Closes the connection before it reads anything of it.
    CloseAtOnce,
    /// Closes the connection after the first piece of the body.
    CloseInRequest,
    /// Closes the connection after all of it.
    CloseAfterRequest,
    /// Begins its answer, a 200, and closes the connection when the client [has the
    /// head](Server::close_in_response).
    CloseInResponse,
    /// Reads it all, and never answers.
    Stall,
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub head: hyper::http::request::Parts,
    /// `None` where it did not come to its end, or not yet.
    pub body: Option<Bytes>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = self.head.headers.get(name)?;
        Some(value.to_str().expect("a text"))
    }
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
    wants: Mutex<Option<&'static str>>,
    closes: Notify,
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
                let _ = stream.set_nodelay(true);
                shared.accepted.fetch_add(1, Ordering::SeqCst);
                connections.spawn(serve(version, stream, Arc::clone(&shared)));
            }
        });
        Self {
            port,
            state,
            _connections: server,
        }
    }

    pub fn url(&self) -> String {
        format!("http://shop.test:{}/orders", self.port)
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("unpoisoned").clone()
    }

    pub fn count(&self) -> usize {
        self.seen().len()
    }

    /// From now on it answers 401 to requests without this `Authorization`.
    pub fn want(&self, authorization: &'static str) {
        *self.state.wants.lock().expect("unpoisoned") = Some(authorization);
    }

    pub fn close_in_response(&self) {
        self.state.closes.notify_one();
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
        #[cfg(feature = "h2")]
        Version::Http2 => Box::pin(
            hyper::server::conn::http2::Builder::new(hyper_util::rt::TokioExecutor::new())
                .serve_connection(io, service),
        ),
    };
    tokio::select! {
        _ = connection => (),
        () = closes.notified() => (),
        () = state.closes.notified() => (),
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
    closes: Arc<Notify>,
) -> Result<Response<Pieces>, Infallible> {
    let is_head = request.method() == Method::HEAD;
    let wants = *state.wants.lock().expect("unpoisoned");
    let is_known = wants.is_none_or(|wants| {
        let has = request.headers().get("authorization");
        has.is_some_and(|has| has == wants)
    });
    let (head, mut body) = request.into_parts();
    let at = {
        let mut seen = state.seen.lock().expect("unpoisoned");
        seen.push(Seen { head, body: None });
        seen.len() - 1
    };
    let does = if is_known {
        state.script.lock().expect("unpoisoned").pop_front()
    } else {
        Some(Does::Answer(401))
    };
    let does = does.unwrap_or(Does::Answer(200));
    if does == Does::CloseInRequest {
        let _ = body.frame().await;
        closes.notify_one();
        return std::future::pending().await;
    }
    if let Ok(body) = body.collect().await {
        state.seen.lock().expect("unpoisoned")[at].body = Some(body.to_bytes());
    }
    let response = Response::builder();
    let response = match does {
        Does::Answer(status) if is_head => response.status(status).body(Pieces::new(0, 1)),
        Does::Answer(status) => response.status(status).body(Pieces::new(2, 2)),
        Does::AnswerWith(status, name, value) => {
            let response = response.status(status).header(name, value);
            response.body(Pieces::new(0, 1))
        }
        Does::RejectWith(length) => response.status(503).body(Pieces::new(length, 1024)),
        Does::CloseInResponse => response.body(Pieces::new(64, 16).stalling()),
        Does::Stall => std::future::pending().await,
        _ => {
            closes.notify_one();
            std::future::pending().await
        }
    };
    Ok(response.expect("valid"))
}

/// The bytes of a body of some length, in pieces of another.
pub struct Pieces {
    left: Bytes,
    piece: usize,
    pends: bool,
    stalls: bool,
}

impl Pieces {
    pub fn new(length: usize, piece: usize) -> Self {
        Self {
            left: bytes(length),
            piece,
            pends: false,
            stalls: false,
        }
    }

    /// Nothing comes after the first piece.
    pub fn stalling(mut self) -> Self {
        self.stalls = true;
        self
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // Every other time it makes its reader wait.
        self.pends = !self.pends;
        if self.pends {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.stalls && self.left.first() != Some(&0) {
            return Poll::Pending;
        }
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let piece = self.piece.min(self.left.len());
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }
}

/// The bytes of a body of this length, in a cycle of a length that no piece has, so that what is left
/// out or comes twice is seen.
pub fn bytes(length: usize) -> Bytes {
    (0..251).cycle().take(length).collect()
}

/// Addresses of `shop.test` and all other names but `nowhere.test`: first some where nobody listens.
pub struct Refuses(pub AtomicUsize);

impl Resolve for Refuses {
    fn resolve(&self, name: Name) -> Resolving {
        if name.as_str() == "nowhere.test" {
            return Box::pin(std::future::ready(Err("no such name".into())));
        }
        let count = |left: usize| left.checked_sub(1);
        let is_refused = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, count);
        let address: SocketAddr = match is_refused {
            Ok(_) => (Ipv6Addr::LOCALHOST, 0).into(),
            Err(_) => (Ipv4Addr::LOCALHOST, 0).into(),
        };
        let addresses: Addrs = Box::new(std::iter::once(address));
        Box::pin(std::future::ready(Ok::<_, Box<dyn Error + Send + Sync>>(
            addresses,
        )))
    }
}

/// What reqwest builds its client from, whose first connections are refused.
pub fn builder(version: Version, refused: usize) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        .no_proxy()
        .dns_resolver(Arc::new(Refuses(AtomicUsize::new(refused))));
    match version {
        Version::Http1 => builder.http1_only(),
        #[cfg(feature = "h2")]
        Version::Http2 => builder.http2_prior_knowledge(),
    }
}

pub fn client(version: Version, refused: usize) -> Client {
    Client::new(builder(version, refused), &retrier(quick())).expect("a client")
}

/// Of a client for HTTP/1, with this policy.
pub fn client_builder(policy: Policy) -> ClientBuilder {
    ClientBuilder::new(builder(Version::Http1, 0), &retrier(policy))
}

/// A policy whose waits are short.
pub fn quick() -> Policy {
    Policy::exponential(Duration::from_millis(1)).deadline(Duration::from_secs(50))
}

pub fn retrier(policy: Policy) -> Retrier {
    policy.retrier().expect("a valid policy")
}
