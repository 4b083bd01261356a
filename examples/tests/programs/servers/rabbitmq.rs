//! How does a test get a RabbitMQ of its own?

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::{free_port, is_found, listens, terminate};

const PROGRAM: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// A `rabbitmq-server` with a node name, ports and files of its own, all on loopback; it ends with its test, and so does
/// the `epmd` that Erlang asks for names.
pub struct RabbitMq {
    directory: TempDir,
    port: u16,
    names: Option<Child>,
    server: Option<Child>,
}

/// Whether RabbitMQ is installed.
pub fn is_there() -> bool {
    let is_there = std::path::Path::new(PROGRAM).exists();
    is_found(is_there, PROGRAM, "Debian's rabbitmq-server")
}

impl RabbitMq {
    /// Started, and ready.
    pub async fn started() -> Self {
        let directory = TempDir::new().expect("a directory");
        let (port, names, nodes) = (free_port(), free_port(), free_port());
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("plugins"), "[].").expect("a file");
        let mut epmd = Command::new("epmd");
        epmd.args(["-address", "127.0.0.1", "-port", &names.to_string()]);
        let mut epmd = epmd.stdin(Stdio::null()).spawn().expect("epmd runs");
        listens(&mut epmd, names).await;
        let mut server = Command::new(PROGRAM);
        server
            .env("HOME", directory.path())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("ERL_EPMD_PORT", names.to_string())
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_DIST_PORT", nodes.to_string())
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", path("plugins"))
            .env("RABBITMQ_LOG_BASE", path("log"))
            .env("RABBITMQ_MNESIA_BASE", path("mnesia"))
            .env("RABBITMQ_NODENAME", format!("becalm{port}@localhost"))
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODE_PORT", port.to_string())
            .env("RABBITMQ_PID_FILE", path("pid"))
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-kernel inet_dist_use_interface {127,0,0,1}",
            );
        let server = server.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut rabbitmq = Self {
            directory,
            port,
            names: Some(epmd),
            server: Some(server.expect("it runs")),
        };
        let server = rabbitmq.server.as_mut().expect("it runs");
        let started = tokio::time::timeout(Duration::from_secs(50), listens(server, port)).await;
        started.expect("it is ready within 50 s");
        rabbitmq
    }

    pub fn url(&self) -> String {
        format!("amqp://127.0.0.1:{}/%2f", self.port)
    }
}

impl Drop for RabbitMq {
    fn drop(&mut self) {
        terminate(&mut self.server);
        terminate(&mut self.names);
        let _ = &self.directory;
    }
}
