//! Is a request with a key done once, whatever becomes of its connections?

use std::net::Shutdown;

use http_body_util::{BodyExt, Full};
use hyper::StatusCode;
use tokio::task::{JoinSet, yield_now};

use crate::servers::{Server, layer, payment};
use crate::within;

const CONNECTIONS: usize = 20;
const EACH: usize = 50;

/// What one of them got: status, whether it is a replay, body. `None` where its connection was cut.
type Got = Option<(StatusCode, bool, String)>;

/// Sends a thousand duplicates at once; every connection is cut as soon as `cut` comes.
async fn a_thousand(server: &Server, cut: impl Future<Output = ()>) -> Vec<Got> {
    let mut requests = JoinSet::new();
    let mut sockets = Vec::new();
    for _ in 0..CONNECTIONS {
        let (client, socket) = server.connection().await;
        sockets.push(socket);
        for _ in 0..EACH {
            let mut client = client.clone();
            requests.spawn(async move {
                let answer = client.send_request(payment("1", "wait")).await.ok()?;
                let (head, body) = answer.into_parts();
                let body = body.collect().await.ok()?.to_bytes();
                let body = String::from_utf8_lossy(&body).into_owned();
                let is_replay = head.headers.contains_key("idempotency-replayed");
                Some((head.status, is_replay, body))
            });
        }
    }
    let all = requests.join_all();
    tokio::pin!(all, cut);
    tokio::select! {
        all = &mut all => all,
        () = &mut cut => {
            for socket in sockets {
                socket.shutdown(Shutdown::Both).expect("connected");
            }
            all.await
        }
    }
}

#[tokio::test]
async fn a_thousand_duplicates_under_cut_connections_run_the_handler_once() {
    within(async {
        let server = Server::start().await;
        // The one whose request is worked on is cut off, too.
        let first = a_thousand(&server, server.handler.one_waits()).await;
        assert!(first.contains(&None));

        // While it runs, every other is told to come again.
        let second = a_thousand(&server, std::future::pending()).await;
        let conflicts = |got: &Got| matches!(got, Some((StatusCode::CONFLICT, false, _)));
        assert!(second.iter().all(conflicts));

        server.handler.open_gate();
        while server.status(payment("1", "wait")).await == 409 {
            yield_now().await;
        }
        let third = a_thousand(&server, std::future::pending()).await;
        let right: Got = Some((StatusCode::OK, true, "run 1: 6".to_owned()));
        assert_eq!(third, vec![right; CONNECTIONS * EACH]);
        assert_eq!(server.handler.runs(), 1);

        let mut of_bob = payment("1", "201");
        let bob = "Bearer bob".parse().expect("valid");
        of_bob.headers_mut().insert("authorization", bob);
        let of_bob = server.ask(of_bob).await.expect("an answer");
        assert_eq!(
            (of_bob.status(), of_bob.headers().contains_key("run")),
            (StatusCode::CONFLICT, false)
        );
        assert_eq!(server.handler.runs(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_operation_is_one_callers_one_methods_and_one_paths() {
    let by_token =
        |head: &http::request::Parts| Some(head.headers.get("authorization")?.as_bytes().to_vec());
    let server = Server::with(layer().caller(by_token)).await;
    assert_eq!(server.status(payment("1", "201")).await, 201);
    let mut others = [(); 4].map(|()| payment("1", "201"));
    *others[0].method_mut() = http::Method::PATCH;
    *others[1].uri_mut() = "http://shop.example/orders?fast".parse().expect("valid");
    let carol = "Bearer carol".parse().expect("valid");
    others[2].headers_mut().insert("authorization", carol);
    // Path and key are told apart where they meet.
    *others[3].uri_mut() = "http://shop.example/payment?fast".parse().expect("valid");
    let key = "\"s1\"".parse().expect("valid");
    others[3].headers_mut().insert("idempotency-key", key);
    for other in others {
        let answer = within(server.ask(other)).await.expect("an answer");
        assert!(!answer.headers().contains_key("idempotency-replayed"));
    }
    assert_eq!(server.handler.runs(), 5);
    assert_eq!(server.status(payment("1", "201")).await, 201);
    assert_eq!(server.handler.runs(), 5);
}

#[tokio::test]
async fn where_callers_are_not_known_no_other_sees_an_answer_or_does_it_again() {
    let server = Server::start().await;
    for does in ["201", "404"] {
        let first = within(server.ask(payment(does, does)))
            .await
            .expect("an answer");
        let again = within(server.ask(payment(does, does)))
            .await
            .expect("an answer");
        assert_eq!(
            (first.status(), first.body()),
            (again.status(), again.body())
        );
        for credentials in ["Bearer bob", "Basic YWxpY2U6", "Bearer alice2"] {
            let mut other = payment(does, does);
            let credentials = credentials.parse().expect("valid");
            other.headers_mut().insert("authorization", credentials);
            let answer = within(server.ask(other.clone())).await.expect("an answer");
            assert_eq!(answer.status(), StatusCode::CONFLICT);
            assert_eq!(answer.headers()["becalm-retry"], "do-not-retry");
            let text = String::from_utf8_lossy(answer.body());
            assert!(
                text.contains("other credentials") && text.contains("caller"),
                "{text}"
            );
            *other.body_mut() = Full::from("18 EUR");
            assert_eq!(server.status(other).await, 422);
        }
    }
    assert_eq!(server.handler.runs(), 2);
    // What was not done is free for all.
    assert_eq!(server.status(payment("3", "503")).await, 503);
    let mut renewed = payment("3", "201");
    let credentials = "Bearer alice2".parse().expect("valid");
    renewed.headers_mut().insert("authorization", credentials);
    assert_eq!(server.status(renewed).await, 201);
}

#[tokio::test]
async fn what_is_safe_or_has_no_key_is_none_of_the_layers_business() {
    let server = Server::start().await;
    for _ in 0..2 {
        let (mut safe, mut keyless) = (payment("1", "201"), payment("1", "201"));
        *safe.method_mut() = http::Method::GET;
        keyless.headers_mut().remove("idempotency-key");
        assert_eq!(server.status(safe).await, 201);
        assert_eq!(server.status(keyless).await, 201);
    }
    assert_eq!(server.handler.runs(), 4);
}
