//! How does a test run somebody else's program, which ends with it?

use std::net::{TcpListener, UdpSocket};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// What `scripts/test` puts there.
pub fn installed(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../target")
        .join(path)
}

/// Below those that the system hands out, so that a server can come back to it. A socket of UDP holds its number against the tests of other
/// processes, also while the server is down.
pub fn free_port() -> u16 {
    static HELD: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());
    let first = 10_000 + std::process::id() * 16 % 20_000;
    let mut ports = (first..).map_while(|port| u16::try_from(port).ok());
    let mut held = HELD.lock().expect("no panic while it is held");
    let is_free = |port: &u16| {
        let address = ("127.0.0.1", *port);
        let socket = UdpSocket::bind(address);
        socket.is_ok_and(|socket| {
            held.push(socket);
            TcpListener::bind(address).is_ok()
        })
    };
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
