//! What is repeated of a request, and what may it set for itself?

use std::io::ErrorKind;
use std::time::Duration;

use becalm::{Attempt, Breaker, Hedge, Keyed, Operation, Policy, StopReason};
use becalm_http_faults::Pieces;
use becalm_tower::client::{RetryLayer, RetryOptions, Transport};
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use tower::{Layer, Service};

use crate::hyper::retrier;
use crate::made_up::{Does, MadeUp, answers, request};

fn stalls_then_fails() -> MadeUp {
    MadeUp::new([answers(503), Does::Fails(ErrorKind::ConnectionReset)])
}

async fn count(service: MadeUp, method: &str, options: RetryOptions) -> usize {
    let mut client = RetryLayer::new(&retrier()).layer(service.clone());
    let mut request = request(method, "a lamp");
    request.extensions_mut().insert(options);
    drop(client.call(request).await);
    service.count()
}

#[tokio::test(start_paused = true)]
async fn the_extensions_of_a_request_say_how_it_is_repeated() {
    let (options, service) = (RetryOptions::new(), stalls_then_fails);
    assert_eq!(count(service(), "PUT", options).await, 3);
    assert_eq!(count(service(), "PUT", options.attempts(2)).await, 2);
    assert_eq!(count(service(), "POST", options).await, 1);
    assert_eq!(count(service(), "POST", options.keyed()).await, 3);
    let idempotent = options.operation(Operation::Idempotent);
    assert_eq!(count(service(), "POST", idempotent).await, 3);
    let not = options.operation(Operation::NotIdempotent);
    assert_eq!(count(service(), "PUT", not).await, 1);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_the_same_request_with_its_number_in_the_extensions() {
    let service = stalls_then_fails();
    let mut client = RetryLayer::new(&retrier()).layer(service.clone());
    let mut request = request("PATCH", "a lamp");
    request
        .headers_mut()
        .insert("x-tenant", "7".parse().expect("valid"));
    request.extensions_mut().insert(RetryOptions::new().keyed());
    client.call(request).await.expect("an answer");

    let numbers = service.each(|seen| seen.head.extensions.get().map(Attempt::number));
    assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
    let keys = service.each(|seen| seen.head.headers["idempotency-key"].clone());
    assert_eq!(keys[0].len(), 38, "a UUID between quotes");
    assert!(keys.iter().all(|key| *key == keys[0]));
    let rest = service.each(|seen| {
        let head = &seen.head;
        let is_same = head.method == "PATCH" && head.uri.path() == "/orders";
        is_same && head.headers["x-tenant"] == "7" && seen.body == "a lamp"
    });
    assert_eq!(rest, [true; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_key_of_the_callers_own_is_kept_and_one_that_says_nothing_is_not() {
    for (own, length) in [("\"17\"", 4), ("\"\"", 38)] {
        let service = stalls_then_fails();
        let mut client = RetryLayer::new(&retrier()).layer(service.clone());
        let mut request = request("POST", "a lamp");
        let own = own.parse().expect("valid");
        request.headers_mut().insert("idempotency-key", own);
        request.extensions_mut().insert(RetryOptions::new().keyed());
        client.call(request).await.expect("an answer");
        let keys = service.each(|seen| seen.head.headers["idempotency-key"].clone());
        assert_eq!((keys[0].len(), keys.len()), (length, 3));
        assert!(keys.iter().all(|key| *key == keys[0]));
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_may_be_repeated_is_hedged_and_both_copies_have_the_whole_body() {
    for (method, expected) in [("PUT", 2), ("POST", 1)] {
        let service = MadeUp::new([Does::Stalls]);
        let policy = Policy::default().hedge(Hedge::after(Duration::from_millis(50)));
        let retrier = policy
            .deadline(Duration::from_secs(1))
            .retrier()
            .expect("a valid policy");
        let mut client = RetryLayer::new(&retrier).layer(service.clone());
        let ended = client.call(request(method, "a lamp")).await;
        assert_eq!(ended.is_ok(), expected == 2);
        assert_eq!(
            service.each(|seen| seen.body.clone()),
            vec!["a lamp"; expected]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_might_not_do_for_two_is_not_hedged_and_arrives_whole() {
    let service = MadeUp::new([Does::Stalls]);
    let policy = Policy::default().hedge(Hedge::after(Duration::from_millis(50)));
    let retrier = policy.attempt_timeout(Duration::from_secs(1)).retrier();
    let layer = RetryLayer::new(&retrier.expect("a valid policy"));
    let mut client = layer.layer(service.clone());
    let slow = Pieces::new(1000, 500).of_unknown_length();
    let body = slow.pausing(Duration::from_millis(100));
    let request = Request::put("http://shop.example/")
        .body(body)
        .expect("valid");
    client.call(request).await.expect("an answer");
    assert_eq!(service.each(|seen| seen.body.len()), [1000, 1000]);
    assert!(service.waits()[0] >= Duration::from_millis(900));
}

#[tokio::test(start_paused = true)]
async fn each_host_has_a_breaker_of_its_own() {
    let policy = Policy::default()
        .attempts(1)
        .breaker(Breaker::consecutive(1));
    let hosts = Keyed::new(10, move |_: Option<&String>| {
        let retrier = policy.clone().retrier().expect("a valid policy");
        retrier.classify_by(Transport)
    });
    let service = MadeUp::new([answers(503)]);
    let mut client = RetryLayer::per_host(hosts).layer(service.clone());
    let to = |uri: &str| {
        Request::get(uri)
            .body(Full::<Bytes>::default())
            .expect("valid")
    };
    client
        .call(to("http://a.example/"))
        .await
        .expect("an answer");
    let refused = client.call(to("http://user@A.example/other")).await;
    assert_eq!(
        refused.err().expect("its breaker is open").reason(),
        StopReason::BreakerOpen
    );
    client
        .call(to("http://b.example/"))
        .await
        .expect("an answer");
    client
        .call(to("http://a.example:81/"))
        .await
        .expect("an answer");
    assert_eq!(service.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_repeated_where_an_attempt_with_the_same_key_may_be_at_work() {
    let script = || MadeUp::new([answers(503), answers(409)]);
    let options = RetryOptions::new();
    assert_eq!(count(script(), "POST", options.keyed()).await, 3);
    assert_eq!(count(script(), "PUT", options).await, 2);
    assert_eq!(
        count(MadeUp::new([answers(409)]), "POST", options.keyed()).await,
        1
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_service_that_was_not_ready_never_had_is_repeated() {
    let service = MadeUp::new([]).not_ready(2);
    let mut client = RetryLayer::new(&retrier()).layer(service.clone());
    client
        .call(request("POST", "a lamp"))
        .await
        .expect("an answer");
    assert_eq!(service.each(|seen| seen.body.clone()), ["a lamp"]);
}
