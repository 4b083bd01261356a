//! gRPC's clients that are built first: grpc-go and grpc-java, as Debian has them.

use std::time::{Duration, Instant};

use becalm_http_faults::{Does, Server, Version, within};
use tempfile::TempDir;
use tokio::process::Command;

use crate::grpc::{cases, config, is_told_refused};
use crate::predicted::{Fails, calls, is_refused, read};
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

/// A config, what the server does with each attempt, and how many calls are made.
type Case = (String, Does, usize);

/// How its calls ended, and when each attempt came.
type Counted = (Vec<String>, Vec<Instant>);

impl Client {
    /// Of each case, at a server of its own.
    async fn count(&self, cases: &[Case]) -> Vec<Counted> {
        let mut command;
        match self.of {
            Of::Go => {
                command = Command::new(self.built.path().join("client"));
                // Where 1.42 and later retry by themselves.
                command.env("GRPC_GO_RETRY", "on");
            }
            Of::Java => {
                command = Command::new("java");
                command.args(["-XX:TieredStopAtLevel=1", "-cp"]);
                command.arg(class_path(&self.built)).arg("GrpcJavaClient");
            }
        }
        command.kill_on_drop(true);
        let mut servers = Vec::new();
        for (config, does, calls) in cases {
            let server = Server::start(Version::Http2, vec![does.clone(); 40]).await;
            command.arg(format!("127.0.0.1:{}", server.port));
            command.arg(config).arg(calls.to_string());
            servers.push(server);
        }
        let output = within(command.output()).await.expect("it runs");
        let told = String::from_utf8(output.stdout).expect("a text");
        let ended = told
            .lines()
            .map(|line| line.split(' ').map(ToOwned::to_owned).collect());
        let came = servers
            .iter()
            .map(|it| it.seen().iter().map(|it| it.at).collect());
        let counted: Vec<Counted> = ended.zip(came).collect();
        assert_eq!(counted.len(), cases.len(), "{told}");
        counted
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
        let counted = client.count(&[(text, Does::Stall, 1)]).await;
        // DEADLINE_EXCEEDED.
        assert_eq!(
            (&counted[0].0[..], counted[0].1.len()),
            (&["4".to_owned()][..], 1),
            "{of:?}"
        );
    }
}

#[tokio::test]
async fn both_call_as_often_as_the_mapping_says() {
    for of in [Of::Go, Of::Java] {
        let Some(client) = of.client().await else {
            return;
        };
        let tried = cases();
        let with_servers = tried
            .iter()
            .map(|(config, code, calls)| (config.clone(), Does::EndCall(*code, None), *calls));
        let counted = client.count(&with_servers.collect::<Vec<_>>()).await;
        let mut wrong = Vec::new();
        for ((config, code, times), (ended, came)) in tried.iter().zip(&counted) {
            let checked = read(of.system(), config);
            let expected = calls(checked.mappings.first(), Fails::Code(*code), *times);
            let refused = ended.iter().any(|it| it == "refused");
            let is_told = is_refused(&checked) || is_told_refused(&checked);
            // Before 1.70 grpc-go ignores a policy that it refuses since.
            let ignores = of == Of::Go && is_told && came.len() == *times;
            // grpc-java takes a number in quotes, which 1.41 refuses.
            let of_quotes = ["maxAttempts", "backoffMultiplier", "maxTokens"];
            let is_quoted = |name: &&str| config.contains(&format!("\"{name}\": \""));
            let is_older = of == Of::Java && refused && of_quotes.iter().any(is_quoted);
            if refused != is_told && !ignores && !is_older {
                wrong.push(format!("{config}: {ended:?}, and {:?}", checked.findings));
            } else if !refused && !ignores && came.len() != expected {
                wrong.push(format!(
                    "{config}: {} attempts for {expected}, {ended:?}",
                    came.len()
                ));
            }
        }
        assert!(wrong.is_empty(), "{of:?}: {}", wrong.join("\n"));
    }
}

#[tokio::test]
async fn a_server_says_when_to_come_back_and_whether() {
    let waits = "maxAttempts 4; initialBackoff \"0.001s\"; maxBackoff \"0.001s\"";
    let text = config(waits, "", "");
    let comes_back = |word| (text.clone(), Does::EndCall(14, Some(word)), 1);
    for of in [Of::Go, Of::Java] {
        let Some(client) = of.client().await else {
            return;
        };
        let checked = read(of.system(), &text);
        let expected = calls(checked.mappings.first(), Fails::Code(14), 1);
        let counted = client.count(&[comes_back("-1"), comes_back("100")]).await;
        let [(_, never), (_, later)] = &counted[..] else {
            panic!("{counted:?}");
        };
        assert_eq!((never.len(), later.len()), (1, expected), "{of:?}");
        let waits = later.windows(2).map(|it| it[1] - it[0]);
        let shortest = waits.min().expect("retries");
        assert!(
            shortest >= Duration::from_millis(90),
            "{of:?}: {shortest:?}"
        );
    }
}

/// A stream that the server refuses was not begun: the client begins it once more, which no policy counts.
#[tokio::test]
async fn a_stream_that_is_refused_is_begun_once_more() {
    for of in [Of::Go, Of::Java] {
        let Some(client) = of.client().await else {
            return;
        };
        let text = config("", "", "");
        let checked = read(of.system(), &text);
        let expected = calls(checked.mappings.first(), Fails::Code(14), 1);
        let none = "{ \"methodConfig\": [] }".to_owned();
        let refused = [(text, Does::RefuseStream, 1), (none, Does::RefuseStream, 1)];
        let counted = client.count(&refused).await;
        let counted: Vec<_> = counted.iter().map(|(_, came)| came.len()).collect();
        assert_eq!(counted, [expected + 1, 2], "{of:?}");
        let lost = &checked.mappings[0].lost;
        assert!(
            lost.iter().any(|it| it.what == "refused streams"),
            "{lost:?}"
        );
    }
}
