//! How often does a server see a request whose first attempt fails, at every point where it can?
//!
//! By RFC 9110 section 9.2.2 a request is repeated only where its method is idempotent, or where it is
//! known not to have been applied: it was never sent, or the server has said that it refused it (425,
//! RFC 8470). A key that the server knows makes any method idempotent
//! (draft-ietf-httpapi-idempotency-key-header-07). What was answered well is never repeated.

use std::time::Duration;

use becalm::run::Last;
use becalm_tower::client::{Failed, RetryLayer};
use http::{Method, Request};
use http_body_util::BodyExt;
use tower::{Layer, Service};

use crate::pieces::Pieces;
use crate::servers::{Does, Server, Version, hyper, quick, retrier};
use crate::within;

/// Where the first attempt fails, and how often the server's handler sees the request: if it may be
/// repeated, and if not.
const POINTS: [(Point, usize, usize); 9] = [
    (Point::BeforeConnect, 1, 1),             // it was never sent
    (Point::Server(Does::CloseAtOnce), 1, 0), // no proof: the bytes have left
    (Point::Server(Does::CloseInRequest), 2, 1),
    (Point::Server(Does::CloseAfterRequest), 2, 1),
    (Point::Server(Does::CloseInResponse), 1, 1), // the caller has the answer
    (Point::Server(Does::Answer(503)), 2, 1),
    (Point::Server(Does::Answer(425)), 2, 2), // refused in place of being done
    (Point::Server(Does::Answer(404)), 1, 1),
    (Point::Server(Does::AnswerEarly(503)), 2, 1),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
async fn every_method_at_every_point_over_http_1() {
    every_method_at_every_point(Version::Http1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_at_every_point_over_http_2() {
    every_method_at_every_point(Version::Http2).await;
}

async fn every_method_at_every_point(version: Version) {
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
                let seen = within(seen(version, point, method, has_body, has_key)).await;
                assert_eq!(seen, expected, "{case}");
            }
        }
    }
}

/// Refused streams were not processed (RFC 9113 section 8.7), which the feature `h2` tells.
#[tokio::test]
async fn a_stream_that_the_server_refuses_is_repeated_where_there_is_proof() {
    let refused = Point::Server(Does::RefuseStream);
    for (method, is_idempotent, has_body) in METHODS {
        let seen = within(seen(Version::Http2, refused, method, has_body, false)).await;
        let is_repeated = is_idempotent || cfg!(feature = "h2");
        assert_eq!(seen, 1 + usize::from(is_repeated), "{method}");
    }
}

#[tokio::test]
async fn an_attempt_that_stalls_is_cut_and_only_what_may_be_repeated_is() {
    for version in [Version::Http1, Version::Http2] {
        for (method, is_repeated) in [("PUT", true), ("POST", false)] {
            let server = Server::start(version, [Does::Stall]).await;
            let policy = quick().attempt_timeout(Duration::from_millis(500));
            let retrier = policy.retrier().expect("a valid policy");
            let mut client = RetryLayer::new(&retrier).layer(hyper(version, 0));
            let request = Request::builder().method(method).uri(server.uri());
            let request = request.body(Pieces::new(100, 10)).expect("valid");
            let ended = within(client.call(request)).await;
            assert_eq!(ended.is_ok(), is_repeated);
            // On a busy machine others may have been cut as well.
            assert_eq!(server.seen().len() > 1, is_repeated);
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
    let (refused, script) = match point {
        Point::BeforeConnect => (1, None),
        Point::Server(does) => (0, Some(does)),
    };
    let server = Server::start(version, script).await;
    let mut client = RetryLayer::new(&retrier()).layer(hyper(version, refused));
    let is_head = method == "HEAD";
    let verb = Method::from_bytes(method.as_bytes()).expect("a method");
    let mut request = Request::builder().method(verb).uri(server.uri());
    if has_key {
        request = request.header("idempotency-key", "\"17\"");
    }
    let length = if has_body { 32 * 1024 } else { 0 };
    let request = request.body(Pieces::new(length, 16 * 1024)).expect("valid");
    match spawnable(client.call(request)).await {
        Ok(answer) => {
            let is_cut = point == Point::Server(Does::CloseInResponse) && !is_head;
            if is_cut {
                server.hang_up();
            }
            assert_eq!(answer.into_body().collect().await.is_err(), is_cut);
        }
        Err(gave_up) => {
            // Where a connection is closed as it opens, hyper 1.12 over HTTP/2 may wait for ever.
            let is_cut = matches!(gave_up.last(), Last::AttemptTimeout);
            let failed = matches!(gave_up.error(), Some(Failed::Transport(_)));
            assert!(is_cut || failed, "{method}, {point:?}: {gave_up}");
        }
    }
    server.seen().len()
}

/// What a runtime of several threads can take over.
fn spawnable<F: Future + Send + 'static>(future: F) -> F {
    future
}
