//! How often does a server see a request whose first attempt fails, at every point where it can?
//!
//! By RFC 9110 section 9.2.2 a request is repeated only where its method is idempotent, or where it is
//! known not to have been applied: it was never sent, or the server has said that it refused it (425,
//! RFC 8470). A key that the server knows makes any method idempotent
//! (draft-ietf-httpapi-idempotency-key-header-07). What was answered well is never repeated.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::run::Last;
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::servers::{Does, Server, VERSIONS, Version, builder, bytes, client, quick, retrier};
use crate::within;

/// Where the first attempt fails, and how often the server's handler sees the request: if it may be
/// repeated, and if not.
const POINTS: [(Point, usize, usize); 8] = [
    (Point::BeforeConnect, 1, 1),             // it was never sent
    (Point::Server(Does::CloseAtOnce), 1, 0), // no proof: the bytes have left
    (Point::Server(Does::CloseInRequest), 2, 1),
    (Point::Server(Does::CloseAfterRequest), 2, 1),
    (Point::Server(Does::CloseInResponse), 1, 1), // the caller has the answer
    (Point::Server(Does::Answer(503)), 2, 1),
    (Point::Server(Does::Answer(425)), 2, 2), // refused in place of being done
    (Point::Server(Does::Answer(404)), 1, 1),
];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Point {
    BeforeConnect,
    Server(Does),
}

/// The method, whether it is idempotent, and whether it carries a body here.
const METHODS: [(&str, bool, bool); 9] = [
    ("GET", true, false),
    ("HEAD", true, false),
    ("OPTIONS", true, false),
    ("TRACE", true, false),
    ("PUT", true, true),
    ("DELETE", true, true),
    ("POST", false, true),
    ("PATCH", false, true),
    ("FROBNICATE", false, true),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_at_every_point() {
    for version in VERSIONS {
        for (point, if_repeatable, if_not) in POINTS {
            for (method, is_idempotent, has_body) in METHODS {
                if point == Point::Server(Does::CloseInRequest) && !has_body {
                    continue; // there is no middle
                }
                for has_key in [false, true] {
                    let expected = if is_idempotent || has_key {
                        if_repeatable
                    } else {
                        if_not
                    };
                    let case = format!("{method}, key {has_key}, {point:?}, {version:?}");
                    let seen = seen(*version, point.clone(), method, has_body, has_key);
                    assert_eq!(within(seen).await, expected, "{case}");
                }
            }
        }
    }
}

async fn seen(
    version: Version,
    point: Point,
    method: &str,
    has_body: bool,
    has_key: bool,
) -> usize {
    let is_cut = point == Point::Server(Does::CloseInResponse);
    let (refused, script) = match point {
        Point::BeforeConnect => (1, None),
        Point::Server(does) => (0, Some(does)),
    };
    let server = Server::start(version, script).await;
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    let mut request = client(version, refused).request(method, server.url());
    if has_key {
        request = request.keyed();
    }
    if has_body {
        request = request.body(bytes(32 * 1024));
    }
    match request.send().await {
        Ok(answer) => {
            if is_cut {
                server.close_in_response();
            }
            let body = answer.bytes().await;
            assert!(body.is_ok() || is_cut, "{body:?}");
        }
        Err(gave_up) => assert!(gave_up.error().is_some(), "{gave_up}"),
    }
    server.count()
}

#[tokio::test]
async fn of_reqwests_time_out_and_the_attempts_the_lesser_holds() {
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(50));
    for (own, of_policy) in [(short, long), (long, short)] {
        for (method, attempts) in [(Method::PUT, 2), (Method::POST, 1)] {
            let server = Server::start(Version::Http1, [Does::Stall, Does::Stall]).await;
            let policy = quick()
                .attempt_timeout(of_policy)
                .deadline(None)
                .attempts(2);
            let own = builder(Version::Http1, 0).timeout(own);
            let client = becalm_reqwest::Client::new(own, &retrier(policy)).expect("a client");
            let sent = client.request(method, server.url()).send();
            let gave_up = within(sent).await.expect_err("nobody answers");
            assert_eq!(gave_up.attempts(), attempts);
            if of_policy == short {
                assert!(matches!(gave_up.last(), Last::AttemptTimeout));
            } else {
                assert!(gave_up.error().is_some_and(reqwest::Error::is_timeout));
            }
        }
    }
}

/// reqwest leaves `retry_canceled_requests` of hyper-util on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooled_connection_that_has_died_is_replaced_and_no_request_is_doubled() {
    const REQUESTS: usize = 50;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heads = Arc::clone(&seen);
    // It closes every connection after one answer, without saying so.
    let server = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => break,
                }
            }
            if let Some(line) = head.split(|byte| *byte == b'\r').next() {
                heads.lock().expect("unpoisoned").push(line.to_vec());
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
            let _ = stream.write_all(answer).await;
        }
    });
    let client = client(Version::Http1, 0);
    let mut answered = 0;
    for number in 0..REQUESTS {
        let request = client.post(format!("{url}/{number}")).attempts(1);
        answered += usize::from(within(request.send()).await.is_ok());
    }
    server.abort();
    let mut seen = seen.lock().expect("unpoisoned").clone();
    seen.retain(|line| !line.is_empty());
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count, "none came twice");
    assert!(0 < answered && answered <= count);
}
