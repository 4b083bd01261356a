//! Does a server see a request once where it may not be repeated, and again where it may?

use std::time::Duration;

use becalm::run::Last;
use becalm_http_faults::sent_once::{Case, everywhere, refused_streams};
use becalm_http_faults::{Does, Pieces, Server, Version, quick, within};
use becalm_tower::client::{Failed, RetryLayer};
use http::Request;
use http_body_util::BodyExt;
use tower::{Layer, Service};

use crate::hyper::{hyper, retrier};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_at_every_point_over_http_1() {
    everywhere(Version::Http1, send).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_method_at_every_point_over_http_2() {
    everywhere(Version::Http2, send).await;
}

#[tokio::test]
async fn a_stream_that_the_server_refuses_is_repeated_where_there_is_proof() {
    refused_streams(cfg!(feature = "h2"), send).await;
}

async fn send(case: &Case, server: &Server) {
    let mut client = RetryLayer::new(&retrier()).layer(hyper(case.version, case.refused()));
    let mut request = Request::builder().method(&case.method).uri(server.url());
    if case.has_key {
        request = request.header("idempotency-key", "\"17\"");
    }
    let request = request.body(Pieces::new(case.length, 16 * 1024));
    match spawnable(client.call(request.expect("valid"))).await {
        Ok(answer) => {
            if case.is_cut() {
                server.hang_up();
            }
            let body = answer.into_body().collect().await;
            assert_eq!(body.is_err(), case.is_cut());
        }
        Err(gave_up) => {
            // Where a connection is closed as it opens, hyper 1.12 over HTTP/2 may wait for ever.
            let is_cut = matches!(gave_up.last(), Last::AttemptTimeout);
            let failed = matches!(gave_up.error(), Some(Failed::Transport(_)));
            assert!(is_cut || failed, "{case:?}: {gave_up}");
        }
    }
}

/// What a runtime of several threads can take over.
fn spawnable<F: Future + Send + 'static>(future: F) -> F {
    future
}

#[tokio::test]
async fn an_attempt_that_stalls_is_cut_and_only_what_may_be_repeated_is() {
    for version in [Version::Http1, Version::Http2] {
        for (method, is_repeated) in [("PUT", true), ("POST", false)] {
            let server = Server::start(version, [Does::Stall]).await;
            let policy = quick().attempt_timeout(Duration::from_millis(500));
            let retrier = policy.retrier().expect("a valid policy");
            let mut client = RetryLayer::new(&retrier).layer(hyper(version, 0));
            let request = Request::builder().method(method).uri(server.url());
            let request = request.body(Pieces::new(100, 10)).expect("valid");
            let ended = within(client.call(request)).await;
            assert_eq!(ended.is_ok(), is_repeated);
            // On a busy machine others may have been cut as well.
            assert_eq!(server.count() > 1, is_repeated);
        }
    }
}
