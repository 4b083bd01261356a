//! What does a server see of clients that retry?

use std::time::{Duration, Instant};

use reqwest::Method;
use tokio::runtime::Runtime;

use crate::clients::{Answer, Client, NAMES, Times, over_reqwest};
use crate::server::Server;

const TIMES: Times = Times {
    base: Duration::from_millis(1),
    cap: Duration::from_millis(10),
    attempt: Duration::MAX,
};

const STREAM: usize = 64 << 20;

/// Beside the others: it decides as becalm-reqwest does, so that its outages and costs are not measured again.
const MIDDLEWARE: (&str, &str) = ("becalm-reqwest, as a middleware", "becalm_middleware");

/// What came of some calls of one client.
struct Seen {
    requests: Vec<Instant>,
    last: Answer,
    /// Of memory, at most.
    bytes: u64,
}

impl Seen {
    fn count(&self) -> String {
        self.requests.len().to_string()
    }

    fn wait(&self) -> String {
        match &*self.requests {
            [first, second, ..] => format!("{} ms", second.duration_since(*first).as_millis()),
            _ => "not repeated".to_owned(),
        }
    }

    fn answer(&self) -> String {
        let answer = self.last.map(|status| status.as_u16().to_string());
        format!(
            "{}, {}",
            self.count(),
            answer.unwrap_or("no answer".to_owned())
        )
    }

    fn memory(&self) -> String {
        match self.bytes >> 10 {
            kib @ ..1024 => format!("{kib} KiB"),
            kib => format!("{} MiB", kib >> 10),
        }
    }
}

/// Calls of this method to this path, with a body of this length.
struct Row(
    &'static str,
    usize,
    Method,
    &'static str,
    Option<usize>,
    fn(&Seen) -> String,
);

const ROWS: [Row; 9] = [
    Row(
        "GET answered 503: requests",
        1,
        Method::GET,
        "busy",
        None,
        Seen::count,
    ),
    Row(
        "POST answered 503: requests",
        1,
        Method::POST,
        "busy",
        None,
        Seen::count,
    ),
    Row(
        "POST cut after the request: requests",
        1,
        Method::POST,
        "closes",
        None,
        Seen::count,
    ),
    Row(
        "200 GETs answered 503: requests",
        200,
        Method::GET,
        "busy",
        None,
        Seen::count,
    ),
    Row(
        "`Retry-After: 1`: repeated after",
        1,
        Method::GET,
        "later",
        None,
        Seen::wait,
    ),
    Row(
        "`Retry-After: 86400`: requests",
        1,
        Method::GET,
        "tomorrow",
        None,
        Seen::count,
    ),
    Row(
        "`x-should-retry: false`: requests",
        1,
        Method::GET,
        "no",
        None,
        Seen::count,
    ),
    Row(
        "PUT of 64 MiB answered 200: requests, status",
        1,
        Method::PUT,
        "",
        Some(STREAM),
        Seen::answer,
    ),
    Row(
        "the same: held of it at most",
        1,
        Method::PUT,
        "",
        Some(STREAM),
        Seen::memory,
    ),
];

pub fn print(runtime: &Runtime, server: &Server) {
    let all = || NAMES.into_iter().chain([MIDDLEWARE]);
    let titles: Vec<_> = all().map(|(name, _)| name).collect();
    println!(
        "| | {} |\n|---|{}",
        titles.join(" | "),
        "---|".repeat(titles.len())
    );
    let lines: Vec<_> = all().map(|(_, it)| lines(it).to_string()).collect();
    println!("| lines that set it up | {} |", lines.join(" | "));
    for Row(title, count, method, path, body, show) in ROWS {
        let url = format!("http://shop.test:{}/{path}", server.address.port());
        // New ones, with full budgets.
        let clients = Client::all(TIMES).into_iter();
        let middleware = Client::Middleware(over_reqwest::becalm_middleware(TIMES));
        let cells = clients.chain([middleware]).map(|client| {
            server.take_seen();
            let mut last = None;
            let memory = allocation_counter::measure(|| {
                runtime.block_on(async {
                    for _ in 0..count {
                        last = client.call(method.clone(), &url, body).await;
                    }
                });
            });
            let requests = server.take_seen();
            show(&Seen {
                requests,
                last,
                bytes: memory.bytes_max,
            })
        });
        let cells: Vec<_> = cells.collect();
        println!("| {title} | {} |", cells.join(" | "));
    }
}

/// Of the body of a client's function.
fn lines(function: &str) -> usize {
    let source = [
        include_str!("clients/over_reqwest.rs"),
        include_str!("clients/over_hyper.rs"),
    ];
    let mut body = source.into_iter().flat_map(str::lines).skip_while(|line| {
        let name = line
            .strip_prefix("pub fn ")
            .and_then(|line| line.split_once('('));
        name.is_none_or(|(name, _)| name != function)
    });
    let _ = body.next();
    let policy = include_str!("clients/judge.rs").lines().filter(|line| {
        function == "tower" && !line.starts_with("//!") && !line.starts_with("use ")
    });
    let body = body.take_while(|line| *line != "}");
    body.chain(policy).filter(|line| !line.is_empty()).count()
}
