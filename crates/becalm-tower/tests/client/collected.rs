//! What happens to an answer that breaks off, or does not come to its end?

use std::error::Error;
use std::time::Duration;

use becalm_http_faults::{Does, Pieces, Server, Version, bytes, quick, within};
use becalm_tower::client::{BrokenOff, Collect, CollectLayer, Failed, Retry, RetryLayer};
use http::{Request, Response};
use http_body_util::{BodyExt, Collected, Empty};
use hyper::body::{Body, Bytes};
use tower::{Layer, Service};

use crate::hyper::{Hyper, hyper, retrier};
use crate::made_up::{self, MadeUp};

fn over_hyper(version: Version) -> Retry<Collect<Hyper<Empty<Bytes>>>> {
    let collects = CollectLayer::new(64).layer(hyper(version, 0));
    RetryLayer::new(&retrier()).layer(collects)
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_repeated_where_that_is_safe() {
    for version in [Version::Http1, Version::Http2] {
        for (at, is_length_told) in [(0, true), (1, true), (63, true), (0, false), (64, false)] {
            for (method, key, expected) in [
                ("GET", None, 2),
                ("PUT", None, 2),
                ("POST", Some("\"17\""), 2),
                ("POST", None, 1),
            ] {
                let breaks = Does::BreakAt { at, is_length_told };
                let server = Server::start(version, [breaks]).await;
                let mut request = Request::builder().method(method).uri(server.url());
                if let Some(key) = key {
                    request = request.header("idempotency-key", key);
                }
                let request = request.body(Empty::new()).expect("valid");
                let ended = within(over_hyper(version).call(request)).await;
                let case = format!("{method}, {key:?}, {at}, {is_length_told}, {version:?}");
                assert_eq!(server.count(), expected, "{case}");
                match ended {
                    Ok(answer) => {
                        let body = answer.into_body().collect().await.expect("all of it");
                        assert_eq!(body.to_bytes(), bytes(2));
                    }
                    Err(gave_up) => {
                        let Some(Failed::Transport(error)) = gave_up.error() else {
                            panic!("{case}: {gave_up}");
                        };
                        let says_so = error.get_ref().is::<BrokenOff>();
                        assert!(says_so && error.source().is_some(), "{case}: {gave_up}");
                        assert_eq!(expected, 1, "{case}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn the_time_out_of_an_attempt_holds_up_to_the_end_of_the_body() {
    let server = Server::start(Version::Http1, [Does::CloseInResponse]).await;
    let policy = quick().attempt_timeout(Duration::from_millis(500));
    let collects = CollectLayer::new(64).layer(hyper(Version::Http1, 0));
    let retrier = policy.retrier().expect("a valid policy");
    let mut client = RetryLayer::new(&retrier).layer(collects);
    let request = Request::get(server.url()).body(Empty::<Bytes>::new());
    let answer = within(client.call(request.expect("valid"))).await;
    let body = answer.expect("an answer").into_body().collect().await;
    assert_eq!(body.expect("all of it").to_bytes(), bytes(2));
    assert!(server.count() > 1);
}

/// What the caller of a GET has that is answered with this body, of which 100 bytes are collected.
async fn answered(status: u16, body: Pieces) -> (Option<Bytes>, usize) {
    let answer = Response::builder().status(status).body(body);
    let service = MadeUp::new([made_up::Does::Answers(answer.expect("valid"))]);
    let collects = CollectLayer::new(100).layer(service.clone());
    let mut client = RetryLayer::new(&retrier()).layer(collects);
    let answer = client.call(made_up::request("GET", "")).await;
    let body = answer.expect("an answer").into_body();
    let (hint, is_end) = (body.size_hint(), body.is_end_stream());
    let body = body.collect().await.ok().map(Collected::to_bytes);
    if let Some(body) = &body {
        assert!(hint.exact().is_none_or(|exact| exact == body.len() as u64));
        assert_eq!(is_end, body.is_empty());
    }
    (body, service.count())
}

#[tokio::test(start_paused = true)]
async fn past_the_limit_a_body_is_handed_on_as_it_comes_and_none_is_cut_short() {
    for length in [0, 1, 100, 101, 1000] {
        for piece in [1, 70, 1000] {
            let body = || Pieces::new(length, piece);
            for body in [body(), body().of_unknown_length()] {
                assert_eq!(answered(200, body).await, (Some(bytes(length)), 1));
            }
        }
    }
    // What breaks off then is its reader's.
    let breaks = || Pieces::new(1000, 70).breaking_at(500);
    for body in [breaks(), breaks().of_unknown_length()] {
        assert_eq!(answered(200, body).await, (None, 1));
    }
    let early = Pieces::new(1000, 70).of_unknown_length().breaking_at(99);
    assert_eq!(answered(200, early).await, (Some(bytes(5)), 2));
}

#[tokio::test(start_paused = true)]
async fn of_an_answer_that_is_no_success_nothing_is_collected() {
    let breaks = Pieces::new(64, 10).breaking_at(30);
    assert_eq!(answered(404, breaks).await, (None, 1));
}

#[tokio::test]
async fn a_judge_sees_the_body_that_was_collected() {
    for (limit, sent) in [(64, 4), (1, 1)] {
        let server = Server::start(Version::Http1, []).await;
        let collects = CollectLayer::new(limit)
            .judge(|answer| {
                answer.body.map(|body| {
                    assert_eq!(body, bytes(2));
                    becalm::Failure::transient().into()
                })
            })
            .layer(hyper(Version::Http1, 0));
        let mut client = RetryLayer::new(&retrier()).layer(collects);
        let request = Request::get(server.url()).body(Empty::<Bytes>::new());
        let answer = within(client.call(request.expect("valid"))).await;
        let answer = answer.expect("an answer");
        assert_eq!((answer.status().as_u16(), server.count()), (200, sent));
        let body = answer.into_body().collect().await.expect("a body");
        assert_eq!(body.to_bytes(), bytes(2));
    }
}
