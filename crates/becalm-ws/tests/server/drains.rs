//! How does a server leave? Each connection at its turn, with when to come back, all of them, and not for ever.

use std::time::{Duration, Instant};

use becalm::time::FakeSleeper;
use becalm_admission::Advice;
use becalm_ws::server::Drain;
use becalm_ws::session::{Envelope, Hello, SessionSettings};
use becalm_ws::{CloseCode, CloseFrame, Message};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;

use crate::servers::{Kind, Running, open};
use crate::{until, within};

/// The close, and when it came.
async fn close(mut socket: WebSocketStream<TcpStream>) -> (CloseFrame, Instant) {
    loop {
        if let Some(Ok(Message::Close(Some(close)))) = within(socket.next()).await {
            let at = Instant::now();
            while socket.next().await.is_some() {}
            return (close, at);
        }
    }
}

#[tokio::test]
async fn a_drain_closes_all_at_its_rate_and_tells_them_when_to_come_back() {
    let paths = [(Kind::Plain, "/"), (Kind::Axum, "/"), (Kind::Axum, "/own")];
    for (kind, path) in paths {
        let mut running = Running::start(kind, open()).await;
        let mut leaving = tokio::task::JoinSet::new();
        for _ in 0..20 {
            leaving.spawn(close(running.socket(path).await));
        }
        until(|| running.server.metrics().connections_active == 20).await;
        assert!(running.server.is_ready());
        let began = Instant::now();
        let drained = running.server.drain(Drain::per_second(100));
        let (drained, closes) = within(async { tokio::join!(drained, leaving.join_all()) }).await;
        assert_eq!((drained.ended, drained.left), (20, 0), "{kind:?} {path}");
        assert!(!running.server.is_ready());
        let mut times: Vec<_> = closes
            .iter()
            .map(|(_, at)| at.duration_since(began))
            .collect();
        times.sort();
        for (number, at) in times.iter().enumerate() {
            let turn = Duration::from_millis(10) * u32::try_from(number).unwrap();
            assert!(*at >= turn, "{number} at {at:?}, {kind:?} {path}");
        }
        for (close, _) in closes {
            assert_eq!(close.code, CloseCode::Restart);
            let advice: Advice = close.reason.parse().unwrap();
            assert!(advice.delay.is_zero() && advice.ticket.is_some());
        }
        let metrics = running.server.metrics();
        assert_eq!(
            (metrics.connections_active, metrics.drain_remaining),
            (0, 0)
        );
        assert_eq!(metrics.closes.get(&1012), Some(&20), "{kind:?} {path}");
        // The HTTP server ends, too, and nobody listens any more.
        within(&mut running.task).await.unwrap();
        assert!(TcpStream::connect(running.address).await.is_err());
    }
}

#[tokio::test]
async fn what_was_sent_before_is_flushed_and_what_the_peer_had_sent_is_heard() {
    let server = open().server().unwrap();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let uri = format!("ws://{address}/");
    let dials = tokio::spawn(async move { tokio_tungstenite::client_async(uri, stream).await });
    let connection = within(listener.accept()).await.unwrap();
    let peer = connection.peer().clone();
    let handshake = within(server.handshake(connection, &peer)).await.unwrap();
    let mut socket = within(handshake.accept()).await.unwrap();
    let (mut client, _) = within(dials).await.unwrap().unwrap();
    for number in 0..10 {
        socket.feed(number.to_string().into()).await.unwrap();
    }
    let leaving = server.clone();
    let drained = tokio::spawn(async move { leaving.drain(Drain::per_second(100)).await });
    let serving = tokio::spawn(async move {
        let mut heard = Vec::new();
        while let Some(Ok(message)) = socket.next().await {
            heard.push(message);
        }
        heard.retain(Message::is_text);
        heard
    });
    until(|| !server.is_ready()).await;
    // It is closed already, and the client does not know.
    for text in ["one", "two"] {
        client.send(text.into()).await.unwrap();
    }
    let mut heard = Vec::new();
    while let Some(Ok(message)) = within(client.next()).await {
        heard.push(match message {
            Message::Close(_) => "close".to_owned(),
            message => message.to_string(),
        });
    }
    assert_eq!(heard.join(" "), "0 1 2 3 4 5 6 7 8 9 close");
    assert_eq!(within(serving).await.unwrap(), ["one".into(), "two".into()]);
    drop(listener);
    assert_eq!(within(drained).await.unwrap().left, 0);
}

#[tokio::test]
async fn what_a_session_has_received_is_confirmed_before_the_close() {
    // Left alone it would confirm after an hour.
    let hour = Duration::from_secs(3600);
    let sessions = SessionSettings::default().confirm_after(hour).open();
    let server = open().sessions(&sessions).server().unwrap();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (leaving, (told, mut given)) = (server.clone(), tokio::sync::mpsc::unbounded_channel());
    let serving = tokio::spawn(async move {
        let connection = listener.accept().await.unwrap();
        let peer = connection.peer().clone();
        let handshake = server.handshake(connection, &peer).await.unwrap();
        let socket = handshake.accept().await.unwrap();
        let mut socket = sessions.accept(socket, "ada").await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            told.send(message).unwrap();
        }
    });
    let stream = TcpStream::connect(address).await.unwrap();
    let dialled = tokio_tungstenite::client_async(format!("ws://{address}/"), stream);
    let (mut client, _) = within(dialled).await.unwrap();
    let hello = Envelope::Hello(Hello::new(999, 99_999));
    client.send(hello.write()).await.unwrap();
    assert!(within(client.next()).await.is_some());
    client.send(Envelope::Ack(0).write()).await.unwrap();
    for number in 1..4 {
        let data = Envelope::Data {
            number,
            received: 0,
            message: "hello".into(),
        };
        client.send(data.write()).await.unwrap();
        assert_eq!(within(given.recv()).await, Some("hello".into()));
    }
    let drained = tokio::spawn(async move { leaving.drain(Drain::per_second(1)).await });
    let mut heard = Vec::new();
    while let Some(Ok(message)) = within(client.next()).await {
        heard.push(match message {
            Message::Close(_) => None,
            message => Envelope::read(&message).ok(),
        });
    }
    assert_eq!(heard, [Some(Envelope::Ack(3)), None]);
    within(serving).await.unwrap();
    assert_eq!(within(drained).await.unwrap().left, 0);
}

#[tokio::test]
async fn at_the_deadline_they_are_told_their_turn_and_who_does_not_go_is_cut() {
    for (kind, path) in [(Kind::Plain, "/"), (Kind::Axum, "/")] {
        let clock = FakeSleeper::new();
        let running = Running::start(kind, open().sleeper(clock.clone())).await;
        // None of them answers the close.
        let mut silent = Vec::new();
        for _ in 0..3 {
            silent.push(running.socket(path).await);
        }
        until(|| running.server.metrics().connections_active == 3).await;
        let drain = Drain::per_second(1).deadline(Duration::from_millis(600));
        let server = running.server.clone();
        let drained = tokio::spawn(async move { server.drain(drain).await });
        until(|| !running.server.is_ready()).await;
        // Half of the time is for closing: the second and third go before their turn.
        clock.advance(Duration::from_millis(300));
        let mut waits = Vec::new();
        for socket in &mut silent {
            let Some(Ok(Message::Close(Some(close)))) = within(socket.next()).await else {
                panic!("no close");
            };
            let advice: Advice = close.reason.parse().unwrap();
            waits.push(advice.delay.as_millis());
        }
        waits.sort_unstable();
        // They are told to come in the first, second and third second.
        assert_eq!(waits, [0, 700, 1700], "{kind:?}");
        clock.advance(Duration::from_millis(299));
        assert!(!drained.is_finished());
        assert_eq!(running.server.metrics().connections_active, 3);
        clock.advance(Duration::from_millis(1));
        let drained = within(drained).await.unwrap();
        assert_eq!(drained.ended + u64::try_from(drained.left).unwrap(), 3);
        until(|| running.server.metrics().connections_active == 0).await;
        assert_eq!(running.server.metrics().closes.get(&1012), Some(&3));
    }
}

#[tokio::test]
async fn who_waits_in_the_queue_is_served_before_it_ends_and_late_ones_leave_too() {
    let settings = open().handshakes(1, 1, Duration::from_secs(10));
    let mut running = Running::start(Kind::Axum, settings).await;
    let occupant = running.connect().await;
    until(|| running.server.metrics().handshakes_in_flight == 1).await;
    let waits = running.connect().await;
    until(|| running.server.metrics().accept_queue_depth == 1).await;
    let server = running.server.clone();
    let drained = tokio::spawn(async move { server.drain(Drain::per_second(1000)).await });
    until(|| !running.server.is_ready()).await;
    drop(occupant);
    let dialled = tokio_tungstenite::client_async(running.uri("/"), waits);
    let (socket, _) = within(dialled).await.expect("it is served");
    let (close, _) = close(socket).await;
    assert_eq!(close.code, CloseCode::Restart);
    assert_eq!(within(drained).await.unwrap().left, 0);
    within(&mut running.task).await.unwrap();
}

#[tokio::test]
async fn readiness_goes_off_before_the_server_stops_accepting() {
    let running = Running::start(Kind::Plain, open()).await;
    let drain = Drain::per_second(100).notice(Duration::from_millis(300));
    let server = running.server.clone();
    let drained = tokio::spawn(async move { server.drain(drain).await });
    until(|| !running.server.is_ready()).await;
    let late = running.socket("/").await;
    assert!(!drained.is_finished());
    let (close, _) = close(late).await;
    assert_eq!(close.code, CloseCode::Restart);
    assert_eq!(within(drained).await.unwrap().ended, 1);
}

#[tokio::test]
async fn nobody_is_accepted_any_more_while_others_leave() {
    let server = open().server().unwrap();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let _first = TcpStream::connect(address).await.unwrap();
    let first = within(listener.accept()).await.unwrap();
    let leaving = server.clone();
    let drained = tokio::spawn(async move { leaving.drain(Drain::per_second(1)).await });
    until(|| !server.is_ready()).await;
    let _late = TcpStream::connect(address).await.unwrap();
    assert!(within(listener.accept()).await.is_none());
    assert!(!drained.is_finished());
    drop(first);
    assert_eq!(within(drained).await.unwrap().left, 0);
}
