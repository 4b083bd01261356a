//! Over real sockets, asked by clients that retry: does a server that gets three times what it can do go on
//! doing what it can?
//!
//! The clock is tokio's and stands still. [`pass`] moves it on in small steps, and between two of them lets sockets
//! bring what is on its way, so the speed of the machine does not matter. By hand, and in real time:
//! `scripts/prove shedding`.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::TokioSleeper;
use becalm::{Bulkhead, Policy};
use becalm_tower::server::AdmissionLayer;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, advance, sleep, sleep_until};
use tower::{Layer, Service, service_fn};

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_millis(250);
const ATTEMPTS: usize = 4;
/// What is not counted, at the beginning.
const WARM_UP: Duration = Duration::from_secs(1);

/// How large, and in whose time.
#[derive(Debug, Clone, Copy)]
struct Scale {
    workers: u32,
    work: Duration,
    length: Duration,
    is_real: bool,
}

impl Scale {
    /// How often a place falls free.
    fn gap(self) -> Duration {
        self.work / self.workers
    }

    /// Requests that the server can work on from the end of the warm-up on.
    fn capacity(self) -> f64 {
        f64::from(self.workers) * (self.length - WARM_UP).as_secs_f64() / self.work.as_secs_f64()
    }
}

#[derive(Debug, Clone, Copy)]
enum Clients {
    /// Repeat at once what has failed, three times.
    Naive,
    /// becalm-reqwest with its default policy.
    Becalm,
}

/// Moves the clock on.
async fn pass(until: Instant, is_real: bool) {
    if is_real {
        return sleep_until(until).await;
    }
    while Instant::now() < until {
        // With each of them all tasks go on, and the sockets are asked for news.
        for _ in 0..20 {
            yield_now().await;
        }
        advance(Duration::from_millis(1)).await;
    }
}

/// Works on a request for as long as it takes, even if nobody waits for the answer any more.
fn worker(
    scale: Scale,
) -> impl Service<Request<Incoming>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static {
    let workers = Arc::new(Semaphore::new(scale.workers as usize));
    service_fn(move |_: Request<Incoming>| {
        let workers = Arc::clone(&workers);
        let work = tokio::spawn(async move {
            let _worker = workers.acquire_owned().await;
            sleep(scale.work).await;
        });
        async move {
            let _ = work.await;
            Ok(Response::new(Full::default()))
        }
    })
}

/// Serves on a port of loopback, as long as what it returns lives.
async fn serve<S, D>(service: S) -> (String, JoinSet<()>)
where
    S: Service<Request<Incoming>, Response = Response<D>, Error = Infallible, Future: Send>,
    S: Clone + Send + 'static,
    D: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let http = hyper::server::conn::http1::Builder::new();
            let connection = http.serve_connection(TokioIo::new(stream), service);
            connections.spawn(async move { drop(connection.await) });
        }
    });
    (format!("http://{address}/"), server)
}

/// One call by becalm-reqwest.
async fn by_becalm(client: becalm_reqwest::Client, url: String) -> bool {
    let answer = client.get(url).send().await;
    answer.is_ok_and(|answer| answer.status() == StatusCode::OK)
}

/// One call by who repeats at once.
async fn by_the_naive(client: reqwest::Client, url: String) -> bool {
    for _ in 0..ATTEMPTS {
        let answer = client.get(&url).timeout(PATIENCE).send().await;
        if answer.is_ok_and(|answer| answer.status() == StatusCode::OK) {
            return true;
        }
    }
    false
}

/// Asks this server three times as often as it can answer.
async fn ask(scale: Scale, clients: Clients, url: &str, good: &Arc<AtomicU32>, start: Instant) {
    let reqwest = || reqwest::Client::builder().no_proxy();
    let naive = reqwest().build().expect("a client");
    let policy = Policy::default().attempt_timeout(PATIENCE);
    let retrier = policy.builder().seed(Seed::fixed(1)).build();
    let becalm = becalm_reqwest::Client::new(reqwest(), &retrier.expect("a valid policy"));
    let becalm = becalm.expect("a client");
    let mut calls = JoinSet::new();
    let mut at = Duration::ZERO;
    while at < scale.length {
        pass(start + at, scale.is_real).await;
        at += scale.gap() / 3;
        let (naive, becalm, url) = (naive.clone(), becalm.clone(), url.to_owned());
        let good = Arc::clone(good);
        calls.spawn(async move {
            let is_good = match clients {
                Clients::Naive => by_the_naive(naive, url).await,
                Clients::Becalm => by_becalm(becalm, url).await,
            };
            let counts = is_good && start.elapsed() >= WARM_UP;
            good.fetch_add(u32::from(counts), Ordering::Relaxed);
        });
        while calls.try_join_next().is_some() {}
    }
}

/// The calls that succeed, as a share of the requests that the server could work on.
async fn goodput(scale: Scale, clients: Clients, sheds: bool) -> f64 {
    let (good, start) = (Arc::<AtomicU32>::default(), Instant::now());
    let (url, server) = if sheds {
        let places = Bulkhead::calls(scale.workers).waiting(100);
        let layer = AdmissionLayer::new(places).expect("valid");
        let layer = layer.target(scale.gap() * 2);
        let layer = layer.clock(TokioSleeper::new()).seed(Seed::fixed(1));
        serve(layer.layer(worker(scale))).await
    } else {
        serve(worker(scale)).await
    };
    ask(scale, clients, &url, &good, start).await;
    drop(server);
    f64::from(good.load(Ordering::Relaxed)) / scale.capacity()
}

/// A hundred requests a second, for four seconds.
const SMALL: Scale = Scale {
    workers: 5,
    work: Duration::from_millis(50),
    length: Duration::from_secs(4),
    is_real: false,
};

#[tokio::test(start_paused = true)]
async fn naive_clients_keep_a_server_down_that_does_not_shed_and_not_one_that_does() {
    let (with, without) = (
        goodput(SMALL, Clients::Naive, true).await,
        goodput(SMALL, Clients::Naive, false).await,
    );
    assert!(with >= 0.9 && without <= 0.1, "{with} {without}");
}

#[tokio::test(start_paused = true)]
async fn no_retries_help_a_server_that_is_overloaded_and_shedding_does() {
    let (with, without) = (
        goodput(SMALL, Clients::Becalm, true).await,
        goodput(SMALL, Clients::Becalm, false).await,
    );
    assert!(with >= 0.9 && without <= 0.1, "{with} {without}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "in real time, by hand: scripts/prove shedding"]
async fn in_full() {
    // Work is long beside the millisecond by which a timer is late.
    let scale = Scale {
        workers: 25,
        work: Duration::from_millis(50),
        length: Duration::from_secs(11),
        is_real: true,
    };
    for clients in [Clients::Naive, Clients::Becalm] {
        for sheds in [true, false] {
            let share = goodput(scale, clients, sheds).await;
            let layer = if sheds { "with" } else { "without" };
            let percent = share * 100.0;
            println!(
                "{clients:?} clients, {layer} the layer: goodput {percent:.1} % of the capacity"
            );
            assert!(if sheds { share >= 0.9 } else { share <= 0.1 });
        }
    }
}
