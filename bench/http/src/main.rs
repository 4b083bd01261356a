//! What does a server see of the retries of HTTP clients, and what does a request cost?

#![forbid(unsafe_code)]

mod absences;
mod away;
mod behaviours;
mod clients;
mod costs;
mod grpc;
mod instructions;
mod layers;
mod outage;
mod promises;
mod server;

use server::Server;

const LOCK: &str = include_str!("../Cargo.lock");

const PACKAGES: [&str; 4] = [
    "reqwest",
    "reqwest-retry",
    "tower",
    "tower-resilience-retry",
];

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [instructions::COUNTED, part, calls] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        return layers::run(&runtime, part, calls.parse().expect("a number"));
    }
    let names = PACKAGES.map(|name| format!("{name} {}", version(name)));
    println!("Versions: {}.\n", names.join(", "));
    let only = arguments.first().map(String::as_str);
    let is_asked = |part| only.is_none_or(|only| only == part);
    let local = tokio::task::LocalSet::new();
    let server = Server::start();
    if is_asked("--behaviours") {
        behaviours::print(&runtime, &server);
    }
    if is_asked("--outage") {
        local.block_on(&runtime, outage::print(&server));
    }
    if is_asked("--absences") {
        local.block_on(&runtime, absences::print());
    }
    if is_asked("--costs") {
        costs::print(&runtime);
        grpc::print(&runtime);
    }
    if is_asked("--check") && !layers::print(&runtime) {
        std::process::exit(1);
    }
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
