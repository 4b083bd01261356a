//! Do messages come in order and within bounds, and is none gone silently?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_ws::{
    Client, Event, Heartbeat, Message, Overflow, Refused, StopReason, WebSocketConfig,
};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::Notify;

use crate::server::{Peer, Server};
use crate::within;

async fn echo(mut peer: Peer) {
    while let Some(Ok(message)) = peer.next().await {
        if message.is_text() || message.is_binary() {
            let _ = peer.send(message).await;
        }
    }
}

#[tokio::test]
async fn ten_thousand_messages_of_all_lengths_come_back_in_order() {
    let server = Server::new(|_, peer| echo(peer)).await;
    let (mut sink, mut stream) = server.client().open().unwrap().split();
    let text = |number: usize| format!("{number}{}", "x".repeat(number * 37 % 9_000));
    let sends = tokio::spawn(async move {
        for number in 0..10_000 {
            sink.feed(text(number).into()).await.unwrap();
        }
        sink.flush().await.unwrap();
    });
    for number in 0..10_000 {
        let message = within(stream.next()).await.unwrap().unwrap();
        assert_eq!(message.to_text().unwrap(), text(number));
    }
    sends.await.unwrap();
}

#[tokio::test]
async fn a_sink_and_a_handle_keep_their_order_when_the_wire_is_full() {
    const MESSAGES: usize = 3_000;
    let go = Arc::new(Notify::new());
    let told = Arc::clone(&go);
    let server = Server::new(move |_, peer| {
        let told = Arc::clone(&told);
        async move {
            told.notified().await;
            echo(peer).await;
        }
    })
    .await;
    let client = server.client().outbox(usize::MAX, Overflow::Refuse);
    let mut socket = client.open().unwrap();
    let handle = socket.handle();
    let text = |number: usize| format!("{number}{}", "x".repeat(10_000));
    within(socket.flush()).await.unwrap();
    for number in (0..MESSAGES).step_by(2) {
        socket.feed(text(number).into()).await.unwrap();
        handle.try_send(text(number + 1)).unwrap();
    }
    assert!(handle.waiting_bytes() > 0, "the wire is full");
    go.notify_one();
    for number in 0..MESSAGES {
        let message = within(socket.next()).await.unwrap().unwrap();
        assert_eq!(message.to_text().unwrap(), text(number));
    }
}

#[tokio::test]
async fn a_message_that_comes_while_another_is_sent_holds_nothing_up() {
    let server = Server::new(|_, mut peer| async move {
        while let Some(Ok(message)) = peer.next().await {
            if message.is_text() {
                let _ = peer.send("news".into()).await;
            }
        }
    })
    .await;
    let quiet = Duration::from_secs(60);
    let client = server.client().heartbeat(Heartbeat::new(quiet, quiet));
    let mut socket = client.open().unwrap();
    for _ in 0..20 {
        within(socket.send("go".into())).await.unwrap();
        // It waits for a message, which wakes it; then something else is first.
        let now = std::future::poll_fn(|context| {
            let _ = socket.poll_next_unpin(context);
            std::task::Poll::Ready(())
        });
        now.await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        tokio::select! {
            biased;
            () = tokio::time::sleep(Duration::from_secs(10)) => panic!("it is held up"),
            sent = socket.send("more".into()) => sent.unwrap(),
        }
    }
}

#[tokio::test]
async fn what_is_sent_without_a_connection_goes_out_in_order_with_the_next() {
    let server = Server::new(|number, mut peer| async move {
        if number == 1 {
            let _ = peer.send("hello".into()).await;
        } else {
            echo(peer).await;
        }
    })
    .await;
    let mut feed = server.client().open().unwrap();
    let handle = feed.handle();
    assert!(within(feed.next()).await.unwrap().is_ok());
    handle.offline();
    // Polled until it has seen the end of the first connection.
    let nothing = tokio::time::timeout(std::time::Duration::from_millis(100), feed.next());
    assert!(nothing.await.is_err());
    for number in 0..100 {
        handle.send(number.to_string()).await.unwrap();
    }
    assert_eq!(handle.waiting_bytes(), 10 + 2 * 90);
    handle.online();
    for number in 0..100 {
        let message = within(feed.next()).await.unwrap().unwrap();
        assert_eq!(message.to_text().unwrap(), number.to_string());
    }
    assert_eq!(handle.waiting_bytes(), 0);
}

fn nowhere() -> Client {
    Client::new("ws://127.0.0.1:1/".parse().unwrap()).reconnect(crate::soon())
}

#[tokio::test]
async fn the_outbox_is_bounded_and_what_goes_is_told() {
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&dropped);
    let client = nowhere()
        .outbox(10, Overflow::DropOldest)
        .observer(move |event| {
            if let Event::Dropped(message) = event {
                seen.lock().unwrap().push(message.to_string());
            }
        });
    let feed = client.open().unwrap();
    let handle = feed.handle();
    for text in ["first", "second", "third"] {
        handle.try_send(text).unwrap();
    }
    let long = handle.try_send("more than ten bytes").unwrap_err();
    assert!(matches!(long, Refused::TooLong(_)), "{long}");
    drop(feed);
    // The first two have made room, and the third goes with the socket.
    assert_eq!(*dropped.lock().unwrap(), ["first", "second", "third"]);

    let feed = nowhere().outbox(10, Overflow::Refuse).open().unwrap();
    let handle = feed.handle();
    handle.try_send("ten bytes.").unwrap();
    let full = handle.send("!").await.unwrap_err();
    assert_eq!(full, Refused::Full("!".into()));
}

#[tokio::test]
async fn who_sends_too_much_waits_for_room_and_hears_of_a_close() {
    let server = Server::new(|_, peer| echo(peer)).await;
    let mut feed = server
        .client()
        .outbox(1_000, Overflow::Wait)
        .open()
        .unwrap();
    let handle = feed.handle();
    let sends = tokio::spawn(async move {
        for number in 0..1_000 {
            handle.send(format!("{number:100}")).await.unwrap();
        }
        handle
    });
    for number in 0..1_000 {
        let message = within(feed.next()).await.unwrap().unwrap();
        assert_eq!(message.to_text().unwrap().trim(), number.to_string());
    }
    let handle = sends.await.unwrap();

    handle.offline();
    drop(server);
    let waits = {
        let handle = handle.clone();
        tokio::spawn(async move {
            loop {
                handle.send("x".repeat(500)).await?;
            }
            #[expect(unreachable_code)]
            Ok::<(), Refused>(())
        })
    };
    handle.close(None);
    assert!(within(feed.next()).await.is_none());
    assert!(matches!(
        within(waits).await.unwrap(),
        Err(Refused::Closed(_))
    ));
}

#[tokio::test]
async fn a_message_that_is_too_long_is_no_loop() {
    // One of ours is told of and left out, and the connection lives.
    let server = Server::new(|_, peer| echo(peer)).await;
    let limits = WebSocketConfig::default().max_message_size(Some(100));
    let dropped = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&dropped);
    let client = server.client().limits(limits).observer(move |event| {
        if let Event::Dropped(message) = event {
            *seen.lock().unwrap() += message.len();
        }
    });
    let mut feed = client.open().unwrap();
    feed.feed("x".repeat(101).into()).await.unwrap();
    feed.send(Message::from("short")).await.unwrap();
    let message = within(feed.next()).await.unwrap().unwrap();
    assert_eq!(message.to_text().unwrap(), "short");
    assert_eq!((*dropped.lock().unwrap(), server.dials()), (101, 1));

    // One of the peer's would come again.
    let server = Server::new(|_, mut peer| async move {
        let _ = peer.send("x".repeat(101).into()).await;
        while let Some(Ok(_)) = peer.next().await {}
    })
    .await;
    let mut feed = server.client().limits(limits).open().unwrap();
    let gave_up = within(feed.next()).await.unwrap().unwrap_err();
    assert_eq!((gave_up.reason, server.dials()), (StopReason::Permanent, 1));
}

/// A connection that breaks while it is written to: what had not left as a whole is told, the rest goes over the next one.
#[tokio::test]
async fn what_a_connection_may_not_have_written_is_told_and_what_follows_is_sent() {
    const MESSAGES: usize = 200;
    let text = |number: usize| format!("{number} {}", "x".repeat(100_000));
    let server = Server::new(|number, mut peer| async move {
        if number == 1 {
            // The wire is full, and then gone.
            tokio::time::sleep(Duration::from_millis(300)).await;
            return;
        }
        while let Some(Ok(message)) = peer.next().await {
            let text = message.to_string();
            let number = text.split(' ').next().unwrap_or_default();
            let _ = peer.send(number.to_owned().into()).await;
        }
    })
    .await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let client = server.client().outbox(usize::MAX, Overflow::Refuse);
    let client = client.observer(move |event| match event {
        Event::Unconfirmed(message) => seen.lock().unwrap().push(message.to_string()),
        Event::Dropped(message) => panic!("{} bytes", message.len()),
        _ => (),
    });
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    for number in 0..MESSAGES {
        handle.try_send(text(number)).unwrap();
    }
    let mut came = Vec::new();
    while came.last() != Some(&(MESSAGES - 1)) {
        let answer = within(feed.next()).await.unwrap().unwrap();
        came.push(answer.to_string().parse::<usize>().unwrap());
    }
    let number = |text: &String| text.split(' ').next().unwrap().parse::<usize>().unwrap();
    let told: Vec<_> = told.lock().unwrap().iter().map(number).collect();
    assert!(!told.is_empty() && server.dials() == 2, "{told:?}");
    // One after the other, without a gap, and none twice.
    let after: Vec<_> = told.iter().chain(&came).copied().collect();
    assert_eq!(after, (told[0]..MESSAGES).collect::<Vec<_>>());
}
