//! How does a test get a server of WebSockets that nobody here wrote?

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use becalm_ws::Client;
use becalm_ws::tungstenite::http::Uri;

use tokio::time::sleep;

use super::{free_port, is_there, listens, signal};

/// Where `scripts/test` puts them.
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/pypi/bin/python");
const NODE_MODULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/npm/node_modules");

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Python's `websockets`. When it ends it says 1001.
    Python,
    /// Node's `ws`. When it ends it says 1012.
    Node,
}

impl Of {
    pub const ALL: [Self; 2] = [Self::Python, Self::Node];

    /// Runs this program with these arguments; `None` where it is not installed, but for where everything is checked.
    pub fn command(self, program: &str) -> Option<Command> {
        let (mut command, mut looks, from) = match self {
            Self::Python => {
                let mut looks = Command::new(PYTHON);
                looks.args(["-c", "import websockets"]);
                let from = "PyPI's package websockets into target/pypi";
                (Command::new(PYTHON), looks, from)
            }
            Self::Node => {
                let mut looks = Command::new("node");
                looks.args(["-e", "require('ws')"]);
                let from = "Debian's npm, and with it ws into target/npm";
                (Command::new("node"), looks, from)
            }
        };
        for command in [&mut command, &mut looks] {
            command.env("NODE_PATH", Path::new(NODE_MODULES));
        }
        let option = if self == Self::Python { "-c" } else { "-e" };
        command.args([option, program]);
        is_there(&mut looks, &format!("{from}, as scripts/test does")).then_some(command)
    }
}

/// A server that does as the path says: see `websockets_server.py`. It ends with its test.
pub struct WebSockets {
    of: Of,
    process: Option<Child>,
    pub port: u16,
}

impl WebSockets {
    pub async fn start(of: Of) -> Option<Self> {
        let mut server = Self {
            of,
            process: None,
            port: free_port(),
        };
        server.start_again().await.then_some(server)
    }

    /// Whether it is there.
    pub async fn start_again(&mut self) -> bool {
        let program = match self.of {
            Of::Python => include_str!("websockets_server.py"),
            Of::Node => include_str!("ws_server.js"),
        };
        let Some(mut command) = self.of.command(program) else {
            return false;
        };
        command.arg(self.port.to_string()).stderr(Stdio::null());
        let process = self.process.insert(command.spawn().expect("it runs"));
        listens(process, self.port).await;
        true
    }

    pub fn client(&self, path: &str) -> Client {
        Client::new(address(self.port, path))
    }

    /// It says goodbye to all, and ends.
    pub async fn stop(&mut self) {
        let process = self.process.as_mut().expect("it runs");
        signal(process, "TERM");
        // Its clients, which answer, may be on this thread.
        while process.try_wait().expect("it is ours").is_none() {
            sleep(Duration::from_millis(2)).await;
        }
        self.process = None;
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

impl Drop for WebSockets {
    fn drop(&mut self) {
        self.kill();
    }
}

/// This path there.
pub fn address(port: u16, path: &str) -> Uri {
    let address = format!("ws://127.0.0.1:{port}/{path}");
    address.parse().expect("an address")
}
