//! A service that does as it is told, without a network.

use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use becalm_http_faults::Pieces;
use http::request::Parts;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes};
use tokio::time::Instant;
use tower::Service;

/// What it does with a request. After the last of a script it answers 200.
pub enum Does {
    /// Answers at once, having read the body.
    Answers(Response<Pieces>),
    /// Answers this status after so long, having read the body.
    AnswersAfter(u16, Duration),
    /// Fails, having read the body.
    Fails(io::ErrorKind),
    /// Reads the body, and never answers.
    Stalls,
}

pub fn answers(status: u16) -> Does {
    with(status, &[])
}

pub fn with(status: u16, headers: &[(&str, &str)]) -> Does {
    let mut answer = Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(*name, *value);
    }
    Does::Answers(answer.body(Pieces::new(5, 5)).expect("valid"))
}

/// A request as it came: when, its head, its body.
pub struct Seen {
    pub at: Instant,
    pub head: Parts,
    pub body: Bytes,
}

#[derive(Clone, Default)]
pub struct MadeUp {
    script: Arc<Mutex<VecDeque<Does>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    not_ready: Arc<AtomicUsize>,
}

impl MadeUp {
    pub fn new(script: impl IntoIterator<Item = Does>) -> Self {
        let made_up = Self::default();
        made_up.script.lock().expect("unpoisoned").extend(script);
        made_up
    }

    /// Fails so often before it is ready.
    pub fn not_ready(self, times: usize) -> Self {
        self.not_ready.store(times, Ordering::SeqCst);
        self
    }

    pub fn count(&self) -> usize {
        self.seen.lock().expect("unpoisoned").len()
    }

    /// Something of each request.
    pub fn each<T>(&self, look: impl FnMut(&Seen) -> T) -> Vec<T> {
        self.seen
            .lock()
            .expect("unpoisoned")
            .iter()
            .map(look)
            .collect()
    }

    /// How long after the first request the others came.
    pub fn waits(&self) -> Vec<Duration> {
        let times = self.each(|seen| seen.at);
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }
}

impl<B> Service<Request<B>> for MadeUp
where
    B: Body<Error: Error + Send + Sync, Data: Send> + Send + 'static,
{
    type Response = Response<Pieces>;
    type Error = io::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = io::Result<Response<Pieces>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let count = |left: usize| left.checked_sub(1);
        let left = self
            .not_ready
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, count);
        Poll::Ready(left.map_or(Ok(()), |_| Err(io::ErrorKind::ConnectionReset.into())))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let does = self.script.lock().expect("unpoisoned").pop_front();
        let seen = Arc::clone(&self.seen);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
            let at = Instant::now();
            seen.lock()
                .expect("unpoisoned")
                .push(Seen { at, head, body });
            match does.unwrap_or(answers(200)) {
                Does::Answers(answer) => Ok(answer),
                Does::AnswersAfter(status, wait) => {
                    tokio::time::sleep(wait).await;
                    let answer = Response::builder().status(status);
                    Ok(answer.body(Pieces::new(5, 5)).expect("valid"))
                }
                Does::Fails(kind) => Err(kind.into()),
                Does::Stalls => std::future::pending().await,
            }
        })
    }
}

/// A request with a body of one piece.
pub fn request(method: &str, body: &'static str) -> Request<Full<Bytes>> {
    let request = Request::builder()
        .method(method)
        .uri("http://shop.example/orders");
    request.body(Full::from(body)).expect("valid")
}
