//! What do servers hear of the attempt, and the layers above of the server?

use std::io;
use std::time::Duration;

use becalm::classify::Classifier;
use becalm::time::TokioSleeper;
use becalm::{Attempt, Failure, Jitter, Policy, StopReason};
use becalm_tower::client::{RetryLayer, ScopeLayer};
use http::HeaderValue;
use tower::{Layer, Service, ServiceBuilder};

use crate::hyper::retrier;
use crate::made_up::{MadeUp, answers, request, with};

fn scope(origin: &str) -> ScopeLayer {
    let layer = ScopeLayer::to([origin]).expect("an origin");
    layer.clock(TokioSleeper::new())
}

async fn sent(origin: &str) -> Vec<Option<HeaderValue>> {
    let service = MadeUp::new([answers(503)]);
    let policy = Policy::default()
        .jitter(Jitter::None)
        .deadline(Duration::from_secs(10));
    let retrier = policy.retrier().expect("a valid policy");
    let layers = ServiceBuilder::new()
        .layer(RetryLayer::new(&retrier))
        .layer(scope(origin));
    let mut request = request("GET", "");
    request
        .headers_mut()
        .insert("becalm-scope", HeaderValue::from_static("attempt=9"));
    layers
        .service(service.clone())
        .call(request)
        .await
        .expect("an answer");
    service.each(|seen| seen.head.headers.get("becalm-scope").cloned())
}

#[tokio::test(start_paused = true)]
async fn a_known_server_hears_of_the_attempt_and_its_time_and_no_other_does() {
    let heard = sent("http://shop.example").await;
    let heard: Vec<_> = heard
        .iter()
        .flatten()
        .map(|value| value.to_str().expect("a text"))
        .collect();
    assert_eq!(heard[0], "attempt=1, repeated, remaining=10000");
    assert_eq!(heard[1], "attempt=2, repeated, remaining=9900");

    for other in [
        "https://shop.example",
        "http://shop.example:81",
        "http://other.example",
    ] {
        assert_eq!(sent(other).await, [None, None], "{other}");
    }
}

/// Forgets what the answer said.
struct Mapped;

impl Classifier<io::Error> for Mapped {
    fn classify(&self, _: Attempt, _: &io::Error) -> Failure {
        Failure::transient()
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_known_server_tells_is_heard_where_the_error_does_not_say_it() {
    for (origin, reason, attempts) in [
        ("http://shop.example", StopReason::DoNotRetry, 1),
        ("http://other.example", StopReason::AttemptsExhausted, 4),
    ] {
        let script = [0; 4].map(|_| with(503, &[("becalm-retry", "do-not-retry")]));
        let service = MadeUp::new(script);
        let client = scope(origin).layer(service.clone());
        let gave_up = retrier()
            .retry(|_| {
                let mut client = client.clone();
                async move {
                    let answer = client.call(request("GET", "")).await?;
                    match answer.status().as_u16() {
                        200 => Ok(()),
                        _ => Err(io::Error::other("no success")),
                    }
                }
            })
            .classify_by(Mapped)
            .await
            .expect_err("it fails");
        assert_eq!((gave_up.reason(), service.count()), (reason, attempts));
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_inside_a_retry_adds_its_attempts_and_does_not_multiply_them() {
    let service = MadeUp::new([0; 20].map(|_| answers(503)));
    let layer = RetryLayer::new(&retrier()).answers_are_errors();
    let client = layer.layer(service.clone());
    let gave_up = retrier()
        .retry(|_| client.clone().call(request("GET", "")))
        .await;
    let gave_up = gave_up.err().expect("it fails");
    assert_eq!(gave_up.reason(), StopReason::AttemptsExhausted);
    // Two layers of four: 2 x 3 + 1.
    assert_eq!(service.count(), 7);
}
