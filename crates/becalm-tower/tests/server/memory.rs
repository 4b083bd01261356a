//! Does a store in memory keep its bounds, and what it has, as long as it said?

use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm_tower::server::{IdempotencyLayer, MemoryStore};

use crate::servers::{Server, payment};
use crate::within;

#[tokio::test]
async fn an_answer_is_kept_from_when_it_was_given_until_it_expires() {
    let clock = FakeSleeper::new();
    let store = MemoryStore::new().clock(clock.clone());
    let store = store.expiry(Duration::from_secs(60));
    let server = Server::with(IdempotencyLayer::new(store.clone())).await;
    let slow = async {
        server.handler.one_waits().await;
        clock.advance(Duration::from_secs(1000)); // what runs does not expire
        assert_eq!(server.status(payment("1", "wait")).await, 409);
        server.handler.open_gate();
    };
    within(async { tokio::join!(server.status(payment("1", "wait")), slow) }).await;
    clock.advance(Duration::from_nanos(59_999_999_999));
    assert_eq!(server.status(payment("1", "wait")).await, 200);
    assert_eq!(server.handler.runs(), 1);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(server.status(payment("1", "201")).await, 201);
    assert_eq!(server.handler.runs(), 2);
    assert_eq!(store.forgotten_early(), 0);
}

/// Which of these are still known.
async fn known(server: &Server, keys: &[&str]) -> Vec<bool> {
    let mut known = Vec::new();
    for key in keys {
        let before = server.handler.runs();
        // What is not known is not kept, either.
        server.status(payment(key, "503")).await;
        known.push(server.handler.runs() == before);
    }
    known
}

#[tokio::test]
async fn the_oldest_answers_make_room_and_work_that_runs_does_not() {
    let store = MemoryStore::new().entries(3);
    let server = Server::with(IdempotencyLayer::new(store.clone())).await;
    let fill = async {
        server.handler.one_waits().await;
        for key in ["a", "b", "c"] {
            assert_eq!(server.status(payment(key, "201")).await, 201);
        }
        assert_eq!(store.forgotten_early(), 1);
        assert_eq!(server.status(payment("runs", "wait")).await, 409);
        assert_eq!(known(&server, &["c", "b"]).await, [true, true]);
        assert_eq!(known(&server, &["a"]).await, [false]);
        server.handler.open_gate();
    };
    within(async { tokio::join!(server.status(payment("runs", "wait")), fill) }).await;
}

#[tokio::test]
async fn answers_take_no_more_bytes_than_they_may() {
    let store = MemoryStore::new().bytes(50_000);
    let server = Server::with(IdempotencyLayer::new(store.clone())).await;
    for key in ["a", "b", "c"] {
        assert_eq!(server.status(payment(key, "long")).await, 200);
    }
    assert_eq!(store.forgotten_early(), 1);
    // The oldest has lost its body, and is not done again.
    assert_eq!(server.status(payment("a", "long")).await, 409);
    assert_eq!(server.status(payment("b", "long")).await, 200);
    assert_eq!(server.handler.runs(), 3);

    // One that fits in no case is known without its body.
    let store = MemoryStore::new().bytes(10_000);
    let server = Server::with(IdempotencyLayer::new(store)).await;
    assert_eq!(server.status(payment("a", "long")).await, 200);
    assert_eq!(server.status(payment("a", "long")).await, 409);
}
