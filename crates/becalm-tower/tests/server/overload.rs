//! Over real sockets, asked by clients that retry: does a server that gets three times what it can do go on
//! doing what it can?
//!
//! The clock is tokio's and stands still. [`pass`] moves it on in small steps, and between two of them lets sockets
//! bring what is on its way, so the speed of the machine does not matter. By hand, and in real time:
//! `scripts/prove shedding`.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use becalm::rng::Seed;
use becalm::time::TokioSleeper;
use becalm::{Budget, Bulkhead, Policy};
use becalm_reqwest::ClientBuilder;
use becalm_tower::server::{AdmissionLayer, ScopeLayer};
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
    /// What is counted, after the warm-up.
    counted: Duration,
    is_real: bool,
}

impl Scale {
    /// How often a place falls free.
    fn gap(self) -> Duration {
        self.work / self.workers
    }

    /// Requests that the server can work on from the end of the warm-up on.
    fn capacity(self) -> f64 {
        f64::from(self.workers) * self.counted.as_secs_f64() / self.work.as_secs_f64()
    }
}

#[derive(Debug, Clone, Copy)]
enum Clients {
    /// Repeat at once what has failed, three times.
    Naive,
    /// becalm-reqwest with its default policy.
    Becalm,
    /// becalm-reqwest without a budget, which tells the server of its attempts and hears what that says of them, or not.
    Unbounded { are_known: bool },
}

/// A call that says whether it succeeded.
type Call = Pin<Box<dyn Future<Output = bool> + Send>>;

impl Clients {
    /// What makes calls to this server.
    fn calls(self, url: String) -> Box<dyn Fn() -> Call> {
        let reqwest = reqwest::Client::builder().no_proxy();
        let mut policy = Policy::default().attempt_timeout(PATIENCE);
        if matches!(self, Self::Unbounded { .. }) {
            policy.budget = Budget::None;
        }
        let retrier = policy.builder().seed(Seed::fixed(1)).build();
        let retrier = retrier.expect("a valid policy");
        let mut client = ClientBuilder::new(reqwest, &retrier);
        match self {
            Self::Naive => {
                let naive = reqwest::Client::builder().no_proxy().build();
                let naive = naive.expect("a client");
                return Box::new(move || Box::pin(by_the_naive(naive.clone(), url.clone())));
            }
            Self::Unbounded { are_known: true } => client = client.scope_to([&*url]),
            Self::Unbounded { .. } | Self::Becalm => {}
        }
        let client = client.build().expect("a client");
        Box::new(move || Box::pin(by_becalm(client.clone(), url.clone())))
    }
}

/// What came of it.
#[derive(Debug)]
struct Outcome {
    /// The calls that succeed after the warm-up, as a share of the requests that the server could work on.
    goodput: f64,
    /// Requests that reach a server that sheds, for each call, in the second half.
    amplification: f64,
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
fn worker<B: 'static>(
    scale: Scale,
) -> impl Service<Request<B>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static {
    let workers = Arc::new(Semaphore::new(scale.workers as usize));
    service_fn(move |_: Request<B>| {
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
    (format!("http://{address}"), server)
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

/// Asks a server three times as often as it can answer.
async fn ask(scale: Scale, clients: Clients, sheds: bool) -> Outcome {
    let (good, arrived) = (Arc::<AtomicU32>::default(), Arc::<AtomicU32>::default());
    let (start, half) = (Instant::now(), (WARM_UP + scale.counted) / 2);
    let (url, server) = if sheds {
        let places = Bulkhead::calls(scale.workers).waiting(100);
        let layer = AdmissionLayer::new(places).expect("valid");
        let layer = layer.target(scale.gap() * 2);
        let layer = layer.clock(TokioSleeper::new()).seed(Seed::fixed(1));
        let arrived = Arc::clone(&arrived);
        let hears = ScopeLayer::from_callers(|_| true).on_attempt(move |_| {
            let counts = start.elapsed() >= half;
            arrived.fetch_add(u32::from(counts), Ordering::Relaxed);
        });
        serve(hears.layer(layer.layer(worker(scale)))).await
    } else {
        serve(worker(scale)).await
    };
    let call = clients.calls(url);
    let (mut calls, mut count) = (JoinSet::new(), 0);
    let gap = scale.gap() / 3;
    while gap * count < WARM_UP + scale.counted {
        pass(start + gap * count, scale.is_real).await;
        count += 1;
        let (call, good) = (call(), Arc::clone(&good));
        calls.spawn(async move {
            let counts = call.await && start.elapsed() >= WARM_UP;
            good.fetch_add(u32::from(counts), Ordering::Relaxed);
        });
        while calls.try_join_next().is_some() {}
    }
    drop(server);
    Outcome {
        goodput: f64::from(good.load(Ordering::Relaxed)) / scale.capacity(),
        amplification: f64::from(arrived.load(Ordering::Relaxed)) * 2.0 / f64::from(count),
    }
}

/// A hundred requests a second, for four seconds.
const SMALL: Scale = Scale {
    workers: 5,
    work: Duration::from_millis(50),
    counted: Duration::from_secs(3),
    is_real: false,
};

#[tokio::test(start_paused = true)]
async fn naive_clients_keep_a_server_down_that_does_not_shed_and_not_one_that_does() {
    let with = ask(SMALL, Clients::Naive, true).await.goodput;
    let without = ask(SMALL, Clients::Naive, false).await.goodput;
    assert!(with >= 0.9 && without <= 0.1, "{with} {without}");
}

#[tokio::test(start_paused = true)]
async fn no_retries_help_a_server_that_is_overloaded_and_shedding_does() {
    let with = ask(SMALL, Clients::Becalm, true).await.goodput;
    let without = ask(SMALL, Clients::Becalm, false).await.goodput;
    assert!(with >= 0.9 && without <= 0.1, "{with} {without}");
}

#[tokio::test(start_paused = true)]
async fn clients_that_hear_when_retries_dominate_send_about_as_many_as_first_tries() {
    // Long enough for all retries, of which each comes a second or more after the attempt before.
    let scale = Scale {
        workers: 2,
        work: Duration::from_millis(40),
        counted: Duration::from_secs(15),
        is_real: false,
    };
    let [hear, do_not] = [true, false].map(|are_known| Clients::Unbounded { are_known });
    let (hear, do_not) = (ask(scale, hear, true).await, ask(scale, do_not, true).await);
    assert!(hear.goodput >= 0.9, "{hear:?}");
    assert!((1.5..=2.2).contains(&hear.amplification), "{hear:?}");
    assert!(do_not.amplification >= 2.5, "{do_not:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "in real time, by hand: scripts/prove shedding"]
async fn in_full() {
    // Work is long beside the millisecond by which a timer is late.
    let scale = Scale {
        workers: 25,
        work: Duration::from_millis(50),
        counted: Duration::from_secs(10),
        is_real: true,
    };
    for clients in [Clients::Naive, Clients::Becalm] {
        for sheds in [true, false] {
            let share = ask(scale, clients, sheds).await.goodput;
            let layer = if sheds { "with" } else { "without" };
            let percent = share * 100.0;
            println!(
                "{clients:?} clients, {layer} the layer: goodput {percent:.1} % of the capacity"
            );
            assert!(if sheds { share >= 0.9 } else { share <= 0.1 });
        }
    }
}
