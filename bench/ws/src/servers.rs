//! Which servers are measured? Each sends back what it gets.

use std::convert::Infallible;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::routing::get;
use axum::serve::ListenerExt;
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
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Tuned, Self::Default, Self::Axum, Self::Fast];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Tuned => "tokio-tungstenite, buffers of 4 KiB",
            Self::Default => "tokio-tungstenite",
            Self::Axum => "axum, buffers of 4 KiB",
            Self::Fast => "fastwebsockets",
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
