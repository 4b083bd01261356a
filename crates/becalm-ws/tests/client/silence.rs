//! Is a connection that is dead and does not know it found?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_ws::{Ended, Event, Heartbeat};
use futures_util::{SinkExt, StreamExt};

use crate::server::Server;
use crate::within;

#[tokio::test]
async fn a_peer_that_falls_silent_is_left() {
    let server = Server::new(|number, mut peer| async move {
        let _ = peer.send("hello".into()).await;
        if number == 1 {
            // It holds the connection and does nothing with it, as a stopped process does.
            std::future::pending::<()>().await;
        }
        while let Some(Ok(_)) = peer.next().await {}
    })
    .await;
    let ends = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ends);
    let heartbeat = Heartbeat::new(Duration::from_millis(100), Duration::from_millis(100));
    let client = server.client().heartbeat(heartbeat).observer(move |event| {
        if let Event::Ended(ended) = event {
            seen.lock().unwrap().push(matches!(ended, Ended::Silent));
        }
    });
    let mut feed = client.open().unwrap();
    for _ in 0..2 {
        within(feed.next()).await.unwrap().unwrap();
    }
    assert_eq!(
        (&ends.lock().unwrap()[..], server.dials()),
        (&[true][..], 2)
    );
    // The second answers pings, for as long as you like.
    let quiet = tokio::time::timeout(Duration::from_millis(800), feed.next()).await;
    assert!(quiet.is_err());
    assert_eq!(server.dials(), 2);
}

#[tokio::test]
async fn who_has_slept_asks_at_once() {
    let server = Server::new(|number, mut peer| async move {
        let _ = peer.send("hello".into()).await;
        if number == 1 {
            std::future::pending::<()>().await;
        }
    })
    .await;
    // Left alone it would ask after an hour.
    let heartbeat = Heartbeat::new(Duration::from_secs(3600), Duration::from_millis(100));
    let mut feed = server.client().heartbeat(heartbeat).open().unwrap();
    let handle = feed.handle();
    within(feed.next()).await.unwrap().unwrap();
    handle.network_changed();
    within(feed.next()).await.unwrap().unwrap();
    assert_eq!(server.dials(), 2);
}

#[tokio::test]
async fn who_is_slow_to_read_does_not_take_the_peer_for_dead() {
    let server = Server::new(|_, mut peer| async move {
        for text in ["one", "two"] {
            let _ = peer.send(text.into()).await;
        }
        while let Some(Ok(_)) = peer.next().await {}
    })
    .await;
    let heartbeat = Heartbeat::new(Duration::from_millis(20), Duration::from_millis(20));
    let socket = server.client().heartbeat(heartbeat).open().unwrap();
    let (mut sink, mut stream) = socket.split();
    within(stream.next()).await.unwrap().unwrap();
    // Meanwhile the other half goes on to send.
    for _ in 0..60 {
        within(sink.send("work".into())).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = within(stream.next()).await.unwrap().unwrap();
    assert_eq!((second.to_text().unwrap(), server.dials()), ("two", 1));
}
