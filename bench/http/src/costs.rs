//! What does a request cost that is answered at once?

use std::time::{Duration, Instant};

use becalm::Policy;
use becalm_tower::client::RetryLayer;
use http_body_util::{Either, Full};
use hyper::Request;
use reqwest::Method;
use tokio::runtime::Runtime;
use tower::{Layer, service_fn};

use crate::clients::{Client, NAMES, Times, over_hyper};
use crate::layers::{at_once, calls, tower};
use crate::server::Server;

const TIMES: Times = Times {
    base: Duration::from_millis(1),
    cap: Duration::from_millis(10),
    attempt: Duration::MAX,
};

/// A client, and what makes so many calls of it.
type Row<'a> = (&'a str, Box<dyn Fn(u32) + 'a>);

pub fn print(runtime: &Runtime) {
    let server = Server::beside(runtime);
    let port = server.address.port();
    let url = format!("http://shop.test:{port}/");
    let over_reqwest = Client::over_reqwest(TIMES).map(|client| {
        let url = &url;
        let run = move |calls: u32| {
            runtime.block_on(async {
                for _ in 0..calls {
                    client.call(Method::GET, url, None).await;
                }
            });
        };
        Box::new(run) as Box<dyn Fn(u32)>
    });
    let names = NAMES.map(|(name, _)| name);
    table(names.into_iter().zip(over_reqwest), 100);
    server.take_seen();

    let uri: hyper::Uri = format!("http://127.0.0.1:{port}/").parse().expect("valid");
    let get = || {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = uri.clone();
        request
    };
    let over_hyper: [Row; 3] = [
        ("hyper-util", calls(runtime, over_hyper::hyper(), get)),
        (names[4], calls(runtime, over_hyper::tower(TIMES), get)),
        (
            names[6],
            calls(runtime, over_hyper::becalm_tower(TIMES), || {
                get().map(Either::Left)
            }),
        ),
    ];
    table(over_hyper, 100);
    server.take_seen();

    let becalm = RetryLayer::new(&Policy::default().retrier().expect("a valid policy"));
    let alone: [Row; 3] = [
        (
            "a service that answers at once",
            calls(runtime, service_fn(at_once), get),
        ),
        (
            "tower's `retry` alone",
            calls(runtime, tower().layer(service_fn(at_once)), get),
        ),
        (
            "becalm-tower alone",
            calls(runtime, becalm.layer(service_fn(at_once)), get),
        ),
    ];
    table(alone, 2000);
}

/// Prints the medians of rounds that take turns, over connections that stay, and compares them with the first.
fn table<'a>(rows: impl IntoIterator<Item = Row<'a>>, calls: u32) {
    // Many and short, so that most are over before something else has its turn.
    const ROUNDS: usize = 305;
    let rows: Vec<_> = rows.into_iter().collect();
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for ((_, run), times) in rows.iter().zip(&mut times) {
            let began = Instant::now();
            run(calls);
            times.push(began.elapsed().as_secs_f64() / f64::from(calls));
        }
    }
    println!("| | a GET takes | more | calls a second | more allocations |");
    println!("|---|---|---|---|---|");
    let mut first = None;
    for ((name, run), mut times) in rows.iter().zip(times) {
        times.sort_unstable_by(f64::total_cmp);
        let median = times[times.len() / 2];
        // With those of the server, which is beside it.
        let allocations = allocation_counter::measure(|| run(calls)).count_total;
        let allocations = i64::try_from(allocations / u64::from(calls)).unwrap_or(i64::MAX);
        let (least, fewest) = *first.get_or_insert((median, allocations));
        let (more, more_allocations) = (median - least, allocations - fewest);
        println!(
            "| {name} | {:.2} µs | {:.2} µs | {:.0} | {more_allocations} |",
            median * 1e6,
            more * 1e6,
            1.0 / median,
        );
    }
    println!();
}
