//! How does a test run somebody else's program, which ends with it?

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// What `scripts/test` puts there.
pub fn installed(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../target")
        .join(path)
}

/// A port on which nobody listens, below those that the system hands out.
pub fn free_port() -> u16 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let first = 10_000 + std::process::id() * 16 % 20_000 + ASKED.fetch_add(1, Ordering::Relaxed);
    let mut ports = (first..).filter_map(|port| u16::try_from(port).ok());
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    ports.find(is_free).expect("a free port")
}

/// Whether this command succeeds. Where everything is checked, that it does not is a failure.
pub async fn is_there(command: &mut Command, from: &str) -> bool {
    let ended = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .await;
    let is_there = ended.is_ok_and(|it| it.success());
    let missing = format!("install {from}, as scripts/test does");
    assert!(is_there || std::env::var_os("CI").is_none(), "{missing}");
    if !is_there {
        eprintln!("not tried: {missing}");
    }
    is_there
}

/// Starts it, and comes back when it listens there, or has ended: `None`.
pub async fn starts(command: &mut Command, port: u16) -> Option<Child> {
    command.kill_on_drop(true).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn().expect("it runs");
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        if process.try_wait().expect("it is ours").is_some() {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    Some(process)
}

/// Ends it with TERM, as nginx ends its workers.
pub async fn end(mut process: Child) {
    if let Some(id) = process.id() {
        let mut kill = Command::new("kill");
        let _ = kill.arg("-TERM").arg(id.to_string()).status().await;
    }
    let ended = tokio::time::timeout(Duration::from_secs(10), process.wait()).await;
    if ended.is_err() {
        process.kill().await.expect("it ends");
    }
}
