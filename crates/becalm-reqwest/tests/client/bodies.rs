//! Does every body arrive whole, and once in each attempt?

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::run::Stopped;
use becalm::{Hedge, StopReason};
use becalm_http_faults::{Does, Pieces, Server, Version, bytes, quick, within};
use bytes::Bytes;
use http_body::Frame;
use reqwest::Body;

use crate::clients::{VERSIONS, client, client_builder};

const LENGTHS: [usize; 5] = [1, 1000, 64 * 1024, 64 * 1024 + 1, 1 << 20];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_bytes_or_of_a_factory_is_sent_again_whole() {
    for version in VERSIONS {
        for length in LENGTHS {
            for is_made in [false, true] {
                let server = Server::start(*version, [Does::Answer(503), Does::Answer(503)]).await;
                let request = client(*version, 1).put(server.url());
                let request = if is_made {
                    request.body_with(move || Body::wrap(Pieces::new(length, 1000)))
                } else {
                    request.body(bytes(length))
                };
                let answer = within(request.send()).await.expect("an answer");
                assert_eq!(answer.status(), 200);
                assert!(
                    server.bodies() == vec![Some(bytes(length)); 3],
                    "{length}, {is_made}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_stream_is_sent_once_and_the_give_up_says_so() {
    for version in VERSIONS {
        let server = Server::start(*version, [Does::Answer(503)]).await;
        let body = Body::wrap(Pieces::new(100_000, 1000));
        let request = client(*version, 0).put(server.url()).body(body);
        let answer = within(request.send()).await.expect("an answer");
        assert_eq!(answer.status(), 503);
        let stopped = answer.extensions().get::<Stopped>().expect("a record");
        assert_eq!(stopped.reason(), StopReason::BodyNotReplayable);
        assert!(server.bodies() == [Some(bytes(100_000))]);
    }
}

#[tokio::test]
async fn a_hedge_beside_a_stream_sends_nothing() {
    let server = Server::start(Version::Http1, [Does::Stall]).await;
    let policy = quick()
        .hedge(Hedge::after(Duration::from_millis(50)))
        .attempt_timeout(Duration::from_secs(1));
    let client = client_builder(&policy).build().expect("a client");
    let request = client
        .put(server.url())
        .body(Body::wrap(Pieces::new(100, 10)));
    let gave_up = within(request.send()).await.expect_err("nobody answers");
    assert_eq!(gave_up.reason(), StopReason::BodyNotReplayable);
    assert_eq!(server.count(), 1);
}

/// Breaks off with an error of its own.
struct Fails;

impl http_body::Body for Fails {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(Some(Err(std::io::Error::other("the file is gone"))))
    }
}

#[tokio::test]
async fn a_body_that_fails_by_itself_is_not_sent_again() {
    for version in VERSIONS {
        let server = Server::start(*version, []).await;
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let make = move || {
            counter.fetch_add(1, Ordering::SeqCst);
            Body::wrap(Fails)
        };
        let request = client(*version, 0).put(server.url()).body_with(make);
        let gave_up = within(request.send())
            .await
            .expect_err("no body, no answer");
        assert_eq!(gave_up.reason(), StopReason::Permanent);
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}
