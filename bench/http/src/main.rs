//! What does a server see of the retries of HTTP clients, and what does a request cost?

#![forbid(unsafe_code)]

mod clients;
mod server;

use std::time::{Duration, Instant};

use clients::Client;
use reqwest::{Body, Method};
use server::Server;

const LOCK: &str = include_str!("../Cargo.lock");

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let server = Server::start();
    let names = ["reqwest", "reqwest-retry"].map(|name| format!("{name} {}", version(name)));
    println!("Versions: {}.\n", names.join(", "));
    runtime.block_on(behaviours(&server));
    costs(&runtime, &server);
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

/// Of this function's body in `clients.rs`.
fn lines(function: &str) -> usize {
    let source = include_str!("clients.rs").lines();
    let mut body = source.skip_while(|line| !line.starts_with(&format!("fn {function}()")));
    let _ = body.next();
    body.take_while(|line| *line != "}").count()
}

async fn behaviours(server: &Server) {
    println!("| | {} |", Client::all().map(|(name, _)| name).join(" | "));
    println!("|---|---|---|---|---|");
    let lines = ["nothing", "own", "middleware", "becalm"].map(lines);
    println!(
        "| lines that set it up | {} |",
        lines.map(|count| count.to_string()).join(" | ")
    );
    let requests = |seen: &[Instant], _| seen.len().to_string();
    row(
        server,
        "GET answered 503: requests",
        1,
        Method::GET,
        "busy",
        false,
        requests,
    )
    .await;
    row(
        server,
        "POST answered 503: requests",
        1,
        Method::POST,
        "busy",
        false,
        requests,
    )
    .await;
    row(
        server,
        "POST cut after the request: requests",
        1,
        Method::POST,
        "closes",
        false,
        requests,
    )
    .await;
    row(
        server,
        "200 GETs answered 503: requests",
        200,
        Method::GET,
        "busy",
        false,
        requests,
    )
    .await;
    let waited = |seen: &[Instant], _| match seen {
        [first, second, ..] => format!("{} ms", second.duration_since(*first).as_millis()),
        _ => "not repeated".to_owned(),
    };
    row(
        server,
        "`Retry-After: 1`: repeated after",
        1,
        Method::GET,
        "later",
        false,
        waited,
    )
    .await;
    row(
        server,
        "`Retry-After: 86400`: requests",
        1,
        Method::GET,
        "tomorrow",
        false,
        requests,
    )
    .await;
    row(
        server,
        "`x-should-retry: false`: requests",
        1,
        Method::GET,
        "no",
        false,
        requests,
    )
    .await;
    let streamed = |seen: &[Instant], answer: Option<_>| {
        let answer = answer.map_or("no answer".to_owned(), |status| format!("{status:?}"));
        format!("{}, {answer}", seen.len())
    };
    row(
        server,
        "PUT of a stream answered 200: requests",
        1,
        Method::PUT,
        "",
        true,
        streamed,
    )
    .await;
    println!();
}

async fn row(
    server: &Server,
    title: &str,
    calls: usize,
    method: Method,
    path: &str,
    is_stream: bool,
    show: impl Fn(&[Instant], clients::Answer) -> String,
) {
    let url = format!("http://shop.test:{}/{path}", server.address.port());
    let mut row = Vec::new();
    for (_, client) in Client::all() {
        server.take_seen();
        let mut answer = None;
        for _ in 0..calls {
            let body = is_stream.then(|| Body::wrap("a lamp".to_owned()));
            answer = client.call(method.clone(), &url, body).await;
        }
        row.push(show(&server.take_seen(), answer));
    }
    println!("| {title} | {} |", row.join(" | "));
}

/// Of a GET that is answered at once, over a connection that stays: the median of rounds that take
/// turns.
fn costs(runtime: &tokio::runtime::Runtime, server: &Server) {
    const ROUNDS: usize = 61;
    const CALLS: u32 = 500;
    let url = format!("http://shop.test:{}/", server.address.port());
    let clients = Client::all();
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        for ((_, client), times) in clients.iter().zip(&mut times) {
            let began = Instant::now();
            runtime.block_on(async {
                for _ in 0..CALLS {
                    client.call(Method::GET, &url, None).await;
                }
            });
            times.push(began.elapsed() / CALLS);
            server.take_seen();
        }
    }
    println!("| | a GET takes | more than reqwest | allocations |");
    println!("|---|---|---|---|");
    let mut bare = Duration::ZERO;
    for ((name, client), mut times) in clients.iter().zip(times) {
        times.sort_unstable();
        let median = times[times.len() / 2];
        if bare.is_zero() {
            bare = median;
        }
        let more = median.as_secs_f64() - bare.as_secs_f64();
        let counted = allocation_counter::measure(|| {
            runtime.block_on(async {
                for _ in 0..CALLS {
                    client.call(Method::GET, &url, None).await;
                }
            });
        });
        let allocations = counted.count_total / u64::from(CALLS);
        println!(
            "| {name} | {median:.1?} | {:.2} µs | {allocations} |",
            more * 1e6
        );
    }
}
