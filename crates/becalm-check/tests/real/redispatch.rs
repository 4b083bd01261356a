//! How often does HAProxy try servers, several and none listening?

use std::time::Instant;

use tempfile::TempDir;
use tokio::process::Command;

use crate::haproxy_log::Log;
use crate::http::ask;
use crate::predicted::{Fails, assert_waits, attempts, is_refused, read};
use crate::processes::{end, free_port, is_there, starts};

/// Lines of the backend, and how many servers it has.
const CASES: &[(&str, usize)] = &[
    ("option redispatch\nretries 2", 2),
    ("option redispatch\nretries 3", 3),
    ("option redispatch 1\nretries 2\nbalance static-rr", 2),
    ("no option redispatch\nretries 2", 2),
    ("retries 2", 2),
    ("option redispatch\nretries 2\nbalance leastconn", 2),
    ("option redispatch\nretries 2\nbalance first", 2),
    ("option redispatch\nretries 2\nbalance random(2)", 3),
    ("option redispatch\nretries 2\nbalance source", 2),
    ("option redispatch\nretries 3\nbalance hdr(Host)", 3),
    ("option redispatch\nretries 2\nbalance uri", 2),
    ("option redispatch\nretries 2", 1),
    ("option redispatch\nretries 2\ndefault-server backup", 2),
    (
        "option redispatch\nretries 2\nserver-template t 1 127.0.0.1:9",
        0,
    ),
    (
        "option redispatch\nretries 2\nserver-template t 2-3 127.0.0.1:9",
        0,
    ),
    ("option redispatch\nretries 2\ndispatch 127.0.0.1:9", 0),
];

fn configuration(case: &(&str, usize), log: &Log, port: u16) -> String {
    let [to_log, logs] = log.lines();
    let lines = case.0.replace('\n', "\n    ");
    let server = |at| format!("    server s{at} 127.0.0.1:{}\n", free_port());
    let servers = (0..case.1).map(server).collect::<Vec<_>>().concat();
    format!(
        "global
    maxconn 100
    {to_log}
defaults
    mode http
    {logs}
    timeout connect 200ms
    timeout client 30s
    timeout server 30s
frontend all
    bind 127.0.0.1:{port}
    default_backend orders
backend orders
    {lines}
{servers}"
    )
}

#[tokio::test]
async fn haproxy_goes_elsewhere_as_the_mapping_says() {
    let mut haproxy = Command::new("haproxy");
    if !is_there(haproxy.arg("-v"), "Debian's package haproxy").await {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("haproxy.cfg");
    let log = Log::open();
    for case in CASES {
        let port = free_port();
        let text = configuration(case, &log, port);
        let checked = read("haproxy@2.6", &text);
        assert!(!is_refused(&checked), "{case:?}: {:?}", checked.findings);
        std::fs::write(&path, &text).expect("a file");
        let mut haproxy = Command::new("haproxy");
        haproxy.arg("-db").arg("-f").arg(&path);
        let process = starts(&mut haproxy, port).await.expect("it takes the file");
        let began = Instant::now();
        ask(port, "GET").await;
        let took = began.elapsed();
        let retries = log.retries();
        let mapping = checked.mappings.first().expect("a mapping");
        let expected = attempts(Some(mapping), "GET", Fails::Refuses);
        assert_eq!(retries + 1, expected, "{case:?}");
        // By a hash, the last retry alone goes elsewhere, and that at once.
        let is_hashed = ["source", "uri", "hdr("]
            .iter()
            .any(|it| case.0.contains(it));
        let waited = retries - u32::from(is_hashed);
        let waits = vec![took / waited; waited as usize];
        assert_waits(&format!("{case:?}"), &mapping.policy, &[waits]);
        end(process).await;
    }
}
