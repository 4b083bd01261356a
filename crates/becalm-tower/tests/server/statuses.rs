//! Which requests are refused, and how?

use std::time::Duration;

use becalm_tower::server::MemoryStore;
use http::{HeaderValue, Method, Request};
use http_body_util::Full;
use hyper::body::Bytes;

use crate::servers::{Server, Unannounced, layer, payment};
use crate::within;

fn keyed_by(lines: &[&str]) -> Request<Full<Bytes>> {
    let mut request = payment("1", "201");
    request.headers_mut().remove("idempotency-key");
    for line in lines {
        let line = HeaderValue::from_bytes(line.as_bytes()).expect("valid");
        request.headers_mut().append("idempotency-key", line);
    }
    request
}

#[tokio::test]
async fn a_missing_key_is_refused_where_it_is_required() {
    let server = Server::with(layer().required([Method::POST])).await;
    let answer = within(server.ask(keyed_by(&[]))).await.expect("an answer");
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let text = r#"{"title":"This request needs an Idempotency-Key","status":400}"#;
    assert_eq!(answer.body(), text);

    for method in [Method::GET, Method::PATCH] {
        let mut other = keyed_by(&[]);
        *other.method_mut() = method;
        assert_eq!(server.status(other).await, 201);
    }
    assert_eq!(server.handler.runs(), 2);
}

#[tokio::test]
async fn a_malformed_key_is_refused() {
    let server = Server::start().await;
    let too_long = format!("\"{}\"", "a".repeat(256));
    let longest = format!("\"{}\"", "a".repeat(255));
    for lines in [
        &["1"][..],
        &[""],
        &["\"\""],
        &["\"1"],
        &["\"1\"", "\"1\""],
        &["\"1\", \"2\""],
        &["\"ä\""],
        &[&too_long],
    ] {
        assert_eq!(server.status(keyed_by(lines)).await, 400, "{lines:?}");
    }
    assert_eq!(server.handler.runs(), 0);
    for line in [&longest, "\"1\"", " \"2\";p=1"] {
        assert_eq!(server.status(keyed_by(&[line])).await, 201, "{line}");
    }
}

#[tokio::test]
async fn a_key_without_quotes_is_taken_on_request_and_is_the_one_between_quotes() {
    let server = Server::with(layer().bare_keys()).await;
    for line in ["8e03978e-40d5", "\"8e03978e-40d5\""] {
        assert_eq!(server.status(keyed_by(&[line])).await, 201);
    }
    assert_eq!(server.handler.runs(), 1);
    for lines in [
        &["a b"][..],
        &["a,b"],
        &["\"a"],
        &["a;b"],
        &["a", "b"],
        &[""],
    ] {
        assert_eq!(server.status(keyed_by(lines)).await, 400, "{lines:?}");
    }
}

#[tokio::test]
async fn a_key_of_nobody_is_refused() {
    let server = Server::start().await;
    let mut of_nobody = payment("1", "201");
    of_nobody.headers_mut().remove("authorization");
    assert_eq!(server.status(of_nobody).await, 400);
    let mut of_two = payment("1", "201");
    let second = HeaderValue::from_static("Bearer bob");
    of_two.headers_mut().append("authorization", second);
    assert_eq!(server.status(of_two).await, 400);

    let of_header = layer().caller(|head| Some(head.headers.get("user")?.as_bytes().to_vec()));
    let server = Server::with(of_header).await;
    assert_eq!(server.status(payment("1", "201")).await, 400);
    // Who it is stays the same when its token is renewed.
    for (user, token) in [("alice", "1"), ("bob", "1"), ("alice", "2")] {
        let mut request = payment("1", "201");
        for (name, value) in [("user", user), ("authorization", token)] {
            let value = HeaderValue::from_static(value);
            request.headers_mut().insert(name, value);
        }
        assert_eq!(server.status(request).await, 201);
    }
    assert_eq!(server.handler.runs(), 2);
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_announced_or_not() {
    let server = Server::with(layer().body_limit(6)).await;
    let of_length = |length| payment("1", "201").map(|_| Full::from(vec![0; length]));
    assert_eq!(server.status(of_length(7)).await, 413);
    let unannounced = of_length(7).map(Unannounced);
    let answer = within(server.ask(unannounced)).await.expect("an answer");
    assert_eq!(answer.status(), 413);
    assert_eq!(server.handler.runs(), 0);
    let unannounced = of_length(6).map(Unannounced);
    let answer = within(server.ask(unannounced)).await.expect("an answer");
    assert_eq!(
        (answer.status().as_u16(), &answer.body()[..]),
        (201, &b"run 1: 6"[..])
    );
    // Without a key it streams as it likes.
    let mut without = of_length(100);
    without.headers_mut().remove("idempotency-key");
    assert_eq!(server.status(without).await, 201);
}

#[tokio::test]
async fn another_payload_is_refused_while_the_first_runs_and_after() {
    let server = Server::start().await;
    let others = || {
        let mut others = [(); 3].map(|()| payment("1", "wait"));
        *others[0].body_mut() = Full::from("18 EUR");
        *others[1].uri_mut() = "http://shop.example/payments?slow".parse().expect("valid");
        let json = HeaderValue::from_static("application/json");
        others[2].headers_mut().insert("content-type", json);
        others
    };
    let look = async {
        server.handler.one_waits().await;
        for other in others() {
            assert_eq!(server.status(other).await, 422);
        }
        let answer = server.ask(payment("1", "wait")).await.expect("an answer");
        assert_eq!(answer.status(), 409);
        assert_eq!(answer.headers()["retry-after"], "1");
        server.handler.open_gate();
    };
    let both = Box::pin(async { tokio::join!(server.status(payment("1", "wait")), look) });
    let (first, ()) = within(both).await;
    assert_eq!(first, 200);
    for other in others() {
        assert_eq!(server.status(other).await, 422);
    }
    assert_eq!(server.handler.runs(), 1);
}

#[tokio::test]
async fn a_store_that_is_full_of_running_work_is_told_with_when_to_come_again() {
    let store = MemoryStore::new().entries(1);
    let layer = becalm_tower::server::IdempotencyLayer::new(store);
    let server = Server::with(layer.retry_after(Duration::from_millis(1001))).await;
    let look = async {
        server.handler.one_waits().await;
        let answer = server.ask(payment("2", "201")).await.expect("an answer");
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers()["retry-after"], "2");
        server.handler.open_gate();
    };
    let both = Box::pin(async { tokio::join!(server.status(payment("1", "wait")), look) });
    within(both).await;
    assert_eq!(server.status(payment("2", "201")).await, 201);
}

#[tokio::test]
async fn a_request_that_breaks_off_reaches_no_handler() {
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;
    let server = Server::start().await;
    let breaks = async {
        let io = TokioIo::new(server.connect().await);
        let (mut client, connection) = http1::handshake(io).await.expect("a connection");
        // Announces more than it has.
        let mut request = payment("1", "201").map(Unannounced);
        let length = HeaderValue::from_static("1000");
        request.headers_mut().insert("content-length", length);
        let (answer, _) = tokio::join!(client.send_request(request), connection);
        assert!(answer.is_err());
    };
    within(breaks).await;
    assert_eq!(server.status(payment("1", "201")).await, 201);
    assert_eq!(server.handler.runs(), 1);
}
