//! gRPC's clients: C-core by Python's grpcio, and grpc-js.

use std::time::Duration;

use becalm_check::Checked;
use becalm_http_faults::{Does, Server, Version, within};
use tokio::process::Command;

use crate::predicted::{Fails, assert_waits, calls, is_refused, read};
use crate::processes::{installed, is_there};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Of {
    Core,
    Js,
}

impl Of {
    fn command(self) -> Command {
        let mut command;
        match self {
            Self::Core => {
                command = Command::new(installed("pypi/bin/python"));
                command.arg("-c");
            }
            Self::Js => {
                command = Command::new("node");
                command
                    .env("NODE_PATH", installed("npm/node_modules"))
                    .arg("-e");
            }
        }
        command.kill_on_drop(true);
        command
    }

    async fn is_there(self) -> bool {
        let mut command = self.command();
        match self {
            Self::Core => {
                is_there(command.arg("import grpc"), "PyPI's grpcio into target/pypi").await
            }
            Self::Js => {
                is_there(
                    command.arg("require('@grpc/grpc-js')"),
                    "npm's @grpc/grpc-js into target/npm",
                )
                .await
            }
        }
    }

    const fn system(self) -> &'static str {
        match self {
            Self::Core => "grpc@core-1.85",
            Self::Js => "grpc@js-1.14",
        }
    }

    /// How each call of a client with this config ended.
    async fn call(self, server: &Server, config: &str, calls: usize) -> Vec<String> {
        let mut command = self.command();
        command.arg(match self {
            Self::Core => include_str!("grpcio_client.py"),
            Self::Js => include_str!("grpc_js_client.js"),
        });
        command
            .arg(format!("127.0.0.1:{}", server.port))
            .arg(config)
            .arg(calls.to_string());
        let output = within(command.output()).await.expect("it runs");
        let told = String::from_utf8(output.stdout).expect("a text");
        told.lines().map(ToOwned::to_owned).collect()
    }
}

/// A config of all methods: a retry policy with these fields in place of the usual ones (`-` leaves one out), and
/// what stands beside it in the entry and in the config.
pub fn config(fields: &str, beside: &str, beneath: &str) -> String {
    let mut policy: Vec<(String, String)> = [
        ("maxAttempts", "3"),
        ("initialBackoff", "\"0.02s\""),
        ("maxBackoff", "\"0.02s\""),
        ("backoffMultiplier", "2"),
        ("retryableStatusCodes", "[\"UNAVAILABLE\"]"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    for field in fields.split("; ").filter(|it| !it.is_empty()) {
        let (name, value) = field.split_once(' ').expect("a name and a value");
        policy.retain(|(it, _)| it != name);
        if value != "-" {
            policy.push((name.to_owned(), value.to_owned()));
        }
    }
    let policy: Vec<_> = policy
        .iter()
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    format!(
        "{{ \"methodConfig\": [{{ \"name\": [{{}}]{beside}, \"retryPolicy\": {{ {} }} }}]{beneath} }}",
        policy.join(", ")
    )
}

/// Configs, the code with which the server answers, and how many calls are made.
pub fn cases() -> Vec<(String, u8, usize)> {
    let plain = |fields| (config(fields, "", ""), 14, 1);
    let mut cases = vec![
        plain(""),
        plain("maxAttempts 5"),
        plain("maxAttempts 7"),
        plain("maxAttempts 2; retryableStatusCodes [\"INTERNAL\", \"UNAVAILABLE\"]"),
        (config("retryableStatusCodes [\"INTERNAL\"]", "", ""), 14, 1),
        (
            config("retryableStatusCodes [\"UNKNOWN\", \"INTERNAL\"]", "", ""),
            13,
            1,
        ),
    ];
    for fields in [
        "maxAttempts \"4\"",
        "maxAttempts 4.0",
        "maxAttempts 3.5",
        "maxAttempts 1",
        "maxAttempts 0",
        "maxAttempts -",
        "maxAttempts null",
        "maxAttempts true",
        "initialBackoff -",
        "initialBackoff \"0s\"",
        "maxBackoff \"0s\"",
        "initialBackoff 1",
        "initialBackoff \"20ms\"",
        "initialBackoff \".02s\"",
        "initialBackoff \"-1s\"",
        "maxBackoff -",
        "backoffMultiplier 0",
        "backoffMultiplier -",
        "backoffMultiplier \"2\"",
        "backoffMultiplier 0.5",
        "retryableStatusCodes []",
        "retryableStatusCodes [\"UNAVAILABLEX\"]",
        "retryableStatusCodes [\"unavailable\"]",
        "retryableStatusCodes [14]",
        "retryableStatusCodes [17]",
        "retryableStatusCodes -",
        "retryableStatusCodes [\"OK\", \"UNAVAILABLE\"]",
        "MaxAttempts 4; maxAttempts -",
        "unknown 3",
        "initialBackoff \"0.04s\"",
        "retryableStatusCodes \"UNAVAILABLE\"",
    ] {
        cases.push(plain(fields));
    }
    for (beside, beneath) in [
        (", \"hedgingPolicy\": {\"maxAttempts\": 3}", ""),
        (", \"timeout\": \"5\"", ""),
        (", \"timeout\": 5", ""),
        (", \"timeout\": \"0s\"", ""),
        (", \"timeout\": \"9s\"", ""),
        (", \"waitForReady\": true", ""),
        (", \"waitForReady\": \"true\"", ""),
        (
            "",
            ", \"retryThrottling\": {\"maxTokens\": 0, \"tokenRatio\": 0.1}",
        ),
        (
            "",
            ", \"retryThrottling\": {\"maxTokens\": 1001, \"tokenRatio\": 0.1}",
        ),
        ("", ", \"retryThrottling\": {\"maxTokens\": 10}"),
        (
            "",
            ", \"retryThrottling\": {\"maxTokens\": 10, \"tokenRatio\": 0}",
        ),
        (
            "",
            ", \"retryThrottling\": {\"maxTokens\": \"10\", \"tokenRatio\": \"0.1\"}",
        ),
        ("", ", // a comment\n \"x\": 1"),
        ("", ","),
    ] {
        cases.push((config("", beside, beneath), 14, 1));
    }
    for throttling in [
        "4, \"tokenRatio\": 0.1",
        "10, \"tokenRatio\": 1",
        "6, \"tokenRatio\": 0.5",
    ] {
        let throttling = format!(", \"retryThrottling\": {{\"maxTokens\": {throttling}}}");
        cases.push((config("maxAttempts 5", "", &throttling), 14, 3));
    }
    let twice = "{ \"name\": [{}] }";
    for text in [
        format!("{{ \"methodConfig\": [{twice}, {twice}] }}"),
        "{ \"methodConfig\": [{ \"name\": [{\"method\": \"Get\"}] }] }".to_owned(),
        "{ \"methodConfig\": [{ \"name\": [{}], \"hedgingPolicy\": {\"maxAttempts\": 3, \"nonFatalStatusCodes\": [\"UNAVAILABLE\"]} }] }".to_owned(),
        "{ \"methodConfig\": [{ \"name\": [{}], \"hedgingPolicy\": {\"maxAttempts\": 1} }] }".to_owned(),
        "{ \"methodConfig\": [{ \"name\": [{\"service\": \"shop.v1.Others\"}], \"retryPolicy\": {\"maxAttempts\": 1} }] }".to_owned(),
        "{ \"methodConfig\": [".to_owned(),
        "{ \"methodConfig\": {} }".to_owned(),
        include_str!("../files/03-grpc-constant.json").to_owned(),
    ] {
        cases.push((text, 14, 1));
    }
    cases
}

/// Whether a note says so: the file may be for generators, or holds no retries and cannot be read.
pub fn is_told_refused(checked: &Checked) -> bool {
    checked.findings.iter().any(|it| {
        it.code == "cannot-read" || it.sentence.contains("a client of gRPC refuses the config")
    })
}

async fn tries(of: Of) {
    if !of.is_there().await {
        return;
    }
    let mut wrong = Vec::new();
    for (config, code, times) in cases() {
        let answer = Does::EndCall(code, None);
        let server = Server::start(Version::Http2, vec![answer; 40]).await;
        let ended = of.call(&server, &config, times).await;
        let checked = read(of.system(), &config);
        let refused = ended.iter().any(|it| it == "refused");
        let expected = calls(checked.mappings.first(), Fails::Code(code), times);
        if refused != (is_refused(&checked) || is_told_refused(&checked)) {
            wrong.push(format!("{config}: {ended:?}, and {:?}", checked.findings));
        } else if !refused && server.count() != expected {
            wrong.push(format!(
                "{config}: {} attempts for {expected}, {ended:?}",
                server.count()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn c_core_calls_as_often_as_the_mapping_says() {
    tries(Of::Core).await;
}

#[tokio::test]
async fn grpc_js_calls_as_often_as_the_mapping_says() {
    tries(Of::Js).await;
}

#[tokio::test]
async fn both_wait_as_long_as_the_mapping_says() {
    for of in [Of::Core, Of::Js] {
        if !of.is_there().await {
            return;
        }
        for fields in [
            "maxAttempts 4; initialBackoff \"0.2s\"; maxBackoff \"0.5s\"; backoffMultiplier 2",
            "maxAttempts 3; initialBackoff \"0.3s\"; maxBackoff \"1s\"; backoffMultiplier 1",
        ] {
            let text = config(fields, "", "");
            let checked = read(of.system(), &text);
            let mut waits = Vec::new();
            for _ in 0..3 {
                let answer = Does::EndCall(14, None);
                let server = Server::start(Version::Http2, vec![answer; 9]).await;
                of.call(&server, &text, 1).await;
                let seen = server.seen();
                waits.push(
                    seen.windows(2)
                        .map(|it| it[1].at - it[0].at)
                        .collect::<Vec<Duration>>(),
                );
            }
            let policy = &checked.mappings[0].policy;
            assert_waits(&format!("{of:?} {fields}"), policy, &waits);
        }
    }
}

/// Other clients begin it once more.
#[tokio::test]
async fn c_core_counts_a_stream_that_is_refused() {
    if !Of::Core.is_there().await {
        return;
    }
    let text = config("", "", "");
    let checked = read(Of::Core.system(), &text);
    let expected = calls(checked.mappings.first(), Fails::Code(14), 1);
    let server = Server::start(Version::Http2, vec![Does::RefuseStream; 40]).await;
    Of::Core.call(&server, &text, 1).await;
    assert_eq!(server.count(), expected);
}

#[tokio::test]
async fn grpc_js_takes_what_stands_behind_the_point_as_nanoseconds() {
    if !Of::Js.is_there().await {
        return;
    }
    let waits = "initialBackoff \"0.9s\"; maxBackoff \"0.9s\"";
    for (timeout, attempts) in [("0.5s", 0), ("1.9s", 2), ("3s", 3)] {
        let text = config(waits, &format!(", \"timeout\": \"{timeout}\""), "");
        let checked = read(Of::Js.system(), &text);
        let deadline = checked.mappings[0].policy.deadline.expect("a deadline");
        let answer = Does::EndCall(14, None);
        let server = Server::start(Version::Http2, vec![answer; 9]).await;
        Of::Js.call(&server, &text, 1).await;
        let whole: u64 = timeout
            .chars()
            .next()
            .and_then(|it| it.to_digit(10))
            .expect("a digit")
            .into();
        assert_eq!(deadline.as_secs(), whole);
        assert!(server.count() <= attempts, "{timeout}: {}", server.count());
    }
}
