//! What is kept of an answer, and which answers are?

use crate::servers::{Server, layer, payment};
use crate::within;

#[tokio::test]
async fn the_first_answer_comes_again_but_for_what_belongs_to_its_connection() {
    let server = Server::start().await;
    let first = within(server.ask(payment("1", "connect"))).await;
    let again = within(server.ask(payment("1", "connect"))).await;
    let (first, again) = (first.expect("an answer"), again.expect("an answer"));
    assert_eq!(
        (first.status(), first.body()),
        (again.status(), again.body())
    );
    assert_eq!(
        (&first.headers()["run"], &again.headers()["run"]),
        (&"1".parse().unwrap(), &"1".parse().unwrap())
    );
    assert!(!first.headers().contains_key("idempotency-replayed"));
    assert_eq!(again.headers()["idempotency-replayed"], "true");
    assert!(first.headers().contains_key("secret") && !again.headers().contains_key("secret"));
    assert_eq!(first.headers()["date"], "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_ne!(again.headers()["date"], first.headers()["date"]);
}

#[tokio::test]
async fn what_asks_to_be_sent_again_is_done_again_and_all_else_is_kept() {
    let server = Server::start().await;
    for status in ["401", "408", "425", "429", "500", "501", "503", "507"] {
        let before = server.handler.runs();
        assert_eq!(
            server.status(payment(status, status)).await.to_string(),
            status
        );
        assert_eq!(server.status(payment(status, "201")).await, 201, "{status}");
        assert_eq!(server.handler.runs(), before + 2);
    }
    for status in [
        "200", "204", "303", "400", "403", "404", "409", "410", "422",
    ] {
        let before = server.handler.runs();
        for _ in 0..2 {
            assert_eq!(
                server.status(payment(status, status)).await.to_string(),
                status
            );
        }
        assert_eq!(server.handler.runs(), before + 1, "{status}");
    }
}

#[tokio::test]
async fn what_breaks_is_done_again() {
    let server = Server::start().await;
    assert_eq!(server.status(payment("panic", "panic")).await, 500);
    for does in ["fail", "break"] {
        let broken = within(server.ask(payment(does, does))).await;
        assert!(broken.is_err(), "{does}");
    }
    for does in ["panic", "fail", "break"] {
        // What a panic leaves is cleared away by a task.
        let mut status = 409;
        while status == 409 {
            status = server.status(payment(does, "201")).await;
        }
        assert_eq!(status, 201);
    }
    assert_eq!(server.handler.runs(), 6);
}

#[tokio::test]
async fn an_answer_that_is_too_long_to_be_kept_comes_whole_and_is_not_done_again() {
    for limit in [19_999, 10, 20_000] {
        let server = Server::with(layer().answer_limit(limit)).await;
        let first = within(server.ask(payment("1", "long"))).await;
        assert_eq!(first.expect("an answer").body(), &vec![7; 20_000]);
        let again = within(server.ask(payment("1", "long"))).await;
        let again = again.expect("an answer");
        if limit < 20_000 {
            assert_eq!(again.status(), 409);
            assert_eq!(again.headers()["becalm-retry"], "do-not-retry");
            assert!(!again.headers().contains_key("retry-after"));
        } else {
            assert_eq!((again.status().as_u16(), again.body().len()), (200, 20_000));
        }
        assert_eq!(server.handler.runs(), 1);
    }
}
