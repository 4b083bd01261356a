//! Which servers are measured? Each sends back what it gets.

use std::convert::Infallible;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::routing::get;
use axum::serve::ListenerExt;
use becalm_admission::Admission;
use becalm_ws::server::Settings;
use fastwebsockets::upgrade::upgrade;
use fastwebsockets::{FragmentCollector, OpCode};
use futures_util::{SinkExt, StreamExt};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_tungstenite::accept_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::clients::tuned;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Tuned,
    Default,
    Axum,
    Fast,
    Becalm,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Tuned,
        Self::Default,
        Self::Axum,
        Self::Fast,
        Self::Becalm,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Tuned => "tokio-tungstenite, buffers of 4 KiB",
            Self::Default => "tokio-tungstenite",
            Self::Axum => "axum, buffers of 4 KiB",
            Self::Fast => "fastwebsockets",
            Self::Becalm => "becalm-ws, with admission",
        }
    }

    pub fn named(name: &str) -> Self {
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == name);
        kind.expect("a server")
    }

    pub async fn serve(self, listener: TcpListener) {
        match self {
            Self::Tuned => tungstenite(listener, tuned()).await,
            Self::Default => tungstenite(listener, WebSocketConfig::default()).await,
            Self::Axum => axum(listener).await,
            Self::Fast => fast(listener).await,
            Self::Becalm => admitting(listener).await,
        }
    }
}

async fn tungstenite(listener: TcpListener, config: WebSocketConfig) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        tokio::spawn(async move {
            let accept = Box::pin(accept_async_with_config(stream, Some(config)));
            let Ok(mut socket) = accept.await else {
                return;
            };
            while let Some(Ok(message)) = socket.next().await {
                if message.is_text() && socket.send(message).await.is_err() {
                    return;
                }
            }
        });
    }
}

async fn axum(listener: TcpListener) {
    let upgraded = async |upgrade: WebSocketUpgrade| {
        let upgrade = upgrade
            .read_buffer_size(4 * 1024)
            .write_buffer_size(4 * 1024);
        upgrade.on_upgrade(async |mut socket| {
            while let Some(Ok(message)) = socket.next().await {
                let is_text = matches!(message, axum::extract::ws::Message::Text(_));
                if is_text && socket.send(message).await.is_err() {
                    return;
                }
            }
        })
    };
    let router = Router::new().route("/", get(upgraded));
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let _ = axum::serve(listener, router).await;
}

async fn fast(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let service = service_fn(async |mut request: hyper::Request<Incoming>| {
            let (answer, upgraded) = upgrade(&mut request).expect("an upgrade");
            tokio::spawn(async move {
                let Ok(socket) = upgraded.await else { return };
                let mut socket = FragmentCollector::new(socket);
                while let Ok(frame) = socket.read_frame().await {
                    if frame.opcode == OpCode::Close
                        || frame.opcode == OpCode::Text && socket.write_frame(frame).await.is_err()
                    {
                        return;
                    }
                }
            });
            Ok::<_, Infallible>(answer)
        });
        let http = hyper::server::conn::http1::Builder::new();
        let connection = http.serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection.with_upgrades());
    }
}

/// As the crate's documentation has it, at a rate that is never reached: what is measured is what admission costs those who
/// are let in.
async fn admitting(listener: TcpListener) {
    let server = Settings::new(Admission::per_second(100_000)).server();
    let server = server.expect("valid");
    let listener = listener.into_std().expect("a listener");
    let mut listener = server.listen_on(listener).expect("a listener");
    while let Some(connection) = listener.accept().await {
        let server = server.clone();
        tokio::spawn(async move {
            let peer = connection.peer().clone();
            let handshake = Box::pin(async move {
                let handshake = server.handshake(connection, &peer).await.ok()?;
                handshake.accept().await.ok()
            });
            let Some(mut socket) = handshake.await else {
                return;
            };
            socket.ready();
            while let Some(Ok(message)) = socket.next().await {
                if message.is_text() && socket.send(message).await.is_err() {
                    return;
                }
            }
        });
    }
}
