//! Which servers do the programs talk to? Real ones, each with a port of its own, which end with
//! their test.

pub mod lines;
pub mod postgres;
pub mod redis;

use std::net::TcpListener;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// A port on which nobody listens, below those that the system hands out: a server can come back to
/// it.
pub fn free_port() -> u16 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let first = 10_000 + std::process::id() % 20_000 + ASKED.fetch_add(1, Ordering::Relaxed);
    let mut ports = (first..).filter_map(|port| u16::try_from(port).ok());
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(is_free).expect("a free port")
}

/// Sends the process a signal, such as `STOP`.
pub fn signal(process: &Child, signal: &str) {
    let mut kill = Command::new("kill");
    let kill = kill.arg(format!("-{signal}")).arg(process.id().to_string());
    assert!(kill.status().expect("kill runs").success());
}
