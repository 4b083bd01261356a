//! What does a WebSocket cost that comes back, beside its peers? See README.md.

#![forbid(unsafe_code)]

mod child;
mod clients;
mod handshakes;
mod memory;
mod messages;
mod promises;
mod servers;

use promises::Promises;

const LOCK: &str = include_str!("../Cargo.lock");

const PACKAGES: [&str; 4] = ["tokio-tungstenite", "axum", "fastwebsockets", "tokio"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["server", kind, threads] => return child::serve(kind, threads),
        ["clients", kind, port] => return child::open(kind, port),
        [] | ["--check"] => (),
        _ => panic!("usage: becalm-bench-ws [--check]"),
    }
    let names = PACKAGES.map(|name| format!("{name} {}", version(name)));
    println!("Versions: {}.\n", names.join(", "));
    let mut promises = Promises::default();
    memory::print(&mut promises);
    handshakes::print(&mut promises);
    messages::print(&mut promises);
    promises.print();
    if arguments == ["--check"] && !promises.are_kept() {
        std::process::exit(1);
    }
}

/// What the lock file says, of the newest.
fn version(name: &str) -> &'static str {
    let name = format!("name = \"{name}\"");
    let lines = LOCK.lines().zip(LOCK.lines().skip(1));
    let versions = lines.filter(|(line, _)| *line == name);
    let version = versions.last().map(|(_, version)| version);
    let version = version.and_then(|line| line.strip_prefix("version = "));
    version.unwrap_or_default().trim_matches('"')
}

/// The one in the middle.
fn median(mut of: Vec<f64>) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of[of.len() / 2]
}
