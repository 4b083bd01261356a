//! Do Python's grpcio and becalm understand each other? As a server of becalm's calls, and as a client of a server that
//! sheds.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use becalm::Bulkhead;
use becalm_tower::server::AdmissionLayer;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use crate::channels::{client, configured, idempotent, policy, unknown};
use crate::orders::{Order, OrdersClient};
use crate::server::{Does, Server};
use crate::within;

/// Python with grpcio; `None` where it is not installed.
fn python() -> Option<Command> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/pypi/bin/python");
    if !python.exists() {
        let missing = "there is no grpcio in target/pypi: scripts/test installs it";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("not tried: {missing}");
        return None;
    }
    let mut command = Command::new(python);
    command.kill_on_drop(true);
    Some(command)
}

/// A server of grpcio.
struct Theirs {
    origin: String,
    lines: Lines<BufReader<ChildStdout>>,
    process: Child,
}

impl Theirs {
    async fn start(script: &[&str]) -> Option<Self> {
        let mut command = python()?;
        command
            .args(["-c", include_str!("grpcio_server.py")])
            .args(script);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("python runs");
        let stdout = process.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(stdout).lines();
        let port = within(lines.next_line()).await.expect("a text");
        Some(Self {
            origin: format!("http://127.0.0.1:{}", port.expect("a port")),
            lines,
            process,
        })
    }

    /// What it saw of so many attempts, and that there were no others.
    async fn seen(mut self, count: usize) -> Vec<String> {
        let mut seen = Vec::new();
        for _ in 0..count {
            let line = within(self.lines.next_line()).await.expect("a text");
            seen.push(line.expect("an attempt"));
        }
        drop(self.process.stdin.take()); // ends it
        while let Some(line) = within(self.lines.next_line()).await.expect("a text") {
            seen.push(line);
        }
        seen
    }
}

#[tokio::test]
async fn calls_to_a_server_of_grpcio() {
    let unavailable = ["0:14:30", "0:14:", "0:14:"];
    for (layer, script, expected) in [
        (
            idempotent(policy().attempts(9)),
            &unavailable[..],
            &["- -", "1 -", "2 -", "3 -"][..],
        ),
        (
            configured(&["UNAVAILABLE"]),
            &unavailable[..2],
            &["- -", "1 -", "2 -"],
        ),
        (unknown(policy()), &unavailable, &["- -"]),
        (idempotent(policy()), &["0:14:-1"], &["- -"]),
        (
            idempotent(policy().deadline(Duration::from_secs(500))),
            &unavailable[..1],
            &["- 500", "1 500"],
        ),
    ] {
        let Some(server) = Theirs::start(script).await else {
            return;
        };
        let mut client = client(&layer, &server.origin);
        let answer = within(client.get(Order::of("a lamp"))).await;
        assert_eq!(answer.is_ok(), expected.len() > script.len(), "{answer:?}");
        assert_eq!(server.seen(expected.len()).await, expected);
    }
}

#[tokio::test]
async fn its_streams_are_repeated_until_they_begin() {
    for (script, sent, attempts) in [("0:14:", 1, 2), ("1:14:", 1, 1), ("3:14:", 3, 1)] {
        let Some(server) = Theirs::start(&[script]).await else {
            return;
        };
        let mut client = client(&idempotent(policy()), &server.origin);
        let stream = within(client.watch(Order::of("a lamp")))
            .await
            .expect("a stream");
        let messages: Vec<_> = within(stream.into_inner().collect()).await;
        assert_eq!(
            messages.iter().filter(|message| message.is_ok()).count(),
            sent
        );
        assert_eq!(server.seen(attempts).await.len(), attempts);
    }
}

/// The code that its call ends with, and how many milliseconds that took.
async fn theirs(mut command: Command, server: &Server) -> (i32, u64) {
    command.args(["-c", include_str!("grpcio_client.py")]);
    let address = server.origin.trim_start_matches("http://");
    let output = within(command.arg(address).output())
        .await
        .expect("python runs");
    let told = String::from_utf8(output.stdout).expect("a text");
    let (code, took) = told.trim().split_once(' ').expect("two numbers");
    (
        code.parse().expect("a code"),
        took.parse().expect("a number"),
    )
}

#[tokio::test]
async fn a_client_of_grpcio_comes_back_when_a_server_that_sheds_says() {
    let Some(command) = python() else { return };
    let layer = AdmissionLayer::new(Bulkhead::calls(1)).expect("a valid bulkhead");
    let wait = Duration::from_millis(400);
    let server = Server::admitting(layer.retry_after(wait, wait).hold_bodies()).await;

    // A conversation has the one place, until somebody was shed.
    let mut held = OrdersClient::new(server.channel());
    let (more, orders) = mpsc::channel::<Order>(1);
    let conversation = within(held.chat(ReceiverStream::new(orders)))
        .await
        .expect("a stream");
    let freed = async {
        while server.shed() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop((conversation, more));
    };
    let ((code, took), ()) = within(async { tokio::join!(theirs(command, &server), freed) }).await;
    assert_eq!(code, Code::Ok as i32);
    assert!(took >= 400, "it came back after {took} ms");
    let seen = server.seen();
    let last = seen.last().expect("the call that was admitted");
    assert_eq!(
        last.previous.as_deref(),
        Some("1"),
        "one was shed, and no more"
    );
}

#[tokio::test]
async fn a_client_of_grpcio_stops_where_it_is_told_to() {
    for (pushback, attempts) in [(&["20"][..], 4), (&["-1"], 1)] {
        let Some(command) = python() else { return };
        let server = Server::start((0..9).map(|_| Does::fails(14, pushback))).await;
        let (code, _) = theirs(command, &server).await;
        assert_eq!((code, server.seen().len()), (14, attempts));
    }
}
