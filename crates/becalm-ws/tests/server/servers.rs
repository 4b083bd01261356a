//! The servers of the tests: axum's, and a plain loop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::extract::ws::{self, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::any;
use becalm_admission::Admission;
use becalm_ws::server::{Connection, Listener, Peer, Server, Settings, Upgrade};
use becalm_ws::{Client, Heartbeat};
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;

/// A server that runs, until it is dropped.
pub struct Running {
    pub server: Server,
    pub address: SocketAddr,
    /// How many requests have reached the application.
    pub costly: Arc<AtomicUsize>,
    pub task: JoinHandle<()>,
}

/// Of both kinds, since both refuse and admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Axum,
    Plain,
}

pub const KINDS: [Kind; 2] = [Kind::Axum, Kind::Plain];

impl Running {
    pub async fn start(kind: Kind, settings: Settings) -> Self {
        let server = settings.server().expect("valid settings");
        let listener = server.listen("127.0.0.1:0").await.expect("a port");
        Self::on(kind, server, listener)
    }

    pub fn on(kind: Kind, server: Server, listener: Listener) -> Self {
        let address = listener.local_addr().expect("an address");
        let costly = Arc::<AtomicUsize>::default();
        let task = match kind {
            Kind::Axum => tokio::spawn(axum(server.clone(), listener, Arc::clone(&costly))),
            Kind::Plain => tokio::spawn(plain(server.clone(), listener, Arc::clone(&costly))),
        };
        Self {
            server,
            address,
            costly,
            task,
        }
    }

    pub fn costly(&self) -> usize {
        self.costly.load(Ordering::SeqCst)
    }

    /// A client of this crate.
    pub fn client(&self) -> Client {
        Client::new(self.uri("/"))
    }

    pub fn uri(&self, path: &str) -> becalm_ws::tungstenite::http::Uri {
        format!("ws://{}{path}", self.address)
            .parse()
            .expect("an address")
    }

    /// A socket of another library.
    pub async fn socket(&self, path: &str) -> WebSocketStream<TcpStream> {
        let stream = self.connect().await;
        let dialled = tokio_tungstenite::client_async(self.uri(path), stream).await;
        dialled.expect("it is admitted").0
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address)
            .await
            .expect("somebody listens")
    }

    /// Sends a request with these lines; what comes back up to the end of the head, and what is behind it.
    pub async fn ask(&self, target: &str, lines: &str) -> (String, TcpStream) {
        let mut stream = self.connect().await;
        stream
            .write_all(request(target, lines).as_bytes())
            .await
            .expect("it reads");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("an answer"));
        }
        (
            String::from_utf8(head).expect("a text").to_lowercase(),
            stream,
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub fn request(target: &str, lines: &str) -> String {
    format!(
        "GET {target} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{lines}\r\n"
    )
}

/// Nobody but the first for an hour; who comes then gets an appointment.
pub fn closed() -> Admission {
    let hour = Duration::from_secs(3600);
    let one = Admission::per_second(1).per(hour).burst(1);
    one.patience(Duration::from_millis(1)).horizon(hour * 12)
}

/// Everybody.
pub fn open() -> Settings {
    Settings::new(Admission::per_second(100_000))
}

async fn axum(server: Server, listener: Listener, costly: Arc<AtomicUsize>) {
    let routes = Router::new()
        .route("/", any(upgraded))
        .route("/own", any(own))
        .route("/watched", any(watched))
        .route("/flood", any(flood))
        .route("/watched-flood", any(watched_flood))
        .route("/login", any(unready))
        .with_state(costly)
        .layer(server.layer())
        .route("/health", any(async || "well"));
    let routes = routes.into_make_service_with_connect_info::<Peer>();
    let ends = axum::serve(listener, routes).with_graceful_shutdown(server.stopped());
    ends.await.expect("it serves");
}

async fn upgraded(State(costly): State<Arc<AtomicUsize>>, upgrade: Upgrade) -> Response {
    costly.fetch_add(1, Ordering::SeqCst);
    upgrade
        .protocols(["chat.v2"])
        .on_upgrade(|socket| async move {
            socket.ready();
            echo(socket).await;
        })
}

/// Its login does not end.
async fn unready(upgrade: Upgrade) -> Response {
    upgrade.on_upgrade(echo)
}

/// A WebSocket of axum's own, with a connection beside it.
async fn own(
    State(costly): State<Arc<AtomicUsize>>,
    mut connection: Connection,
    upgrade: WebSocketUpgrade,
) -> Response {
    costly.fetch_add(1, Ordering::SeqCst);
    upgrade.on_upgrade(async move |mut socket| {
        connection.ready();
        loop {
            tokio::select! {
                farewell = connection.farewell() => {
                    connection.closed_with(1012);
                    let frame = ws::CloseFrame {
                        code: 1012,
                        reason: farewell.advice.to_string().into(),
                    };
                    let _ = socket.send(ws::Message::Close(Some(frame))).await;
                }
                message = socket.recv() => match message {
                    Some(Ok(message)) => drop(message),
                    _ => return,
                }
            }
        }
    })
}

/// A heartbeat for tests, on machines that have much else to do.
pub const QUICK: Heartbeat = Heartbeat::new(Duration::from_millis(100), Duration::from_secs(1));

/// A WebSocket of axum's own, watched.
async fn watched(connection: Connection, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async move |socket| {
        connection.ready();
        let mut socket = QUICK.watch(socket, || ws::Message::Ping(axum::body::Bytes::new()));
        while let Some(Ok(_)) = socket.next().await {}
    })
}

async fn flood(upgrade: Upgrade) -> Response {
    upgrade.on_upgrade(
        async |mut socket| {
            while socket.send("x".repeat(65_536).into()).await.is_ok() {}
        },
    )
}

async fn watched_flood(connection: Connection, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async move |socket| {
        connection.ready();
        let mut socket = QUICK.watch(socket, || ws::Message::Ping(axum::body::Bytes::new()));
        while socket.send("x".repeat(65_536).into()).await.is_ok() {}
    })
}

async fn plain(server: Server, mut listener: Listener, costly: Arc<AtomicUsize>) {
    while let Some(connection) = listener.accept().await {
        let (server, costly) = (server.clone(), Arc::clone(&costly));
        tokio::spawn(async move {
            let peer = connection.peer().clone();
            let Ok(handshake) = server.handshake(connection, &peer).await else {
                return;
            };
            costly.fetch_add(1, Ordering::SeqCst);
            let Ok(socket) = handshake.accept().await else {
                return;
            };
            socket.ready();
            echo(socket).await;
        });
    }
}

pub async fn echo<S, M, E>(mut socket: S)
where
    S: Stream<Item = Result<M, E>> + Sink<M, Error = E> + Unpin,
    M: IsData,
{
    while let Some(Ok(message)) = socket.next().await {
        if message.is_data() && socket.send(message).await.is_err() {
            return;
        }
    }
}

pub trait IsData {
    fn is_data(&self) -> bool;
}

impl IsData for becalm_ws::Message {
    fn is_data(&self) -> bool {
        self.is_text() || self.is_binary()
    }
}
