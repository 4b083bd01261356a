//! What does the caller get at the end, and what is held until then?

use std::io::ErrorKind;
use std::time::Duration;

use becalm::policy::Mode;
use becalm::run::{Last, Stopped};
use becalm::{Breaker, Jitter, Policy, StopReason};
use becalm_http_faults::{Pieces, bytes, quick};
use becalm_tower::client::{Failed, RetryLayer, RetryOptions};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use tokio::time::Instant;
use tower::{Layer, Service};

use crate::hyper::retrier;
use crate::made_up::{Does, MadeUp, answers, request, with};

#[tokio::test(start_paused = true)]
async fn the_last_answer_comes_back_as_it_came_with_a_record_of_the_call() {
    for (status, reason, attempts) in [
        (503, StopReason::AttemptsExhausted, 4),
        (404, StopReason::Permanent, 1),
    ] {
        let service = MadeUp::new([0; 4].map(|_| with(status, &[("x-request", "17")])));
        let mut client = RetryLayer::new(&retrier()).layer(service.clone());
        let answer = client.call(request("GET", "")).await.expect("an answer");
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["x-request"]),
            (status, &"17".parse().expect("valid"))
        );
        let stopped = answer.extensions().get::<Stopped>().expect("a record");
        assert_eq!((stopped.reason(), stopped.attempts()), (reason, attempts));
        assert_eq!(service.count(), attempts as usize);
        let body = answer.into_body().collect().await.expect("a body");
        assert_eq!(body.to_bytes(), bytes(5));
    }
}

#[tokio::test(start_paused = true)]
async fn where_the_policy_only_observes_the_first_answer_comes_back_and_an_attempt_is_not_cut() {
    let policy = quick().attempt_timeout(Duration::from_secs(1));
    let retrier = policy
        .mode(Mode::Observe)
        .retrier()
        .expect("a valid policy");
    let script = [with(503, &[("x-request", "17")]), Does::Stalls];
    let service = MadeUp::new(script);
    let mut client = RetryLayer::new(&retrier).layer(service.clone());
    let answer = client.call(request("GET", "")).await.expect("an answer");
    assert_eq!((answer.status().as_u16(), service.count()), (503, 1));
    assert_eq!(answer.headers()["x-request"], "17");
    assert_eq!(retrier.observed().retries, 1);
    let stalls = client.call(request("GET", ""));
    let cut = tokio::time::timeout(Duration::from_secs(5), stalls).await;
    assert!(cut.is_err(), "by the caller alone");
    assert_eq!((service.count(), retrier.observed().cuts), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_is_an_error_where_the_layer_says_so() {
    let layer = RetryLayer::new(&retrier()).answers_are_errors();
    let mut client = layer.layer(MadeUp::new([answers(404)]));
    let gave_up = client
        .call(request("GET", ""))
        .await
        .err()
        .expect("an error");
    let sentence = "gave up after 1 attempt because the failure is permanent: the server answered 404 Not Found";
    assert_eq!(gave_up.to_string().replace(" in 0ns", ""), sentence);
    let Some(Failed::Answer(head)) = gave_up.error() else {
        panic!("{gave_up:?}")
    };
    assert_eq!(head.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_stalls_is_cut_and_what_never_answered_is_an_error() {
    let script = [answers(503), Does::Stalls, Does::Stalls, Does::Stalls];
    let policy = quick().attempt_timeout(Duration::from_secs(1));
    let retrier = policy.retrier().expect("a valid policy");
    let mut client = RetryLayer::new(&retrier).layer(MadeUp::new(script));
    let began = Instant::now();
    let gave_up = client
        .call(request("GET", ""))
        .await
        .err()
        .expect("an error");
    assert!(matches!(gave_up.last(), Last::AttemptTimeout));
    assert!(matches!(gave_up.error(), Some(Failed::Answer(head)) if head.status() == 503));
    assert_eq!((began.elapsed().as_secs(), gave_up.attempts()), (3, 4));
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_about_time_is_kept_or_ends_the_call() {
    let service = MadeUp::new([with(503, &[("retry-after", "7")])]);
    let mut client = RetryLayer::new(&retrier()).layer(service.clone());
    client.call(request("GET", "")).await.expect("an answer");
    assert!(service.waits()[0] >= Duration::from_secs(7));

    for (headers, reason) in [
        ([("retry-after", "3600")], StopReason::HintTooLong),
        ([("x-should-retry", "false")], StopReason::DoNotRetry),
    ] {
        let service = MadeUp::new([with(503, &headers)]);
        let mut client = RetryLayer::new(&retrier()).layer(service.clone());
        let answer = client.call(request("GET", "")).await.expect("an answer");
        let stopped = answer.extensions().get::<Stopped>().expect("a record");
        assert_eq!((stopped.reason(), service.count()), (reason, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_grpc_status_without_a_body_is_a_failure_with_its_pushback() {
    let kind = ("content-type", "application/grpc+proto");
    let unavailable = with(
        200,
        &[
            kind,
            ("grpc-status", "14"),
            ("grpc-retry-pushback-ms", "2000"),
        ],
    );
    let service = MadeUp::new([unavailable, with(200, &[kind, ("grpc-status", "0")])]);
    let mut client = RetryLayer::new(&retrier()).layer(service.clone());
    let mut call = request("POST", "");
    let idempotent = RetryOptions::new().operation(becalm::Operation::Idempotent);
    call.extensions_mut().insert(idempotent);
    let answer = client.call(call).await.expect("an answer");
    assert_eq!(answer.headers()["grpc-status"], "0");
    assert_eq!(service.waits(), [Duration::from_secs(2)]);
}

/// An answer whose body tells when it is dropped.
fn watched(body: Pieces) -> (Does, tokio::sync::oneshot::Receiver<()>) {
    let (holds, dropped) = tokio::sync::oneshot::channel::<()>();
    let body = body.holding(holds);
    let answer = Response::builder().status(503).body(body).expect("valid");
    (Does::Answers(answer), dropped)
}

#[tokio::test(start_paused = true)]
async fn of_an_answer_that_is_not_handed_on_nothing_is_held_during_the_wait() {
    let millis = Duration::from_millis;
    let second = Policy::fixed(Duration::from_secs(1)).jitter(Jitter::None);
    for (body, held) in [
        (Pieces::new(10_000, 1000), millis(0)),
        (Pieces::new(1 << 20, 1000), millis(0)),
        (Pieces::new(1 << 20, 1000).of_unknown_length(), millis(0)),
        // Slow with the rest.
        (Pieces::new(10_000, 1000).stalling(), millis(100)),
    ] {
        let (rejects, dropped) = watched(body);
        let retrier = second.clone().retrier().expect("a valid policy");
        let mut client = RetryLayer::new(&retrier).layer(MadeUp::new([rejects]));
        let began = Instant::now();
        let call = tokio::spawn(client.call(request("GET", "")));
        let _ = dropped.await;
        assert_eq!(began.elapsed().as_millis(), held.as_millis());
        assert!(!call.is_finished());
        call.await.expect("no panic").expect("an answer");
        assert_eq!(began.elapsed().as_millis(), 1000);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_before_a_wait_that_ends_in_a_refusal_leaves_its_head() {
    let fails = Does::Fails(ErrorKind::ConnectionReset);
    let policy = Policy::fixed(Duration::from_secs(1)).jitter(Jitter::None);
    let policy = policy.breaker(Breaker::consecutive(2));
    let layer = RetryLayer::new(&policy.retrier().expect("a valid policy"));
    let mut client = layer.layer(MadeUp::new([answers(503), fails]));
    let waits = tokio::spawn(client.call(request("GET", "")));
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Opens the breaker.
    let other = client
        .call(request("GET", ""))
        .await
        .err()
        .expect("an error");
    assert_eq!(other.reason(), StopReason::BreakerOpen);
    let gave_up = waits.await.expect("no panic").err().expect("an error");
    assert_eq!(gave_up.reason(), StopReason::BreakerOpen);
    assert!(matches!(gave_up.error(), Some(Failed::Answer(head)) if head.status() == 503));
}
