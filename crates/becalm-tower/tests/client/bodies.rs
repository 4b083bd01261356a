//! Does every body arrive whole, and once in each attempt?

use becalm::StopReason;
use becalm::run::Stopped;
use becalm_http_faults::{Does, Pieces, Server, Version, bytes, within};
use becalm_tower::client::RetryLayer;
use http::{Request, StatusCode};
use tower::{Layer, Service};

use crate::hyper::{hyper, retrier};

const LIMIT: usize = 64 * 1024;

/// Length, piece.
const BODIES: [(usize, usize); 8] = [
    (1, 1),
    (1000, 7),
    (LIMIT - 1, 1000),
    (LIMIT, LIMIT),
    (LIMIT, 1000),
    (LIMIT + 1, 1000),
    (1 << 20, 10_000),
    (10 << 20, 100_000),
];

async fn send(
    version: Version,
    does: Does,
    body: Pieces,
    limit: usize,
) -> (Server, StatusCode, Option<Stopped>) {
    let server = Server::start(version, [does.clone(), does]).await;
    let mut client = RetryLayer::new(&retrier())
        .replay_limit(limit)
        .layer(hyper(version, 0));
    let request = Request::put(server.url()).body(body).expect("valid");
    let answer = within(client.call(request)).await.expect("an answer");
    let stopped = answer.extensions().get::<Stopped>().cloned();
    (server, answer.status(), stopped)
}

/// Whatever the server has read to its end was all of it.
fn assert_none_is_cut_short(server: &Server, length: usize) {
    for body in server.bodies().into_iter().flatten() {
        assert!(body == bytes(length), "{} of {length}", body.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_within_the_limit_is_sent_again_whole() {
    for version in [Version::Http1, Version::Http2] {
        for (length, piece) in BODIES {
            for is_told in [true, false] {
                let mut body = Pieces::new(length, piece);
                if !is_told {
                    body = body.of_unknown_length();
                }
                let (server, status, stopped) =
                    send(version, Does::Answer(503), body, 10 << 20).await;
                assert_eq!((status, stopped.is_none()), (StatusCode::OK, true));
                assert!(server.bodies() == vec![Some(bytes(length)); 3], "{length}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_over_the_limit_is_sent_once_and_whole_and_the_give_up_says_so() {
    for version in [Version::Http1, Version::Http2] {
        for (length, piece) in BODIES.into_iter().filter(|(length, _)| *length > LIMIT) {
            for is_told in [true, false] {
                let mut body = Pieces::new(length, piece);
                if !is_told {
                    body = body.of_unknown_length();
                }
                let (server, status, stopped) = send(version, Does::Answer(503), body, LIMIT).await;
                assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
                let reason = stopped.map(|stopped| stopped.reason());
                assert_eq!(reason, Some(StopReason::BodyNotReplayable), "{length}");
                assert!(server.bodies() == [Some(bytes(length))], "{length}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_that_is_answered_early_takes_nothing_from_the_next() {
    for version in [Version::Http1, Version::Http2] {
        for (length, piece) in BODIES {
            for (limit, is_told) in [
                (LIMIT, true),
                (LIMIT, false),
                (10 << 20, true),
                (10 << 20, false),
            ] {
                let mut body = Pieces::new(length, piece);
                if !is_told {
                    body = body.of_unknown_length();
                }
                let (server, status, stopped) =
                    send(version, Does::AnswerEarly(503), body, limit).await;
                // How far the first had come when it was answered is the network's affair.
                match stopped.map(|stopped| stopped.reason()) {
                    None => assert_eq!(status, StatusCode::OK),
                    Some(reason) => {
                        assert!(length > limit);
                        assert_eq!(reason, StopReason::BodyNotReplayable);
                    }
                }
                if status == StatusCode::OK {
                    assert!(server.bodies().last() == Some(&Some(bytes(length))));
                }
                assert_none_is_cut_short(&server, length);
            }
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_that_was_not_touched_is_repeated() {
    for version in [Version::Http1, Version::Http2] {
        let server = Server::start(version, []).await;
        let mut client = RetryLayer::new(&retrier()).layer(hyper(version, 2));
        let request = Request::post(server.url()).body(Pieces::new(1 << 20, 10_000));
        let answer = within(client.call(request.expect("valid")))
            .await
            .expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        assert!(server.bodies() == [Some(bytes(1 << 20))]);
    }
}
