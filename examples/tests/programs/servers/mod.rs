//! Which servers do the programs talk to? Real ones, each with a port of its own, which end with
//! their test.

pub mod envoy;
pub mod lines;
pub mod nginx;
pub mod postgres;
pub mod rabbitmq;
pub mod redis;
pub mod websockets;

use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use tokio::net::TcpStream;

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

/// Sends the process a signal, such as `STOP`.
pub fn signal(process: &Child, signal: &str) {
    let mut kill = Command::new("kill");
    let kill = kill.arg(format!("-{signal}")).arg(process.id().to_string());
    assert!(kill.status().expect("kill runs").success());
}

/// Asks the process to end at once, if it still runs, and waits for that.
pub fn terminate(process: &mut Option<Child>) {
    if let Some(mut process) = process.take() {
        if matches!(process.try_wait(), Ok(None)) {
            signal(&process, "TERM");
        }
        process.wait().expect("it ends");
    }
}

/// Whether this program runs. Where everything is checked, that it does not is a failure.
pub fn is_installed(program: &str, from: &str) -> bool {
    let mut version = Command::new(program);
    let output = version.arg("-v").stdout(Stdio::null());
    // Some say it with a status of their own.
    is_found(output.stderr(Stdio::null()).status().is_ok(), program, from)
}

/// Whether this command succeeds, as [`is_installed`].
pub fn is_there(command: &mut Command, from: &str) -> bool {
    let ended = command.stderr(Stdio::null()).status();
    let is_there = ended.is_ok_and(|status| status.success());
    is_found(is_there, &command.get_program().to_string_lossy(), from)
}

fn is_found(is_found: bool, program: &str, from: &str) -> bool {
    let is_all_checked = std::env::var_os("CI").is_some();
    assert!(
        is_found || !is_all_checked,
        "install {from}: `{program}` does not run"
    );
    if !is_found {
        eprintln!("left out: `{program}` does not run; it comes from {from}");
    }
    is_found
}

/// Comes back when the server accepts connections here.
pub async fn listens(process: &mut Child, port: u16) {
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        let ended = process.try_wait().expect("it is ours");
        assert_eq!(ended, None, "it could not start");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
