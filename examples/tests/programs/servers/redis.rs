//! How does a test get a Redis that it can kill?

use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{free_port, signal};

/// A `redis-server` that forgets nothing it has answered. It ends with its test.
pub struct Redis {
    directory: TempDir,
    port: u16,
    process: Option<Child>,
}

impl Redis {
    /// Not started yet.
    pub fn new() -> Self {
        Self {
            directory: TempDir::new().expect("a directory"),
            port: free_port(),
            process: None,
        }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub fn address(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.port)
    }

    pub fn start(&mut self) {
        let mut server = Command::new("redis-server");
        server.args(["--bind", "127.0.0.1", "--port", &self.port.to_string()]);
        server.args([
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--save",
            "",
        ]);
        server.arg("--dir").arg(self.directory.path());
        let started = server.stdout(Stdio::null()).spawn();
        self.process = Some(started.expect("redis-server runs: scripts/test installs it"));
    }

    /// It reads nothing more, and answers nothing.
    pub fn freeze(&self) {
        signal(self.process.as_ref().expect("it runs"), "STOP");
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it runs");
            process.wait().expect("it ends");
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
