//! How does a chat server let everybody back in who comes at once, and restart without throwing everybody out at
//! once? axum with admission before the login, and a drain at its end.

use std::future::IntoFuture;
use std::io;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{any, get};
use becalm_ws::Message;
use becalm_ws::server::{Drain, Drained, Listener, Server, Upgrade};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::broadcast::{Sender, error::RecvError};

/// The chat's routes. `Settings::new(Admission::per_second(500)).tickets(keys).server()` makes a server that takes 500 logins a
/// second and keeps its appointments across restarts.
pub fn chat(server: &Server) -> Router {
    let (ready, metrics) = (server.clone(), server.clone());
    Router::new()
        .route("/chat", any(join))
        .with_state(Sender::new(256))
        .route("/ready", get(async move || is_ready(&ready)))
        .route("/metrics", get(async move || metrics.metrics().to_string()))
}

/// Serves until `stop`, then closes the connections, 500 in a second, each told when to come back.
pub async fn serve(
    server: &Server,
    listener: Listener,
    stop: impl Future<Output = ()>,
) -> io::Result<Drained> {
    // With the layer around all routes.
    let service = server.make_service(chat(server));
    let serving = axum::serve(listener, service).with_graceful_shutdown(server.stopped());
    let draining = async {
        stop.await;
        Ok(server.drain(Drain::per_second(500)).await)
    };
    let ((), drained) = tokio::try_join!(serving.into_future(), draining)?;
    Ok(drained)
}

/// The login comes here: who gets here was admitted.
async fn join(State(room): State<Sender<String>>, upgrade: Upgrade) -> Response {
    upgrade.on_upgrade(async move |mut socket| {
        let mut lines = room.subscribe();
        socket.ready();
        loop {
            tokio::select! {
                said = socket.next() => match said {
                    Some(Ok(Message::Text(line))) => drop(room.send(line.to_string())),
                    Some(Ok(_)) => (),
                    _ => break,
                },
                line = lines.recv() => {
                    let is_sent = match line {
                        Ok(line) => socket.send(line.into()).await.is_ok(),
                        Err(error) => matches!(error, RecvError::Lagged(_)),
                    };
                    if !is_sent {
                        break;
                    }
                }
            }
        }
    })
}

fn is_ready(server: &Server) -> StatusCode {
    if server.is_ready() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}
