//! Which clients are measured, and how is each set up?

use std::net::SocketAddr;

use becalm_ws::{Client as Settings, WebSocket};
use fastwebsockets::{FragmentCollector, Frame, OpCode, Payload};
use futures_util::{SinkExt, StreamExt};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::header::{CONNECTION, HOST, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

pub const TEXT: &str = "a price, and another one, 17.25";

/// Where there is a server, and what all sockets of a program share that dial it.
pub struct At {
    server: SocketAddr,
    becalm: Settings,
}

impl At {
    pub fn new(server: SocketAddr) -> Self {
        let address = format!("ws://{server}/").parse().expect("an address");
        Self {
            server,
            becalm: Settings::new(address),
        }
    }
}

/// A socket of some library.
pub trait Client: Sized + Send + 'static {
    const NAME: &'static str;

    fn open(at: &At) -> impl Future<Output = Self> + Send;

    /// Sends a text and reads its echo.
    fn echo(&mut self) -> impl Future<Output = ()> + Send;

    /// Reads until the server ends.
    fn idle(self) -> impl Future<Output = ()> + Send;
}

/// Buffers of 4 KiB, as becalm-ws has them.
pub fn tuned() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(4 * 1024)
        .write_buffer_size(4 * 1024)
}

pub type Tungstenite = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub struct Default(Tungstenite);
pub struct Tuned(Tungstenite);
pub struct Becalm(WebSocket);
pub struct Fast(FragmentCollector<TokioIo<Upgraded>>);

impl Client for Default {
    const NAME: &'static str = "tokio-tungstenite";

    async fn open(at: &At) -> Self {
        Self(tungstenite(at.server, WebSocketConfig::default()).await)
    }

    async fn echo(&mut self) {
        echo(&mut self.0).await;
    }

    async fn idle(mut self) {
        while let Some(Ok(_)) = self.0.next().await {}
    }
}

impl Client for Tuned {
    const NAME: &'static str = "tokio-tungstenite, buffers of 4 KiB";

    async fn open(at: &At) -> Self {
        Self(tungstenite(at.server, tuned()).await)
    }

    async fn echo(&mut self) {
        echo(&mut self.0).await;
    }

    async fn idle(mut self) {
        while let Some(Ok(_)) = self.0.next().await {}
    }
}

/// In a box, so that it leaves nothing behind.
async fn tungstenite(server: SocketAddr, config: WebSocketConfig) -> Tungstenite {
    let request = format!("ws://{server}/");
    let connect = Box::pin(connect_async_with_config(request, Some(config), true));
    connect.await.expect("a handshake").0
}

async fn echo(socket: &mut Tungstenite) {
    socket.send(TEXT.into()).await.expect("it is open");
    let echo = socket.next().await.expect("it is open");
    assert_eq!(echo.expect("a message").len(), TEXT.len());
}

impl Client for Becalm {
    const NAME: &'static str = "becalm-ws";

    async fn open(at: &At) -> Self {
        let mut socket = at.becalm.open().expect("valid");
        // It dials when it is polled.
        socket.flush().await.expect("it is open");
        Self(socket)
    }

    async fn echo(&mut self) {
        self.0.send(TEXT.into()).await.expect("it is open");
        let echo = self.0.next().await.expect("it is open");
        assert_eq!(echo.expect("a message").len(), TEXT.len());
    }

    async fn idle(mut self) {
        while let Some(Ok(_)) = self.0.next().await {}
    }
}

impl Client for Fast {
    const NAME: &'static str = "fastwebsockets";

    async fn open(at: &At) -> Self {
        let server = at.server;
        let connect = Box::pin(async move {
            let stream = TcpStream::connect(server).await.expect("it listens");
            stream.set_nodelay(true).expect("a socket");
            let request = hyper::Request::get(format!("http://{server}/"))
                .header(HOST, server.to_string())
                .header(UPGRADE, "websocket")
                .header(CONNECTION, "upgrade")
                .header(
                    "Sec-WebSocket-Key",
                    fastwebsockets::handshake::generate_key(),
                )
                .header("Sec-WebSocket-Version", "13")
                .body(Empty::<Bytes>::new())
                .expect("valid");
            let executor = TokioExecutor::new();
            let opened = fastwebsockets::handshake::client(&executor, request, stream).await;
            opened.expect("a handshake").0
        });
        Self(FragmentCollector::new(connect.await))
    }

    async fn echo(&mut self) {
        let frame = Frame::text(Payload::Borrowed(TEXT.as_bytes()));
        self.0.write_frame(frame).await.expect("it is open");
        let echo = self.0.read_frame().await.expect("a message");
        assert_eq!(echo.payload.len(), TEXT.len());
    }

    async fn idle(mut self) {
        while let Ok(frame) = self.0.read_frame().await {
            if frame.opcode == OpCode::Close {
                return;
            }
        }
    }
}
