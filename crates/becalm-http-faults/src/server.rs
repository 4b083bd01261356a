//! An HTTP server on loopback that fails where it is told to.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::pieces::Pieces;

/// The version that both ends speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, with prior knowledge.
    Http2,
}

/// What the server does with a request. After the last of a script it answers 200.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// Reads it all, answers this status.
    Answer(u16),
    /// Reads it all, answers this status after so long.
    AnswerAfter(u16, Duration),
    /// Reads it all, answers this status with this header.
    AnswerWith(u16, &'static str, String),
    /// Reads it all, ends the call of gRPC with this code, without a message; and says when to come back, by
    /// `grpc-retry-pushback-ms`.
    EndCall(u8, Option<&'static str>),
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
    /// Answers 200 with a body of 64 bytes, and breaks off after so many of them.
    BreakAt {
        /// After how many.
        at: usize,
        /// Says in its head how many are to come.
        is_length_told: bool,
    },
    /// Refuses the stream of HTTP/2, before it reads anything of it.
    RefuseStream,
    /// Reads it all, and never answers.
    Stall,
    /// Answers what is no HTTP, once something has come.
    Babble,
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When its head had come.
    pub at: Instant,
    /// Method, path, headers.
    pub head: Parts,
    /// `None` where it did not come to its end, or not yet.
    pub body: Option<Bytes>,
}

impl Seen {
    /// A header that is a text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }
}

/// A server, which stops when it is dropped.
pub struct Server {
    /// On which it listens.
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
    hangs_up: Notify,
}

impl Server {
    /// A server that does this, one after the other.
    ///
    /// # Panics
    ///
    /// There is no port.
    pub async fn start(version: Version, script: impl IntoIterator<Item = Does>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port");
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

    /// Where its orders are, by a name that [`Addresses`](crate::Addresses) knows.
    pub fn url(&self) -> String {
        format!("http://shop.test:{}/orders", self.port)
    }

    /// The requests that have come.
    ///
    /// # Panics
    ///
    /// The server has panicked.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("unpoisoned").clone()
    }

    /// Their bodies.
    pub fn bodies(&self) -> Vec<Option<Bytes>> {
        self.seen().into_iter().map(|seen| seen.body).collect()
    }

    /// How many requests have come.
    pub fn count(&self) -> usize {
        self.seen().len()
    }

    /// How many connections were made.
    pub fn accepted(&self) -> usize {
        self.state.accepted.load(Ordering::SeqCst)
    }

    /// Does this after the rest of its script.
    ///
    /// # Panics
    ///
    /// The server has panicked.
    pub fn then(&self, script: impl IntoIterator<Item = Does>) {
        self.state.script.lock().expect("unpoisoned").extend(script);
    }

    /// Answers 401 from now on to requests without this `Authorization`.
    ///
    /// # Panics
    ///
    /// The server has panicked.
    pub fn want(&self, authorization: &'static str) {
        *self.state.wants.lock().expect("unpoisoned") = Some(authorization);
    }

    /// Closes a connection.
    pub fn hang_up(&self) {
        self.state.hangs_up.notify_one();
    }
}

impl State {
    /// Whether it babbles now, once.
    fn babbles(&self) -> bool {
        let mut script = self.script.lock().expect("unpoisoned");
        let babbles = script.front() == Some(&Does::Babble);
        if babbles {
            script.pop_front();
        }
        babbles
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
    if state.babbles() {
        let mut stream = stream;
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(&[b'x'; 100]).await;
        return;
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
                .max_concurrent_streams(10_000)
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
    let is_head = request.method() == Method::HEAD;
    let (head, mut body) = request.into_parts();
    let wants = *state.wants.lock().expect("unpoisoned");
    let is_known = wants.is_none_or(|wants| {
        let has = head.headers.get("authorization");
        has.is_some_and(|has| has == wants)
    });
    let at = {
        let mut seen = state.seen.lock().expect("unpoisoned");
        let at = Instant::now();
        seen.push(Seen {
            at,
            head,
            body: None,
        });
        seen.len() - 1
    };
    let does = if is_known {
        let mut script = state.script.lock().expect("unpoisoned");
        script.pop_front().unwrap_or(Does::Answer(200))
    } else {
        Does::Answer(401)
    };
    match does {
        Does::AnswerEarly(status) => {
            // Goes on reading, as servers do that want to keep their connection.
            tokio::spawn(async move { note(&state, at, body).await });
            return Ok(with_status(status, Pieces::new(0, 1)));
        }
        Does::RefuseStream => return Err(h2::Reason::REFUSED_STREAM.into()),
        Does::CloseInRequest => {
            let _ = body.frame().await;
            closes.notify_one();
            return std::future::pending().await;
        }
        _ => note(&state, at, body).await,
    }
    Ok(match does {
        Does::Answer(status) if is_head => with_status(status, Pieces::new(0, 1)),
        Does::CloseInResponse | Does::BreakAt { .. } if is_head => {
            with_status(200, Pieces::new(0, 1))
        }
        Does::Answer(status) => with_status(status, Pieces::new(2, 2)),
        Does::AnswerAfter(status, wait) => {
            tokio::time::sleep(wait).await;
            with_status(status, Pieces::new(2, 2))
        }
        Does::AnswerWith(status, name, value) => {
            let mut answer = with_status(status, Pieces::new(0, 1));
            let value = value.parse().expect("a header");
            answer.headers_mut().insert(name, value);
            answer
        }
        Does::EndCall(code, pushback) => {
            let mut answer = with_status(200, Pieces::new(0, 1));
            let headers = answer.headers_mut();
            // What says otherwise is an answer of HTTP to some clients, and has no code.
            headers.insert("content-type", HeaderValue::from_static("application/grpc"));
            headers.insert("grpc-status", HeaderValue::from(u16::from(code)));
            if let Some(word) = pushback {
                headers.insert("grpc-retry-pushback-ms", HeaderValue::from_static(word));
            }
            answer
        }
        Does::RejectWith(length) => {
            let pause = Duration::from_millis(10);
            with_status(503, Pieces::new(length, 1024).pausing(pause))
        }
        Does::CloseInResponse => with_status(200, Pieces::new(64, 16).stalling()),
        Does::BreakAt { at, is_length_told } => {
            let body = Pieces::new(64, 16).breaking_at(at);
            let body = if is_length_told {
                body
            } else {
                body.of_unknown_length()
            };
            with_status(200, body)
        }
        Does::Stall => std::future::pending().await,
        _ => {
            closes.notify_one();
            std::future::pending().await
        }
    })
}

async fn note(state: &State, at: usize, body: Incoming) {
    if let Ok(body) = body.collect().await {
        state.seen.lock().expect("unpoisoned")[at].body = Some(body.to_bytes());
    }
}

fn with_status(status: u16, body: Pieces) -> Response<Pieces> {
    let answer = Response::builder().status(status);
    answer.body(body).expect("valid")
}
