//! A server on loopback whose handler does what a request asks it to, and requests to it.

use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use becalm_tower::server::{BufferedBody, IdempotencyLayer, MemoryStore};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::{Layer, ServiceExt, service_fn};

/// What the handler has done.
pub struct Handler {
    runs: AtomicUsize,
    /// Has a permit for each that waits at the gate.
    pub waiting: Semaphore,
    pub gate: Semaphore,
}

impl Handler {
    /// How often it ran.
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Comes back when one more of those that were told to waits at the gate.
    pub async fn one_waits(&self) {
        self.waiting.acquire().await.expect("open").forget();
    }

    pub fn open_gate(&self) {
        self.gate.add_permits(1000);
    }

    async fn run(
        &self,
        request: Request<BufferedBody<Incoming>>,
    ) -> io::Result<Response<BoxBody<Bytes, io::Error>>> {
        let number = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let does = head.headers.get("does");
        let does = does.map_or("201", |does| does.to_str().expect("a text"));
        let mut answer = Response::builder().header("run", number);
        let text = Bytes::from(format!("run {number}: {}", body.len()));
        match does {
            "wait" => {
                self.waiting.add_permits(1);
                self.gate.acquire().await.expect("open").forget();
            }
            "panic" => panic!("as the request asks"),
            "fail" => return Err(io::ErrorKind::Other.into()),
            "break" => return Ok(answer.body(BoxBody::new(Breaks)).expect("valid")),
            "long" => {
                let body = Unannounced(Full::from(vec![7; 20_000]));
                let body = body.map_err(|never| match never {});
                return Ok(answer.body(BoxBody::new(body)).expect("valid"));
            }
            "connect" => {
                answer = answer.header("connection", "secret").header("secret", "1");
                answer = answer.header("date", "Sun, 06 Nov 1994 08:49:37 GMT");
            }
            status => answer = answer.status(status),
        }
        let body = Full::from(text).map_err(|never| match never {});
        Ok(answer.body(BoxBody::new(body)).expect("valid"))
    }
}

pub struct Server {
    pub port: u16,
    pub handler: Arc<Handler>,
    wants: Arc<Mutex<Option<&'static str>>>,
    _connections: JoinSet<()>,
}

impl Server {
    pub async fn start() -> Self {
        Self::with(layer()).await
    }

    pub async fn with(layer: IdempotencyLayer<MemoryStore>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let handler = Arc::new(Handler {
            runs: AtomicUsize::new(0),
            waiting: Semaphore::new(0),
            gate: Semaphore::new(0),
        });
        let shared = Arc::clone(&handler);
        let service = layer.layer(service_fn(move |request| {
            let handler = Arc::clone(&shared);
            async move { handler.run(request).await }
        }));
        let wants = Arc::<Mutex<Option<&'static str>>>::default();
        let wanted = Arc::clone(&wants);
        let service = service_fn(move |request: Request<Incoming>| {
            let service = service.clone();
            let wants = *wanted.lock().expect("unpoisoned");
            let has = request.headers().get("authorization");
            let is_let_in = wants.is_none_or(|wants| has.is_some_and(|has| has == wants));
            async move {
                if is_let_in {
                    let answer = service.oneshot(request).await?;
                    return Ok::<_, io::Error>(answer.map(BoxBody::new));
                }
                let mut answer = Response::new(BoxBody::default());
                *answer.status_mut() = http::StatusCode::UNAUTHORIZED;
                Ok(answer)
            }
        });
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let service = TowerToHyperService::new(service.clone());
                connections.spawn(async move {
                    let server = auto::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self {
            port,
            handler,
            wants,
            _connections: connections,
        }
    }

    /// Answers 401 from now on to requests without this `Authorization`, outside of the layer.
    pub fn want(&self, authorization: &'static str) {
        *self.wants.lock().expect("unpoisoned") = Some(authorization);
    }

    pub async fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await;
        stream.expect("the server listens")
    }

    /// Sends this on a connection of its own.
    pub async fn ask<B>(&self, request: Request<B>) -> hyper::Result<Response<Bytes>>
    where
        B: Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static,
    {
        let io = TokioIo::new(self.connect().await);
        let (mut client, connection) = http1::handshake(io).await?;
        let mut connections = JoinSet::new();
        connections.spawn(async move { connection.await.unwrap_or_default() });
        let (head, body) = client.send_request(request).await?.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    /// The status of the answer.
    pub async fn status(&self, request: Request<Full<Bytes>>) -> u16 {
        let answer = crate::within(self.ask(request)).await;
        answer.expect("an answer").status().as_u16()
    }

    /// A connection of HTTP/2, and its socket, to cut it.
    pub async fn connection(&self) -> (http2::SendRequest<Full<Bytes>>, std::net::TcpStream) {
        let stream = self.connect().await.into_std().expect("a socket");
        let socket = stream.try_clone().expect("a socket");
        let io = TokioIo::new(TcpStream::from_std(stream).expect("a socket"));
        let handshake = http2::handshake(TokioExecutor::new(), io).await;
        let (client, connection) = handshake.expect("a connection");
        tokio::spawn(connection);
        (client, socket)
    }
}

pub fn layer() -> IdempotencyLayer<MemoryStore> {
    IdempotencyLayer::new(MemoryStore::new())
}

/// A payment of alice's with this key, of which the handler is told what to do.
pub fn payment(key: &str, does: &str) -> Request<Full<Bytes>> {
    let request = Request::post("http://shop.example/payments?fast")
        .header("authorization", "Bearer alice")
        .header("content-type", "text/plain")
        .header("idempotency-key", format!("\"{key}\""))
        .header("does", does);
    request.body(Full::from("17 EUR")).expect("valid")
}

/// A body of unknown length.
pub struct Unannounced(pub Full<Bytes>);

impl Body for Unannounced {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// A body that fails.
struct Breaks;

impl Body for Breaks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(Some(Err(io::ErrorKind::Other.into())))
    }
}
