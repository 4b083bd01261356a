//! How does the drill get a Redis that it can kill?

use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that is killed when standard input ends: by the drill, or with it. No signal of a terminal ends the shell before.
const WATCHED: &str =
    r#"trap "" HUP INT TERM; "$0" "$@" & exec 2>/dev/null; read -r _; kill -9 $!; wait $!"#;

/// A `redis-server` with an append-only file, so that a kill loses nothing that it has answered: what was written stands as long as
/// the system does. It calls no `fsync`: while one runs, `everysec` holds back for up to two seconds what is answered already.
/// Dropped, it is killed.
pub struct Server {
    directory: TempDir,
    pub port: u16,
    process: Option<Child>,
    _held: UdpSocket,
}

impl Server {
    /// Starts one, and waits until it answers.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn start() -> Result<Self, String> {
        let directory = TempDir::new().map_err(|error| format!("cannot keep a file: {error}"))?;
        let (port, held) = free_port()?;
        let mut server = Self {
            directory,
            port,
            process: None,
            _held: held,
        };
        let asked = Command::new("redis-server")
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        asked.map_err(|error| {
            format!("cannot start redis-server: {error}; install it (Debian: apt-get install redis-server)")
        })?;
        server.begin()?;
        server.wait()?;
        Ok(server)
    }

    /// Starts it again.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn begin(&mut self) -> Result<(), String> {
        let mut server = Command::new("/bin/sh");
        server.args(["-c", WATCHED, "redis-server", "--bind", "127.0.0.1"]);
        server.args([
            "--port",
            &self.port.to_string(),
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "no",
        ]);
        server
            .args(["--loglevel", "warning", "--dir"])
            .arg(self.directory.path());
        let started = server.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let started = started.map_err(|error| format!("cannot start redis-server: {error}"))?;
        self.process = Some(started);
        Ok(())
    }

    /// Waits until it answers `PING`.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn wait(&self) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.ask(&redis::cmd("PING")) {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > until => {
                    return Err(format!("redis-server does not answer: {error}"));
                }
                Err(_) => thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Closes the connections of all clients from its side.
    ///
    /// # Errors
    ///
    /// A sentence.
    pub fn kill_clients(&self) -> Result<(), String> {
        let kill = redis::cmd("CLIENT")
            .arg("KILL")
            .arg("TYPE")
            .arg("normal")
            .take();
        let killed = self.ask(&kill);
        killed.map_err(|error| format!("CLIENT KILL: {error}"))
    }

    fn ask(&self, command: &redis::Cmd) -> redis::RedisResult<()> {
        let client = redis::Client::open(("127.0.0.1", self.port))?;
        command.exec(&mut client.get_connection_with_timeout(Duration::from_secs(5))?)
    }

    /// Kills it by SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Below those that the system gives to clients, so that the server can come back to it. A socket of UDP holds its number against other drills and
/// tests, also while the server is down.
fn free_port() -> Result<(u16, UdpSocket), String> {
    let first = 10_000 + std::process::id() * 16 % 20_000;
    let mut ports = (first..first + 1_000).filter_map(|port| u16::try_from(port).ok());
    let found = ports.find_map(|port| {
        let held = UdpSocket::bind(("127.0.0.1", port)).ok()?;
        TcpListener::bind(("127.0.0.1", port)).ok()?;
        Some((port, held))
    });
    found.ok_or_else(|| {
        format!("no port of 127.0.0.1 from {first} on is free; allow this process to open sockets")
    })
}
