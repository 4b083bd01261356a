//! What is repeated of a request, and what may it, or its client, set for itself?

use std::time::Duration;

use becalm::{Breaker, Budget, Hedge, Keyed, Operation, Policy, StopReason};
use becalm_http_faults::{Does, Server, Version, bytes, quick, retrier, within};
use becalm_reqwest::{BuildError, Client, ClientBuilder, RequestBuilder};
use reqwest::Method;

use crate::clients::{builder, client, client_builder};

async fn count(method: Method, set: impl FnOnce(RequestBuilder) -> RequestBuilder) -> usize {
    let server = Server::start(Version::Http1, [Does::Answer(503), Does::Answer(500)]).await;
    let request = client(Version::Http1, 0).request(method, server.url());
    within(set(request).send()).await.expect("an answer");
    server.count()
}

#[tokio::test]
async fn a_request_says_how_it_is_repeated() {
    assert_eq!(count(Method::PUT, |it| it).await, 3);
    assert_eq!(count(Method::PUT, |it| it.attempts(2)).await, 2);
    assert_eq!(count(Method::POST, |it| it).await, 1);
    assert_eq!(count(Method::POST, RequestBuilder::keyed).await, 3);
    assert_eq!(
        count(Method::POST, |it| it.operation(Operation::Idempotent)).await,
        3
    );
    assert_eq!(
        count(Method::PUT, |it| it.operation(Operation::NotIdempotent)).await,
        1
    );
    assert_eq!(
        count(Method::POST, |it| it.header("idempotency-key", "\"17\"")).await,
        3
    );
}

#[tokio::test]
async fn a_request_that_is_built_already_is_repeated_by_its_method() {
    for (method, expected) in [(Method::PUT, 2), (Method::POST, 1)] {
        let server = Server::start(Version::Http1, [Does::Answer(503)]).await;
        let request = reqwest::Request::new(method, server.url().parse().expect("a URL"));
        let sent = client(Version::Http1, 0);
        within(sent.execute(request)).await.expect("an answer");
        assert_eq!(server.count(), expected);
    }
}

#[tokio::test]
async fn a_deadline_of_the_request_goes_before_that_of_the_policy() {
    let server = Server::start(Version::Http1, [Does::Stall]).await;
    let request = client(Version::Http1, 0).get(server.url());
    let sent = request.deadline(Duration::from_millis(200)).send();
    let gave_up = within(sent).await.expect_err("nobody answers");
    assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded);
}

#[tokio::test]
async fn every_attempt_is_the_same_request_with_the_same_key() {
    let server = Server::start(Version::Http1, [Does::Answer(503), Does::Answer(503)]).await;
    let request = client(Version::Http1, 0).patch(server.url());
    let request = request.header("x-tenant", "7").keyed().body("a lamp");
    within(request.send()).await.expect("an answer");
    let seen = server.seen();
    let key = seen[0].header("idempotency-key").expect("a key");
    assert_eq!(key.len(), 38, "a UUID between quotes");
    assert_eq!(seen.len(), 3);
    for seen in &seen {
        assert_eq!(
            (&seen.head.method, seen.head.uri.path()),
            (&Method::PATCH, "/orders")
        );
        assert_eq!(
            (seen.header("idempotency-key"), seen.header("x-tenant")),
            (Some(key), Some("7"))
        );
        assert_eq!(seen.body.as_deref(), Some(&b"a lamp"[..]));
    }
}

#[tokio::test]
async fn every_attempt_has_the_version_and_the_time_out_of_the_request() {
    for body in [None, Some("a lamp")] {
        let server = Server::start(Version::Http1, [Does::Answer(503), Does::Stall]).await;
        let request = client(Version::Http1, 0).put(server.url()).attempts(2);
        let request = request.timeout(Duration::from_millis(300));
        let request = request.with(|it| it.version(http::Version::HTTP_10));
        let request = match body {
            Some(body) => request.body(body),
            None => request,
        };
        let gave_up = within(request.send()).await.expect_err("no last answer");
        assert!(gave_up.error().is_some_and(reqwest::Error::is_timeout));
        let versions: Vec<_> = server.seen().iter().map(|seen| seen.head.version).collect();
        assert_eq!(versions, [http::Version::HTTP_10; 2]);
    }
}

#[tokio::test]
async fn a_key_of_the_callers_own_is_kept() {
    let server = Server::start(Version::Http1, [Does::Answer(503)]).await;
    let request = client(Version::Http1, 0).post(server.url());
    let request = request.header("idempotency-key", "\"17\"").keyed();
    within(request.send()).await.expect("an answer");
    let seen = server.seen();
    let keys: Vec<_> = seen
        .iter()
        .map(|seen| seen.header("idempotency-key"))
        .collect();
    assert_eq!(keys, [Some("\"17\""); 2]);
}

#[tokio::test]
async fn only_what_may_be_repeated_is_hedged() {
    for (method, expected) in [(Method::PUT, 2), (Method::POST, 1)] {
        let server = Server::start(Version::Http1, [Does::Stall]).await;
        let policy = quick().hedge(Hedge::after(Duration::from_millis(50)));
        let client = client_builder(&policy).build().expect("a client");
        let request = client
            .request(method, server.url())
            .deadline(Duration::from_secs(2));
        let ended = within(request.send()).await;
        assert_eq!((ended.is_ok(), server.count()), (expected == 2, expected));
    }
}

#[tokio::test]
async fn a_refusal_of_one_copy_fails_no_request_that_the_other_makes_succeed() {
    let after = |status, millis| Does::AnswerAfter(status, Duration::from_millis(millis));
    let forbids = || Does::AnswerWith(503, "x-should-retry", "false".into());
    for (first, copy, expected) in [
        (after(200, 600), Does::Answer(404), 200),
        (after(200, 600), forbids(), 200),
        (after(404, 300), after(200, 600), 200),
        (after(200, 600), Does::CloseAfterRequest, 200),
        // What is said against a retry is the answer, with its body, though it was not the last.
        (after(404, 300), after(503, 600), 404),
        (after(503, 600), Does::Answer(404), 404),
        (Does::Stall, Does::Answer(404), 404),
        (after(404, 300), Does::CloseAfterRequest, 404),
    ] {
        let case = format!("{first:?}, {copy:?}");
        let server = Server::start(Version::Http1, [first, copy]).await;
        let policy = quick()
            .attempts(2)
            .hedge(Hedge::after(Duration::from_millis(50)));
        let policy = policy.attempt_timeout(Duration::from_secs(3));
        let client = client_builder(&policy).build().expect("a client");
        let answer = within(client.get(server.url()).send()).await;
        let answer = answer.unwrap_or_else(|gave_up| panic!("{case}: {gave_up}"));
        assert_eq!(
            (answer.status().as_u16(), server.count()),
            (expected, 2),
            "{case}"
        );
        assert_eq!(answer.bytes().await.expect("a body"), bytes(2), "{case}");
    }
}

#[tokio::test]
async fn clones_share_one_budget() {
    let server = Server::start(Version::Http1, [0; 20].map(|_| Does::Answer(503))).await;
    let policy = quick().budget(Budget::ratio(0.1).burst(3.0));
    let client = client_builder(&policy).build().expect("a client");
    for client in [client.clone(), client.clone(), client] {
        within(client.get(server.url()).send())
            .await
            .expect("an answer");
    }
    assert_eq!(server.count(), 3 + 3);
}

#[tokio::test]
async fn each_host_has_a_breaker_of_its_own() {
    let policy = Policy::default()
        .attempts(1)
        .breaker(Breaker::consecutive(1));
    let hosts = Keyed::new(10, move |_: Option<&String>| retrier(&policy));
    let client = ClientBuilder::per_host(builder(Version::Http1, 0), hosts).build();
    let client = client.expect("a client");
    let server = Server::start(Version::Http1, [Does::Answer(503)]).await;
    let other = Server::start(Version::Http1, []).await;
    within(client.get(server.url()).send())
        .await
        .expect("an answer");
    let refused = within(client.get(server.url().replace("shop", "SHOP")).send()).await;
    assert_eq!(
        refused.expect_err("its breaker is open").reason(),
        StopReason::BreakerOpen
    );
    for url in [server.url().replace("shop", "stock"), other.url()] {
        assert_eq!(
            within(client.get(url).send())
                .await
                .expect("an answer")
                .status(),
            200
        );
    }
}

#[test]
fn what_would_be_lost_or_means_nothing_is_refused() {
    let none = reqwest::redirect::Policy::none();
    let own = reqwest::Client::builder().redirect(none);
    let refused = Client::new(own, &retrier(&quick())).expect_err("it would be lost");
    assert!(matches!(refused, BuildError::RedirectPolicy), "{refused}");
    let built = client_builder(&quick())
        .scope_to(["http://a.test", "http://a.test/path"])
        .build();
    let sentence = built.expect_err("no origin").to_string();
    assert!(
        sentence.starts_with("`http://a.test/path` is no origin: "),
        "{sentence}"
    );
}

#[cfg(all(feature = "json", feature = "query", feature = "form"))]
#[tokio::test]
async fn reqwests_own_setters_set_what_they_set_there() {
    let server = Server::start(Version::Http1, []).await;
    let client = client(Version::Http1, 0);
    let order = serde_json::json!({ "lamp": 1 });
    let json = client
        .put(server.url())
        .query(&[("page", "2")])
        .json(&order)
        .bearer_auth("token");
    within(json.send()).await.expect("an answer");
    let form = client
        .put(server.url())
        .form(&[("lamp", "1")])
        .basic_auth("me", Some("secret"));
    within(form.send()).await.expect("an answer");
    let seen = server.seen();
    assert_eq!(seen[0].head.uri.query(), Some("page=2"));
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
    assert_eq!(seen[0].header("authorization"), Some("Bearer token"));
    assert_eq!(seen[0].body.as_deref(), Some(&b"{\"lamp\":1}"[..]));
    assert_eq!(seen[1].body.as_deref(), Some(&b"lamp=1"[..]));
    assert!(
        seen[1]
            .header("authorization")
            .is_some_and(|it| it.starts_with("Basic "))
    );
}
