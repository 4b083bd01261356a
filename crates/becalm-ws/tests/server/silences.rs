//! Is a client that stops without a word found, by the socket of this crate and by axum's own, and is its place free then?

use std::time::{Duration, Instant};

use becalm_ws::Message;
use becalm_ws::session::{Envelope, Hello, SessionSettings};
use futures_util::{SinkExt, StreamExt};

use crate::servers::{Kind, QUICK, Running, open};
use crate::{until, within};

/// A client that is not polled answers nothing and takes nothing, as a stopped process, whose kernel lives.
#[tokio::test]
async fn a_client_that_stops_is_found_and_its_place_is_free() {
    for (kind, path) in [
        (Kind::Plain, "/"),
        (Kind::Axum, "/"),
        (Kind::Axum, "/watched"),
    ] {
        let running = Running::start(kind, open().connections(1).heartbeat(QUICK)).await;
        let began = Instant::now();
        let _stopped = running.socket(path).await;
        until(|| running.server.metrics().connections_active == 1).await;
        // The next waits for its place in the kernel.
        let mut next = within(running.socket(path)).await;
        assert!(
            began.elapsed() >= QUICK.quiet + QUICK.patience,
            "{kind:?} {path}"
        );
        // It answers, and stays.
        let quiet = tokio::time::timeout(Duration::from_millis(600), async {
            while let Some(Ok(message)) = next.next().await {
                assert!(message.is_ping());
            }
        });
        assert!(quiet.await.is_err(), "{kind:?} {path}");
        assert_eq!(running.server.metrics().connections_active, 1);
    }
}

#[tokio::test]
async fn who_sends_to_a_client_that_takes_nothing_does_not_wait_for_ever() {
    for path in ["/flood", "/watched-flood"] {
        let running = Running::start(Kind::Axum, open().heartbeat(QUICK)).await;
        let mut stopped = running.socket(path).await;
        // More than is read ahead.
        for _ in 0..3 {
            within(stopped.send("hello".into())).await.unwrap();
        }
        until(|| running.server.metrics().connections_active == 1).await;
        until(|| running.server.metrics().connections_active == 0).await;
    }
}

#[tokio::test]
async fn a_server_that_does_not_ask_waits() {
    let running = Running::start(Kind::Plain, open().heartbeat(None)).await;
    let _stopped = running.socket("/").await;
    until(|| running.server.metrics().connections_active == 1).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(running.server.metrics().connections_active, 1);
}

#[tokio::test]
async fn the_session_of_a_client_that_stops_waits_for_another_connection() {
    let sessions = SessionSettings::default().open();
    let server = open().heartbeat(QUICK).server().unwrap();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let kept = sessions.clone();
    let serving = tokio::spawn(async move {
        let connection = listener.accept().await.unwrap();
        let peer = connection.peer().clone();
        let handshake = server.handshake(connection, &peer).await.unwrap();
        let socket = handshake.accept().await.unwrap();
        let mut socket = kept.accept(socket, "ada").await.unwrap();
        while let Some(Ok(_)) = socket.next().await {}
    });
    let uri = format!("ws://{address}/");
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let dialled = tokio_tungstenite::client_async(uri, stream);
    let (mut stopped, _) = within(dialled).await.unwrap();
    for said in [Envelope::Hello(Hello::new(999, 999)), Envelope::Ack(0)] {
        within(stopped.send(said.write())).await.unwrap();
        if let Envelope::Hello(_) = said {
            let Some(Ok(Message::Binary(_))) = within(stopped.next()).await else {
                panic!("no answer");
            };
        }
    }
    until(|| sessions.counts().attached == 1).await;
    until(|| sessions.counts().detached == 1).await;
    within(serving).await.unwrap();
}
