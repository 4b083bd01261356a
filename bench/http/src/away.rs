//! A service that is away at times: what does it do now, and how many attempts has it seen?

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Serves,
    /// Every request is answered 503.
    Refuses,
    /// A request is answered as if it had come at the end of this part.
    Hangs,
    /// Connections are cut, and new ones as soon as they are made.
    Gone,
}

/// The parts that a service goes through, again and again, with their milliseconds.
pub type Course = &'static [(Part, u64)];

/// A service on a thread of its own, until this is dropped.
pub struct Away {
    pub address: SocketAddr,
    service: Arc<Service>,
    _end: oneshot::Sender<()>,
}

struct Service {
    began: Instant,
    course: Course,
    attempts: AtomicU64,
}

impl Away {
    pub fn start(course: Course) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let service = Arc::new(Service {
            began: Instant::now(),
            course,
            attempts: AtomicU64::new(0),
        });
        let (end, ended) = oneshot::channel();
        let serving = service.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = runtime.expect("a runtime");
            runtime.spawn(serving.serve(listener));
            let _ = runtime.block_on(ended);
        });
        Self {
            address,
            service,
            _end: end,
        }
    }

    /// The requests that came, and the connections that were cut before one did.
    pub fn attempts(&self) -> u64 {
        self.service.attempts.load(Ordering::Relaxed)
    }

    /// What it does at that time.
    pub fn at(&self, at: Instant) -> Part {
        self.service.at(at).0
    }
}

/// How long it takes once.
pub fn length(course: Course) -> Duration {
    Duration::from_millis(course.iter().map(|(_, length)| length).sum())
}

impl Service {
    /// What it does at that time, and until when.
    fn at(&self, at: Instant) -> (Part, Instant) {
        let turn = length(self.course).as_nanos();
        let into = (at - self.began).as_nanos() % turn;
        let mut end = at - Duration::from_nanos(u64::try_from(into).expect("some seconds"));
        for (part, length) in self.course {
            end += Duration::from_millis(*length);
            if at < end {
                return (*part, end);
            }
        }
        (Part::Serves, end)
    }

    async fn serve(self: Arc<Self>, listener: std::net::TcpListener) {
        let listener = TcpListener::from_std(listener).expect("a socket");
        let mut connections = JoinSet::new();
        loop {
            let (part, end) = self.at(Instant::now());
            if part == Part::Gone {
                connections.shutdown().await;
            }
            let Ok(Ok((stream, _))) = timeout_at(end, listener.accept()).await else {
                continue;
            };
            if part == Part::Gone {
                self.attempts.fetch_add(1, Ordering::Relaxed);
                let _ = stream.set_zero_linger();
                continue;
            }
            let _ = stream.set_nodelay(true);
            let service = self.clone();
            let service = service_fn(move |request| service.clone().answer(request));
            let http = hyper::server::conn::http1::Builder::new();
            let connection = http.serve_connection(TokioIo::new(stream), service);
            connections.spawn(async move { drop(connection.await) });
        }
    }

    async fn answer(
        self: Arc<Self>,
        _: Request<Incoming>,
    ) -> Result<Response<Empty<Bytes>>, &'static str> {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        let status = loop {
            match self.at(Instant::now()) {
                (Part::Serves, _) => break 200,
                (Part::Refuses, _) => break 503,
                (Part::Hangs, end) => sleep_until(end).await,
                (Part::Gone, _) => return Err("gone"),
            }
        };
        let answer = Response::builder().status(status);
        Ok(answer.body(Empty::new()).expect("valid"))
    }
}
