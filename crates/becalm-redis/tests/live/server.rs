//! How does a test get a Redis that it can kill?

use std::net::{TcpListener, UdpSocket};
#[cfg(feature = "rustls")]
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use redis::{Client, Connection};
use tempfile::TempDir;

/// A `redis-server` that forgets nothing it has answered. It ends with its test.
pub struct Server {
    directory: TempDir,
    port: u16,
    options: Vec<String>,
    process: Option<Child>,
}

impl Server {
    /// Not started yet.
    pub fn new(options: &[&str]) -> Self {
        Self {
            directory: TempDir::new().expect("a directory"),
            port: free_port(),
            options: options.iter().map(|&option| option.into()).collect(),
            process: None,
        }
    }

    /// Started, and ready.
    pub fn started(options: &[&str]) -> Self {
        let mut server = Self::new(options);
        server.start();
        let _ = server.plain();
        server
    }

    /// A node of a cluster, whose own port is not left to a rule that may find it taken: 10,000 above the other.
    pub fn cluster(node_timeout: &str) -> Self {
        let bus = free_port().to_string();
        let options = ["--cluster-enabled", "yes", "--cluster-port", &bus];
        Self::started(&[&options[..], &["--cluster-node-timeout", node_timeout]].concat())
    }

    /// A node of a cluster of its own, which has all slots.
    pub fn with_all_slots(node_timeout: &str) -> Self {
        let server = Self::cluster(node_timeout);
        let mut plain = server.plain();
        let slots = ["ADDSLOTSRANGE", "0", "16383"];
        let own = redis::cmd("CLUSTER").arg(&slots).exec(&mut plain);
        own.expect("it has them");
        let is_well = |server: &mut redis::Connection| {
            let told: redis::RedisResult<String> = redis::cmd("CLUSTER").arg("INFO").query(server);
            told.expect("it is told").contains("cluster_state:ok")
        };
        while !is_well(&mut plain) {
            std::thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// Of a node of a cluster: the port of its clients and that of the other nodes.
    pub fn cluster_ports(&self) -> (String, String) {
        (self.port.to_string(), self.options[3].clone())
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// One whose clients may speak TLS on a port of its own, with the certificate and the key of these files.
    #[cfg(feature = "rustls")]
    pub fn tls(certificate: &Path, key: &Path) -> (Self, u16) {
        let mut server = Self::new(&[]);
        let port = free_port();
        let options = [
            ("--tls-port", port.to_string()),
            ("--tls-cert-file", certificate.display().to_string()),
            ("--tls-key-file", key.display().to_string()),
            ("--tls-ca-cert-file", certificate.display().to_string()),
            ("--tls-auth-clients", "no".to_owned()),
        ];
        let options = options
            .into_iter()
            .flat_map(|(name, value)| [name.to_owned(), value]);
        server.options = options.collect();
        server.start();
        let _ = server.plain();
        (server, port)
    }

    pub fn start(&mut self) {
        let program = std::env::var("BECALM_REDIS_SERVER");
        let mut server = Command::new(program.as_deref().unwrap_or("redis-server"));
        server.args(["--bind", "127.0.0.1", "--port", &self.port.to_string()]);
        server.args([
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--save",
            "",
        ]);
        server.args(&self.options);
        server.arg("--dir").arg(self.directory.path());
        let started = server.stdout(Stdio::null()).spawn();
        self.process = Some(started.expect("redis-server runs: scripts/test installs it"));
    }

    /// A connection without becalm, once it is ready.
    pub fn plain(&self) -> Connection {
        let client = Client::open(self.url()).expect("an address");
        let began = Instant::now();
        loop {
            match client.get_connection() {
                Ok(mut connection) => {
                    self.is_own(&mut connection);
                    return connection;
                }
                Err(error) if began.elapsed() > Duration::from_secs(20) => panic!("{error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// It may have failed to start where another program took its port. One that wants a login, or is busy, does not tell.
    fn is_own(&self, connection: &mut Connection) {
        let told: redis::RedisResult<String> = redis::cmd("INFO").arg("server").query(connection);
        if let (Ok(told), Some(process)) = (told, &self.process) {
            let own = format!("process_id:{}\r\n", process.id());
            assert!(told.contains(&own), "another has its port: {told}");
        }
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it runs");
            process.wait().expect("it ends");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
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

#[test]
fn a_server_that_could_not_start_is_not_taken_for_that_of_another() {
    let other = Server::started(&[]);
    let mut server = Server::new(&[]);
    server.port = other.port;
    server.start();
    let asked = std::panic::catch_unwind(|| server.plain());
    assert!(asked.is_err(), "it speaks with another");
}
