//! HAProxy.

use std::time::Instant;

use becalm_http_faults::{Does, Server, Version};
use tempfile::TempDir;
use tokio::process::Command;

use crate::haproxy_log::Log;
use crate::http::ask;
use crate::predicted::{Fails, assert_timed_out, assert_waits, attempts, is_refused, read};
use crate::processes::{end, free_port, is_there, starts};

/// Lines of `defaults`, lines of the backend, or of the frontend where they begin so, and requests.
type Case = (&'static str, &'static str, &'static [(&'static str, Fails)]);

const GET: &str = "GET";
const POST: &str = "POST";

const CASES: &[Case] = &[
    ("", "", &[(GET, Fails::Status(503)), (GET, Fails::HangsUp)]),
    (
        "retry-on all-retryable-errors",
        "",
        &[
            (GET, Fails::Status(503)),
            (POST, Fails::Status(503)),
            (GET, Fails::HangsUp),
            (POST, Fails::HangsUp),
            (GET, Fails::Status(500)),
            (GET, Fails::Status(501)),
            (GET, Fails::Status(502)),
            (GET, Fails::Status(504)),
            (GET, Fails::Status(429)),
            (GET, Fails::Status(404)),
            (GET, Fails::Status(408)),
        ],
    ),
    (
        "retry-on all-retryable-errors\nretries 1",
        "retries 2",
        &[(GET, Fails::Status(503))],
    ),
    (
        "retry-on all-retryable-errors\nretries 0",
        "",
        &[(GET, Fails::Status(503))],
    ),
    ("retry-on 503\nretries x", "", &[(GET, Fails::Status(503))]),
    ("retry-on 503\nretries 2x", "", &[(GET, Fails::Status(503))]),
    ("retry-on 503\nretries -1", "", &[(GET, Fails::Status(503))]),
    (
        "retry-on 503",
        "retry-on 404 403 401 408 425",
        &[
            (GET, Fails::Status(503)),
            (GET, Fails::Status(404)),
            (GET, Fails::Status(403)),
            (GET, Fails::Status(401)),
            (GET, Fails::Status(408)),
            (GET, Fails::Status(425)),
        ],
    ),
    (
        "retry-on none",
        "",
        &[(GET, Fails::Status(503)), (GET, Fails::HangsUp)],
    ),
    (
        "retry-on empty-response",
        "option redispatch",
        &[(GET, Fails::HangsUp), (GET, Fails::Status(500))],
    ),
    (
        "retry-on response-timeout\ntimeout server 150ms\nretries 2",
        "",
        &[(GET, Fails::Stalls), (POST, Fails::Stalls)],
    ),
    (
        "retry-on response-timeout\ntimeout server 150000us\nretries 1",
        "",
        &[(GET, Fails::Stalls)],
    ),
    (
        "retry-on 503",
        "http-request disable-l7-retry",
        &[(GET, Fails::Status(503))],
    ),
    (
        "retry-on 503",
        "http-request disable-l7-retry if METH_POST",
        &[(GET, Fails::Status(503)), (POST, Fails::Status(503))],
    ),
    (
        "retry-on 503",
        "http-request disable-l7-retry unless METH_GET",
        &[
            (GET, Fails::Status(503)),
            ("HEAD", Fails::Status(503)),
            ("PUT", Fails::Status(503)),
            (POST, Fails::Status(503)),
        ],
    ),
    (
        "retry-on 503",
        "http-request disable-l7-retry unless METH_GET or METH_HEAD",
        &[
            (GET, Fails::Status(503)),
            ("HEAD", Fails::Status(503)),
            (POST, Fails::Status(503)),
        ],
    ),
    (
        "retry-on 503",
        "http-request disable-l7-retry if METH_POST METH_PUT",
        &[(POST, Fails::Status(503)), ("PUT", Fails::Status(503))],
    ),
    (
        "retry-on 503",
        "acl writes method POST PUT\nhttp-request disable-l7-retry if writes or !{ method GET POST PUT DELETE }",
        &[
            (GET, Fails::Status(503)),
            (POST, Fails::Status(503)),
            ("PUT", Fails::Status(503)),
            ("DELETE", Fails::Status(503)),
            ("PATCH", Fails::Status(503)),
        ],
    ),
    (
        "retry-on 503",
        "frontend http-request disable-l7-retry if METH_POST",
        &[(GET, Fails::Status(503)), (POST, Fails::Status(503))],
    ),
    (
        "retry-on conn-failure 503\ntimeout connect 100ms\nretries 1",
        "http-request disable-l7-retry",
        &[(GET, Fails::Refuses), (GET, Fails::Status(503))],
    ),
    (
        "timeout server 150ms\nretries 2",
        "",
        &[(GET, Fails::Stalls)],
    ),
    // The waits between connections are those of the mapping.
    (
        "timeout connect 100ms\nretries 2",
        "",
        &[(GET, Fails::Refuses)],
    ),
    (
        "timeout connect 5s\nretries 1",
        "",
        &[(POST, Fails::Refuses)],
    ),
    // Refused.
    ("retris 3", "", &[]),
    ("Retries 3", "", &[]),
    ("retry_on 503", "", &[]),
    ("", "option Redispatch", &[]),
    ("", "http-request disable-l7-retr", &[]),
    ("", "\nuserlist people\nretries 3", &[]),
    ("", "\ncache one\n total-max-size 4\noption redispatch", &[]),
    ("retry-on none 503", "", &[]),
    ("retry-on 429", "", &[]),
    ("retry-on foo", "", &[]),
    ("retry-on", "", &[]),
    ("retries", "", &[]),
    ("retries 3 4", "", &[]),
    ("timeout server 1x", "", &[]),
    ("timeout server 99999999999999999999", "", &[]),
];

fn configuration(case: &Case, log: &Log, to: u16, port: u16) -> String {
    let [to_log, logs] = log.lines();
    let defaults = case.0.replace('\n', "\n    ");
    let (front, backend) = case
        .1
        .strip_prefix("frontend ")
        .map_or(("", case.1), |front| (front, ""));
    format!(
        "global
    maxconn 100
    {to_log}
defaults
    mode http
    {logs}
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    {defaults}
frontend all
    bind 127.0.0.1:{port}
    {front}
    default_backend orders
backend orders
    server one 127.0.0.1:{to}
    {backend}
"
    )
}

#[tokio::test]
async fn haproxy_repeats_as_often_as_the_mapping_says() {
    if !is_there(
        Command::new("haproxy").arg("-v"),
        "Debian's package haproxy",
    )
    .await
    {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("haproxy.cfg");
    for case in CASES {
        if case.2.is_empty() {
            let text = configuration(case, &Log::open(), 1, free_port());
            std::fs::write(&path, &text).expect("a file");
            let mut haproxy = Command::new("haproxy");
            haproxy.arg("-c").arg("-f").arg(&path);
            let output = haproxy.output().await.expect("haproxy runs");
            let checked = read("haproxy@2.6", &text);
            assert!(
                !output.status.success() && is_refused(&checked),
                "{case:?}: {output:?} {:?}",
                checked.findings
            );
        }
        for (method, fails) in case.2 {
            request(&path, case, method, *fails).await;
        }
    }
}

async fn request(path: &std::path::Path, case: &Case, method: &str, fails: Fails) {
    let does = match fails {
        Fails::Status(status) => Does::Answer(status),
        Fails::Stalls => Does::Stall,
        _ => Does::CloseAfterRequest,
    };
    let server = Server::start(Version::Http1, vec![does; 20]).await;
    let port = free_port();
    let to = if fails == Fails::Refuses {
        free_port()
    } else {
        server.port
    };
    let log = Log::open();
    let text = configuration(case, &log, to, port);
    let checked = read("haproxy@2.6", &text);
    assert!(!is_refused(&checked), "{case:?}: {:?}", checked.findings);
    std::fs::write(path, &text).expect("a file");
    let mut haproxy = Command::new("haproxy");
    haproxy.arg("-db").arg("-f").arg(path);
    let process = starts(&mut haproxy, port).await.expect("it takes the file");
    let began = Instant::now();
    ask(port, method).await;
    let took = began.elapsed();
    let mapping = checked.mappings.first();
    let expected = attempts(mapping, method, fails);
    if fails == Fails::Refuses {
        assert_eq!(log.retries() + 1, expected, "{case:?} {method}");
        let policy = &mapping.expect("a mapping").policy;
        let waits = vec![took / (expected - 1); expected as usize - 1];
        assert_waits(&format!("{case:?}"), policy, &[waits]);
    } else {
        let seen = server.seen();
        assert_eq!(
            u32::try_from(seen.len()),
            Ok(expected),
            "{case:?} {method} {fails:?}"
        );
    }
    if fails == Fails::Stalls {
        assert_timed_out(&format!("{case:?}"), mapping, expected, took);
    }
    end(process).await;
}
