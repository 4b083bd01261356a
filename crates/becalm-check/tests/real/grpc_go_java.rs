//! gRPC's clients that are built first: grpc-go and grpc-java, as Debian has them.

use becalm_http_faults::{Does, Server, Version, within};
use tempfile::TempDir;
use tokio::process::Command;

use crate::grpc::config;
use crate::predicted::read;
use crate::processes::{installed, is_there};

/// Of `/usr/share/java`.
const JARS: &[&str] = &[
    "grpc-api",
    "grpc-context",
    "grpc-core",
    "grpc-netty",
    "grpc-stub",
    "gson",
    "guava",
    "netty-buffer",
    "netty-codec",
    "netty-codec-http",
    "netty-codec-http2",
    "netty-common",
    "netty-handler",
    "netty-resolver",
    "netty-transport",
    "netty-transport-native-unix-common",
    "opencensus-api",
    "perfmark-api",
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Of {
    Go,
    Java,
}

/// A client that was built.
struct Client {
    of: Of,
    built: TempDir,
}

impl Of {
    const fn system(self) -> &'static str {
        match self {
            Self::Go => "grpc@go",
            Self::Java => "grpc@java",
        }
    }

    /// `None` where it cannot be built.
    async fn client(self) -> Option<Client> {
        let built = TempDir::new().expect("a directory");
        let source = |name| format!("{}/tests/real/{name}", env!("CARGO_MANIFEST_DIR"));
        let (mut command, from) = match self {
            Self::Go => {
                let mut command = Command::new("go");
                command
                    .arg("build")
                    .arg("-o")
                    .arg(built.path().join("client"));
                command.arg(source("grpc_go_client.go"));
                command.env("GO111MODULE", "off");
                command.env("GOPATH", "/usr/share/gocode");
                command.env("GOCACHE", installed("go-cache"));
                (
                    command,
                    "Debian's packages golang-go and golang-google-grpc-dev",
                )
            }
            Self::Java => {
                let mut command = Command::new("javac");
                command.arg("-cp").arg(class_path(&built));
                command.arg("-d").arg(built.path());
                command.arg(source("GrpcJavaClient.java"));
                (
                    command,
                    "Debian's packages libgrpc-java and what it is built on",
                )
            }
        };
        let is_there = is_there(&mut command, from).await;
        is_there.then_some(Client { of: self, built })
    }
}

fn class_path(built: &TempDir) -> String {
    let jars = JARS.iter().map(|it| format!("/usr/share/java/{it}.jar"));
    let own = built.path().display().to_string();
    jars.chain([own]).collect::<Vec<_>>().join(":")
}

impl Client {
    /// How each call of a client with this config ended.
    async fn call(&self, server: &Server, config: &str, calls: usize) -> Vec<String> {
        let mut command;
        match self.of {
            Of::Go => {
                command = Command::new(self.built.path().join("client"));
                // Where 1.40 and later retry by themselves.
                command.env("GRPC_GO_RETRY", "on");
            }
            Of::Java => {
                command = Command::new("java");
                command.args(["-XX:TieredStopAtLevel=1", "-cp"]);
                command.arg(class_path(&self.built)).arg("GrpcJavaClient");
            }
        }
        command.kill_on_drop(true);
        command.arg(format!("127.0.0.1:{}", server.port));
        command.arg(config).arg(calls.to_string());
        let output = within(command.output()).await.expect("it runs");
        let told = String::from_utf8(output.stdout).expect("a text");
        told.lines().map(ToOwned::to_owned).collect()
    }
}

#[tokio::test]
async fn neither_bounds_an_attempt_by_its_own_time() {
    for of in [Of::Go, Of::Java] {
        let Some(client) = of.client().await else {
            return;
        };
        let timed = "perAttemptRecvTimeout \"0.2s\"; retryableStatusCodes [\"UNAVAILABLE\", \"DEADLINE_EXCEEDED\"]";
        let text = config(timed, ", \"timeout\": \"2s\"", "");
        let checked = read(of.system(), &text);
        assert_eq!(checked.mappings[0].policy.attempt_timeout, None);
        let server = Server::start(Version::Http2, vec![Does::Stall; 9]).await;
        let ended = client.call(&server, &text, 1).await;
        // DEADLINE_EXCEEDED.
        assert_eq!(
            (ended.as_slice(), server.count()),
            (&["4".to_owned()][..], 1),
            "{of:?}"
        );
    }
}
