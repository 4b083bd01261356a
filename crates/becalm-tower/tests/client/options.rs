//! What is repeated of a request, and what may it set for itself?

use std::io::ErrorKind;
use std::time::Duration;

use becalm::run::Last;
use becalm::{Attempt, Breaker, Hedge, Keyed, Operation, Policy, StopReason};
use becalm_http_faults::{Pieces, bytes, within};
use becalm_tower::client::{Boxed, RetryLayer, RetryOptions, Transport};
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use tokio::time::Instant;
use tower::{Layer, Service, ServiceBuilder};

use crate::hyper::retrier;
use crate::made_up::{Does, MadeUp, answers, request, with};

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
async fn a_request_without_an_attempt_in_the_extensions_is_a_first_one() {
    let service = stalls_then_fails();
    let mut client = RetryLayer::new(&retrier()).layer(service.clone());
    let answer = client.call(request("PUT", "a lamp")).await;
    answer.expect("an answer");
    let numbers = service.each(|seen| seen.head.extensions.get().map(Attempt::number));
    assert_eq!(numbers, [None, Some(2), Some(3)]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_of_a_layer_above_is_not_that_of_the_layer_below() {
    let service = stalls_then_fails();
    let mut client = RetryLayer::new(&retrier()).layer(service.clone());
    let mut request = request("PUT", "a lamp");
    let outer = retrier();
    let mut above = outer.call::<std::io::Error>();
    let attempt = above.next_blocking().expect("an attempt");
    request.extensions_mut().insert(attempt);
    client.call(request).await.expect("an answer");
    let numbers = service.each(|seen| seen.head.extensions.get().map(Attempt::number));
    assert_eq!(numbers, [None, Some(2), Some(3)]);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_is_the_same_request_with_its_number_in_the_extensions() {
    let service = stalls_then_fails();
    let layer = RetryLayer::new(&retrier()).tell_first_attempts();
    let mut client = layer.layer(service.clone());
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
async fn a_refusal_of_one_copy_fails_no_request_that_the_other_makes_succeed() {
    let after = |status, millis| Does::AnswersAfter(status, Duration::from_millis(millis));
    let forbids = || with(503, &[("x-should-retry", "false")]);
    for (first, copy, expected) in [
        (after(200, 600), answers(404), 200),
        (after(200, 600), forbids(), 200),
        (after(404, 300), after(200, 600), 200),
        // What is said against a retry is the answer, with its body, though it was not the last.
        (after(404, 300), after(503, 600), 404),
        (after(503, 600), answers(404), 404),
        (Does::Stalls, answers(404), 404),
        (
            after(404, 300),
            Does::Fails(ErrorKind::ConnectionReset),
            404,
        ),
    ] {
        let service = MadeUp::new([first, copy]);
        let policy = Policy::default().hedge(Hedge::after(Duration::from_millis(50)));
        let policy = policy.attempts(2).attempt_timeout(Duration::from_secs(1));
        let mut client = RetryLayer::new(&policy.retrier().expect("valid")).layer(service.clone());
        let answer = client.call(request("PUT", "a lamp")).await;
        let answer = answer.expect("an answer");
        assert_eq!((answer.status().as_u16(), service.count()), (expected, 2));
        let body = answer.into_body().collect().await.expect("a body");
        assert_eq!(body.to_bytes(), bytes(5));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hedge_alone_sends_a_copy_of_what_is_slow_or_repeats_what_failed() {
    for (does, expected) in [(Does::Stalls, 50), (answers(503), 100)] {
        let service = MadeUp::new([does, answers(200), answers(200)]);
        let layer = RetryLayer::hedging(Hedge::after(Duration::from_millis(50)));
        let mut client = layer.expect("a valid hedge").layer(service.clone());
        let answer = within(client.call(request("PUT", "a lamp"))).await;
        assert_eq!(answer.expect("an answer").status(), 200);
        let waited = service.waits();
        assert_eq!(waited.len(), 1);
        assert!(waited[0] <= Duration::from_millis(expected), "{waited:?}");
    }
    assert!(RetryLayer::hedging(Hedge::after(Duration::MAX)).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_breaker_alone_opens_and_repeats_nothing() {
    let service = MadeUp::new([answers(503), answers(503)]);
    let layer = RetryLayer::breaking(Breaker::consecutive(2)).expect("a valid breaker");
    let mut client = layer.layer(service.clone());
    for _ in 0..2 {
        let answer = client.call(request("GET", "")).await.expect("an answer");
        assert_eq!(answer.status(), 503);
    }
    let refused = client.call(request("GET", "")).await.err();
    let reason = refused.expect("the breaker is open").reason();
    assert_eq!((reason, service.count()), (StopReason::BreakerOpen, 2));
}

#[tokio::test(start_paused = true)]
async fn of_the_clients_time_out_and_the_attempts_the_lesser_holds() {
    let second = Duration::from_secs(1);
    for (own, of_policy) in [(second, second * 30), (second * 30, second)] {
        for (method, attempts) in [("PUT", 2), ("POST", 1)] {
            let service = MadeUp::new([Does::Stalls, Does::Stalls]);
            let policy = Policy::fixed(Duration::from_millis(1)).attempts(2);
            let policy = policy.attempt_timeout(of_policy).deadline(second * 31);
            let layer = RetryLayer::new(&policy.retrier().expect("a valid policy"));
            let mut client = ServiceBuilder::new()
                .layer(layer.tell_first_attempts())
                .map_err(Boxed::new)
                .timeout(own)
                .service(service.clone());
            let began = Instant::now();
            let gave_up = client.call(request(method, "")).await.err();
            let gave_up = gave_up.expect("nobody answers");
            assert_eq!(
                (began.elapsed().as_secs(), gave_up.attempts()),
                (attempts, u32::try_from(attempts).expect("few"))
            );
            let is_policys = matches!(gave_up.last(), Last::AttemptTimeout);
            assert_eq!(is_policys, of_policy == second);
            // What a client can set for itself is the lesser of the attempt's and of what is left.
            let told = service.each(|seen| seen.head.extensions.get().and_then(Attempt::timeout));
            assert!(
                told.iter()
                    .all(|told| told.is_some_and(|it| it <= of_policy)),
                "{told:?}"
            );
        }
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
