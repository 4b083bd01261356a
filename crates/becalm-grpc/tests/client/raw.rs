//! A raw server of HTTP/2 that breaks calls where it is told to.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderValue, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// What it does with a call. After the last of a script it answers one empty message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Fails without messages, with this status.
    Fails(&'static str),
    /// Answers this status of HTTP, which is no answer of gRPC.
    Rejects(u16),
    /// Begins an answer, and ends it with this status before its first message.
    BeginsAndFails(&'static str),
    /// Refuses the stream before it reads anything of it.
    RefusesStream,
    /// Reads it all, and resets the stream.
    Resets(Reason),
    /// Closes the connection before it reads anything.
    ClosesAtOnce,
    /// Closes the connection when all is read.
    ClosesAfterRequest,
    /// Closes the connection in the middle of the first message.
    ClosesInAnswer,
    /// Fails with 14, and is gone with its listener until it is started again.
    FailsAndDies,
    /// Reads it all, and never answers.
    Stalls,
}

pub struct Raw {
    address: SocketAddr,
    shared: Shared,
    running: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone)]
struct Shared {
    script: Arc<Mutex<VecDeque<Does>>>,
    seen: Arc<Mutex<Vec<Does>>>,
    died: mpsc::UnboundedSender<()>,
}

/// One message of no fields, as gRPC frames it.
const EMPTY: [u8; 5] = [0; 5];

impl Raw {
    pub async fn start(
        script: impl IntoIterator<Item = Does>,
    ) -> (Self, mpsc::UnboundedReceiver<()>) {
        let (died, deaths) = mpsc::unbounded_channel();
        let shared = Shared {
            script: Arc::new(Mutex::new(script.into_iter().collect())),
            seen: Arc::default(),
            died,
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let running = Mutex::new(Some(tokio::spawn(serve(listener, shared.clone()))));
        let raw = Self {
            address,
            shared,
            running,
        };
        (raw, deaths)
    }

    pub async fn start_again(&self) {
        let listener = TcpListener::bind(self.address).await.expect("its port");
        let running = tokio::spawn(serve(listener, self.shared.clone()));
        *self.running.lock().expect("unpoisoned") = Some(running);
    }

    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it did, call by call; an answer without a fault is not told.
    pub fn count(&self) -> usize {
        self.shared.seen.lock().expect("unpoisoned").len()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Some(running) = self.running.lock().expect("unpoisoned").take() {
            running.abort();
        }
    }
}

/// Until it dies.
async fn serve(listener: TcpListener, shared: Shared) {
    let (end, mut ends) = mpsc::unbounded_channel();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted.expect("a connection");
                tokio::spawn(connection(stream, shared.clone(), end.clone()));
            }
            _ = ends.recv() => break,
        }
    }
    drop(listener);
    let _ = shared.died.send(());
}

async fn connection(stream: TcpStream, shared: Shared, death: mpsc::UnboundedSender<()>) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    let (close, mut closes) = mpsc::unbounded_channel();
    loop {
        tokio::select! {
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                let does = shared.script.lock().expect("unpoisoned").pop_front();
                let does = does.unwrap_or(Does::BeginsAndFails("0"));
                shared.seen.lock().expect("unpoisoned").push(does);
                tokio::spawn(answer(does, request.into_body(), respond, close.clone()));
            }
            dead = closes.recv() => {
                if dead == Some(true) {
                    let _ = death.send(());
                }
                return;
            }
        }
    }
}

async fn answer(
    does: Does,
    body: RecvStream,
    mut respond: SendResponse<Bytes>,
    close: mpsc::UnboundedSender<bool>,
) {
    match does {
        Does::RefusesStream => return respond.send_reset(Reason::REFUSED_STREAM),
        Does::ClosesAtOnce => return close_now(&close, false).await,
        _ => read(body).await,
    }
    let head = || Response::builder().header("content-type", "application/grpc");
    let status = |code: &'static str| {
        HeaderMap::from_iter([(
            http::HeaderName::from_static("grpc-status"),
            HeaderValue::from_static(code),
        )])
    };
    match does {
        Does::Fails(code) => {
            let answer = head().header("grpc-status", code).body(()).expect("valid");
            let _ = respond.send_response(answer, true);
        }
        Does::Rejects(status) => {
            let answer = Response::builder().status(status).body(()).expect("valid");
            let _ = respond.send_response(answer, true);
        }
        Does::BeginsAndFails(code) => {
            let Ok(mut stream) = respond.send_response(head().body(()).expect("valid"), false)
            else {
                return;
            };
            if code == "0" {
                let _ = stream.send_data(Bytes::from_static(&EMPTY), false);
            }
            let _ = stream.send_trailers(status(code));
        }
        Does::ClosesInAnswer => {
            let Ok(mut stream) = respond.send_response(head().body(()).expect("valid"), false)
            else {
                return;
            };
            let _ = stream.send_data(Bytes::from_static(&EMPTY[..3]), false);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await; // it is on its way
            close_now(&close, false).await;
        }
        Does::Resets(reason) => respond.send_reset(reason),
        Does::ClosesAfterRequest => {
            close_now(&close, false).await;
        }
        Does::FailsAndDies => {
            let answer = head().header("grpc-status", "14").body(()).expect("valid");
            let _ = respond.send_response(answer, true);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await; // it is on its way
            close_now(&close, true).await;
        }
        Does::Stalls => {
            std::future::poll_fn(|context| respond.poll_reset(context))
                .await
                .ok();
        }
        Does::RefusesStream | Does::ClosesAtOnce => (),
    }
}

/// Not before the connection is closed the stream is let go, which would reset it.
async fn close_now(close: &mpsc::UnboundedSender<bool>, dies: bool) {
    let _ = close.send(dies);
    close.closed().await;
}

async fn read(mut body: RecvStream) {
    while let Some(Ok(data)) = body.data().await {
        let _ = body.flow_control().release_capacity(data.len());
    }
}
