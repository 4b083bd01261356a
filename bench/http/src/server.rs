//! A server on a thread of its own that does as its path says, and counts.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::{sleep, sleep_until};

/// When requests came, since the last time that somebody asked.
#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Instant>>>,
    work: Arc<Mutex<Option<Work>>>,
}

/// Workers that go on when nobody waits for them any more. While they hang, none ends.
#[derive(Clone)]
struct Work {
    workers: Arc<Semaphore>,
    hang: tokio::time::Instant,
    end: tokio::time::Instant,
}

impl Work {
    const WORKERS: usize = 10;
    const TAKES: Duration = Duration::from_millis(20);

    async fn one(self) {
        let _worker = self.workers.acquire_owned().await;
        if tokio::time::Instant::now() >= self.hang {
            sleep_until(self.end).await;
        }
        sleep(Self::TAKES).await;
    }
}

impl Server {
    /// On a thread of its own.
    pub fn start() -> Self {
        let (shared, listener) = Self::bound();
        let server = shared.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(shared.serve(listener));
        });
        server
    }

    /// On the thread of its clients: neither waits for a core that sleeps, which takes ten times as long as a request.
    pub fn beside(runtime: &Runtime) -> Self {
        let (server, listener) = Self::bound();
        runtime.spawn(server.clone().serve(listener));
        server
    }

    fn bound() -> (Self, std::net::TcpListener) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let server = Self {
            address: listener.local_addr().expect("an address"),
            seen: Arc::default(),
            work: Arc::default(),
        };
        (server, listener)
    }

    pub fn take_seen(&self) -> Vec<Instant> {
        std::mem::take(&mut *self.seen.lock().expect("unpoisoned"))
    }

    /// From now on there are new workers under `/work`, which hang from then to then.
    pub fn hang(&self, hang: Instant, end: Instant) {
        *self.work.lock().expect("unpoisoned") = Some(Work {
            workers: Arc::new(Semaphore::new(Work::WORKERS)),
            hang: hang.into(),
            end: end.into(),
        });
    }

    async fn serve(self, listener: std::net::TcpListener) {
        let listener = TcpListener::from_std(listener).expect("a socket");
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let server = self.clone();
            let service = service_fn(move |request| server.clone().answer(request));
            let http = hyper::server::conn::http1::Builder::new();
            let connection = http.serve_connection(TokioIo::new(stream), service);
            tokio::spawn(async move { drop(connection.await) });
        }
    }

    async fn answer(
        self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, &'static str> {
        let path = request.uri().path().to_owned();
        let mut body = request.into_body();
        while body.frame().await.is_some() {}
        let count = {
            let mut seen = self.seen.lock().expect("unpoisoned");
            seen.push(Instant::now());
            seen.len()
        };
        if path == "/work" {
            let work = self.work.lock().expect("unpoisoned").clone();
            drop(tokio::spawn(work.expect("it is set").one()).await);
        }
        let answer = |status: u16, name, value| {
            let answer = Response::builder().status(status).header(name, value);
            Ok(answer.body(Full::default()).expect("valid"))
        };
        match &*path {
            "/busy" => answer(503, "x-busy", "true"),
            "/closes" => Err("closed"),
            "/later" if count == 1 => answer(503, "retry-after", "1"),
            "/tomorrow" => answer(503, "retry-after", "86400"),
            "/no" => answer(503, "x-should-retry", "false"),
            _ => answer(200, "x-busy", "false"),
        }
    }
}
