//! What does each layer add to a request that succeeds at once? Instructions and allocations, and what is promised of them.

use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use becalm::Policy;
use becalm_tower::client::{ReplayBody, RetryLayer, ScopeLayer};
use http_body_util::{Empty, Full};
use hyper::body::Bytes;
use hyper::{Request, Response};
use reqwest::Method;
use tokio::runtime::Runtime;
use tower::retry::backoff::{ExponentialBackoffMaker, MakeBackoff};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::clients::judge::Judge;
use crate::clients::{Client, NAMES, Times};
use crate::promises::Promises;
use crate::server::Server;
use crate::{grpc, instructions};

const TIMES: Times = Times {
    base: Duration::from_millis(1),
    cap: Duration::from_millis(10),
    attempt: Duration::MAX,
};

/// What the clients added when each request made an engine, by the same count.
const REQWEST_BEFORE: f64 = 7867.0;
const GRPC_BEFORE: f64 = 9762.0;

/// What is measured, by its name.
pub const PARTS: [&str; 9] = [
    "at-once",
    "tower",
    "becalm-tower",
    "proxied",
    "becalm-proxied",
    "reqwest",
    "becalm-reqwest",
    "tonic",
    "becalm-grpc",
];

/// Prints what they take, and whether the promises are kept.
pub fn print(runtime: &Runtime) -> bool {
    let counted = PARTS.map(instructions::of);
    let allocated = PARTS.map(|part| allocations(runtime, part));
    println!("| | instructions | allocations |\n|---|--:|--:|");
    for ((part, instructions), allocations) in PARTS.iter().zip(counted).zip(allocated) {
        println!("| {part} | {instructions:.0} | {allocations:.2} |");
    }
    println!();
    let [at_once, _, tower, .., reqwest, becalm_reqwest, tonic, grpc] = counted;
    let mut promises = Promises::default();
    promises.at_most(
        "instructions of becalm-tower alone",
        tower - at_once,
        2200.0,
    );
    promises.at_most(
        "allocations of becalm for a proxied request with headers, scope and time limits",
        allocated[4] - allocated[3],
        4.0,
    );
    promises.at_most(
        "instructions that becalm-reqwest adds",
        becalm_reqwest - reqwest,
        REQWEST_BEFORE * 0.6,
    );
    promises.at_most(
        "instructions that becalm-grpc adds",
        grpc - tonic,
        GRPC_BEFORE * 0.6,
    );
    promises.print();
    promises.are_kept()
}

fn allocations(runtime: &Runtime, part: &str) -> f64 {
    const CALLS: u32 = 1000;
    let run = of(runtime, part);
    run(CALLS);
    let counted = allocation_counter::measure(|| run(CALLS)).count_total;
    f64::from(u32::try_from(counted).expect("few")) / f64::from(CALLS)
}

/// Calls this part as often as it is told.
pub fn run(runtime: &Runtime, part: &str, calls: u32) {
    of(runtime, part)(calls);
}

fn of<'a>(runtime: &'a Runtime, part: &str) -> Box<dyn Fn(u32) + 'a> {
    let becalm = RetryLayer::new(&Policy::default().retrier().expect("a valid policy"));
    let uri: hyper::Uri = "http://shop.example/orders".parse().expect("valid");
    let get = move || {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = uri.clone();
        request
    };
    match part {
        "at-once" => calls(runtime, service_fn(at_once), get),
        "tower" => calls(runtime, tower().layer(service_fn(at_once)), get),
        "becalm-tower" => calls(runtime, becalm.layer(service_fn(at_once)), get),
        "proxied" => calls(runtime, service_fn(soon), proxied),
        "becalm-proxied" => {
            let policy = Policy::default()
                .attempt_timeout(Duration::from_secs(2))
                .deadline(Duration::from_secs(10));
            let retries = RetryLayer::new(&policy.retrier().expect("a valid policy"));
            let scope = ScopeLayer::to(["http://orders.internal"]).expect("an origin");
            calls(
                runtime,
                retries.layer(scope.layer(service_fn(soon::<ReplayBody<_>>))),
                proxied,
            )
        }
        "reqwest" => over_reqwest(runtime, 0),
        "becalm-reqwest" => over_reqwest(runtime, 3),
        "tonic" => grpc::at_once(runtime, false),
        "becalm-grpc" => grpc::at_once(runtime, true),
        _ => panic!("no part has the name `{part}`"),
    }
}

type Answer = Result<Response<Full<Bytes>>, Infallible>;

pub fn at_once<B>(_: Request<B>) -> Ready<Answer> {
    ready(Ok(Response::default()))
}

/// An answer that has to be waited for, if not for long.
fn soon<B>(_: Request<B>) -> impl Future<Output = Answer> + Unpin {
    let mut is_asked = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut is_asked, true) {
            return Poll::Ready(Ok(Response::default()));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// As a proxy has them of its own client: headers in one buffer of a connection.
fn proxied() -> Request<Empty<Bytes>> {
    let buffer = Bytes::from_static(b"text/html,application/jsonshop/1.0gzip, bren, de;q=0.5");
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = hyper::Uri::from_static("http://orders.internal/orders/17?page=2");
    let headers = request.headers_mut();
    headers.reserve(8);
    for (name, at) in [
        ("accept", 0..26),
        ("user-agent", 26..34),
        ("accept-encoding", 34..42),
        ("accept-language", 42..54),
        ("x-request-id", 0..9),
    ] {
        let value = hyper::header::HeaderValue::from_maybe_shared(buffer.slice(at));
        headers.insert(name, value.expect("valid"));
    }
    request
}

pub fn tower() -> tower::retry::RetryLayer<Judge> {
    tower::retry::RetryLayer::new(Judge {
        retries: 3,
        backoff: ExponentialBackoffMaker::default().make_backoff(),
        budget: Arc::default(),
    })
}

/// Makes calls of this service with these requests.
pub fn calls<'a, S, B>(
    runtime: &'a Runtime,
    service: S,
    request: impl Fn() -> Request<B> + 'a,
) -> Box<dyn Fn(u32) + 'a>
where
    S: Service<Request<B>> + Clone + 'a,
{
    Box::new(move |calls| {
        let mut service = service.clone();
        runtime.block_on(async {
            for _ in 0..calls {
                let service = service.ready().await.ok().expect("it is ready");
                drop(service.call(request()).await);
            }
        });
    })
}

fn over_reqwest(runtime: &Runtime, at: usize) -> Box<dyn Fn(u32) + '_> {
    let server = Server::beside(runtime);
    let url = format!("http://shop.test:{}/", server.address.port());
    let client = Client::over_reqwest(TIMES).into_iter().nth(at);
    let client = client.unwrap_or_else(|| panic!("no client is called {}", NAMES[at].0));
    Box::new(move |calls| {
        runtime.block_on(async {
            for _ in 0..calls {
                client.call(Method::GET, &url, None).await;
            }
        });
        server.take_seen();
    })
}
