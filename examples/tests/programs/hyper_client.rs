//! Does hyper's client hold with a server that rejects, stalls and hangs up?

use std::time::Duration;

use becalm::run::Stopped;
use becalm::{Policy, StopReason};
use becalm_examples::hyper_client::{Shop, get, post, shop};
use http_body_util::BodyExt;
use tower_service::Service;

use crate::reqwest_client::{Does, Server};
use crate::servers::free_port;
use crate::within;

fn client() -> Shop {
    let policy = Policy::exponential(Duration::from_millis(10))
        .attempt_timeout(Duration::from_secs(1))
        .deadline(Duration::from_secs(30));
    shop(policy).expect("a valid policy")
}

#[tokio::test]
async fn a_get_outlasts_a_rejection_a_stall_and_a_hang_up() {
    let script = [
        Does::Reject,
        Does::Stall,
        Does::HangUp,
        Does::Answer(200, "17"),
    ];
    let server = Server::start(script).await;
    let request = get(&server.address).expect("valid");
    let answer = within(client().call(request)).await.expect("an answer");
    let body = answer.into_body().collect().await.expect("a body");
    assert_eq!(body.to_bytes(), "17");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn a_keyed_post_is_one_request_to_the_server() {
    // The second is told that the first, which had stalled, is still at work.
    let script = [
        Does::Stall,
        Does::Answer(409, "at work"),
        Does::Answer(201, "made"),
    ];
    let server = Server::start(script).await;
    let request = post(&server.address, "a lamp".into()).expect("valid");
    let answer = within(client().call(request)).await.expect("an answer");
    assert_eq!(answer.status(), 201);
    let seen = server.seen();
    let (_, key, _) = &seen[0];
    assert!(key.as_ref().is_some_and(|key| key.len() == 38), "{key:?}");
    assert_eq!(
        seen,
        vec![("POST".to_owned(), key.clone(), "a lamp".to_owned()); 3]
    );
}

#[tokio::test]
async fn the_last_response_is_given_back_as_it_came() {
    let server = Server::start([Does::Answer(404, "no such order")]).await;
    let request = get(&server.address).expect("valid");
    let answer = within(client().call(request)).await.expect("an answer");
    let reason = answer.extensions().get().map(Stopped::reason);
    assert_eq!(reason, Some(StopReason::Permanent));
    let body = answer.into_body().collect().await.expect("a body");
    assert_eq!(body.to_bytes(), "no such order");
}

#[tokio::test]
async fn what_never_connected_is_an_error_and_was_not_sent() {
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let request = post(&nobody, "a lamp".into()).expect("valid");
    let gave_up = within(client().call(request))
        .await
        .expect_err("nobody listens");
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    let mut records = gave_up.records();
    assert!(records.all(|record| record.effect == becalm::Effect::Unsent));
}
