//! What does a server see of the retries of HTTP clients, and what does a request cost?

#![forbid(unsafe_code)]

mod clients;
mod server;

use std::time::{Duration, Instant};

use clients::{Address, Answer, Group};
use hyper::Method;
use server::Server;
use tokio::runtime::Runtime;

const LOCK: &str = include_str!("../Cargo.lock");

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let server = Server::start();
    let names = ["reqwest", "reqwest-retry", "hyper-util", "tower"];
    let versions = names.map(|name| format!("{name} {}", version(name)));
    println!("Versions: {}.\n", versions.join(", "));

    let port = server.address.port();
    let at = |host: &str, path: &str| Address::new(format!("http://{host}:{port}/{path}"));
    // Each line has clients of its own, with full budgets.
    let groups: [(_, fn() -> Group, _); 2] = [
        (
            "shop.test",
            clients::of_reqwest,
            &["", "own", "middleware", "becalm_reqwest"][..],
        ),
        (
            "127.0.0.1",
            clients::of_hyper,
            &["", "tower", "becalm_tower"],
        ),
    ];
    for (host, make, functions) in groups {
        heads(&make());
        let lines: Vec<_> = functions
            .iter()
            .map(|name| lines(name).to_string())
            .collect();
        println!("| lines that set it up | {} |", lines.join(" | "));
        let has_streams = host == "shop.test";
        for row in rows().iter().filter(|row| has_streams || !row.is_stream) {
            runtime.block_on(show(row, &server, &mut make(), &at(host, row.path)));
        }
        println!();
    }
    for (host, make, _) in groups {
        costs(&runtime, &mut make(), &at(host, ""), 61, 500);
        server.take_seen();
    }
    costs(
        &runtime,
        &mut clients::alone(),
        &at("127.0.0.1", ""),
        61,
        20_000,
    );
}

/// What the lock file says.
fn version(name: &str) -> &'static str {
    let name = format!("name = \"{name}\"");
    let mut lines = LOCK.lines().skip_while(|line| **line != name);
    let version = lines
        .nth(1)
        .and_then(|line| line.strip_prefix("version = "));
    version.unwrap_or_default().trim_matches('"')
}

/// Of this function's body in `clients.rs`; of tower's policy, too, which is written for each service.
fn lines(function: &str) -> usize {
    let count = |begins: &str| {
        let source = include_str!("clients.rs").lines();
        let mut body = source.skip_while(|line| !line.starts_with(begins));
        let _ = body.next();
        body.take_while(|line| *line != "}").count()
    };
    let of_policy = match function {
        "" => return 0,
        "tower" => count("impl<R, E> tower::retry::Policy") + 2,
        _ => 0,
    };
    of_policy + count(&format!("fn {function}()"))
}

fn heads(group: &Group) {
    let names: Vec<_> = group.iter().map(|(name, _)| *name).collect();
    println!("| | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
}

/// A line of the table of behaviours.
struct Row {
    title: &'static str,
    calls: usize,
    method: Method,
    path: &'static str,
    is_stream: bool,
    show: fn(&[Instant], Answer) -> String,
}

fn row(title: &'static str, method: Method, path: &'static str) -> Row {
    Row {
        title,
        calls: 1,
        method,
        path,
        is_stream: false,
        show: |seen, _| seen.len().to_string(),
    }
}

fn rows() -> [Row; 8] {
    [
        row("GET answered 503: requests", Method::GET, "busy"),
        row("POST answered 503: requests", Method::POST, "busy"),
        row(
            "POST cut after the request: requests",
            Method::POST,
            "closes",
        ),
        Row {
            calls: 200,
            ..row("200 GETs answered 503: requests", Method::GET, "busy")
        },
        Row {
            show: |seen, _| match seen {
                [first, second, ..] => format!("{} ms", second.duration_since(*first).as_millis()),
                _ => "not repeated".to_owned(),
            },
            ..row("`Retry-After: 1`: repeated after", Method::GET, "later")
        },
        row("`Retry-After: 86400`: requests", Method::GET, "tomorrow"),
        row("`x-should-retry: false`: requests", Method::GET, "no"),
        Row {
            is_stream: true,
            show: |seen, answer| {
                let answer = answer.map_or("no answer".to_owned(), |status| format!("{status:?}"));
                format!("{}, {answer}", seen.len())
            },
            ..row("PUT of a stream answered 200: requests", Method::PUT, "")
        },
    ]
}

async fn show(row: &Row, server: &Server, group: &mut Group, url: &Address) {
    let mut shown = Vec::new();
    for (_, client) in group {
        server.take_seen();
        let mut answer = None;
        for _ in 0..row.calls {
            answer = client.call(&row.method, url, row.is_stream).await;
        }
        shown.push((row.show)(&server.take_seen(), answer));
    }
    println!("| {} | {} |", row.title, shown.join(" | "));
}

/// Of a GET that is answered at once: the medians of rounds that take turns.
fn costs(runtime: &Runtime, group: &mut Group, url: &Address, rounds: usize, calls: u32) {
    let mut times = vec![Vec::new(); group.len()];
    for _ in 0..rounds {
        for ((_, client), times) in group.iter_mut().zip(&mut times) {
            let began = Instant::now();
            runtime.block_on(async {
                for _ in 0..calls {
                    client.call(&Method::GET, url, false).await;
                }
            });
            times.push(began.elapsed().as_secs_f64() / f64::from(calls));
        }
    }
    println!("| | a GET takes | more than the first | calls per second | allocations |");
    println!("|---|---|---|---|---|");
    let mut bare = None;
    for ((name, client), mut times) in group.iter_mut().zip(times) {
        times.sort_unstable_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let more = median - *bare.get_or_insert(median);
        let counted = allocation_counter::measure(|| {
            runtime.block_on(async {
                for _ in 0..calls {
                    client.call(&Method::GET, url, false).await;
                }
            });
        });
        let allocations = counted.count_total / u64::from(calls);
        println!(
            "| {name} | {:.3?} | {:.3} µs | {:.0} | {allocations} |",
            Duration::from_secs_f64(median),
            more * 1e6,
            1.0 / median,
        );
    }
    println!();
}
