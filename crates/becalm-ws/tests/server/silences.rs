//! Is a client that stops without a word found, by the socket of this crate and by axum's own, and is its place free then?

use std::process::Stdio;
use std::time::{Duration, Instant};

use becalm_ws::session::{Envelope, Hello, SessionSettings};
use becalm_ws::{Client, Heartbeat, Message};
use futures_util::{SinkExt, StreamExt};

use crate::servers::{Kind, QUICK, Running, open};
use crate::{until, within};

/// A client that is not polled answers nothing and takes nothing, as one behind a proxy that stalls.
#[tokio::test]
async fn a_client_that_stops_is_found_and_its_place_is_free() {
    let kinds = [
        (Kind::Plain, "/"),
        (Kind::Axum, "/"),
        (Kind::Axum, "/watched"),
    ];
    let each = kinds.map(|(kind, path)| async move {
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
        let quiet = tokio::time::timeout(QUICK.patience * 3 / 2, async {
            while let Some(Ok(message)) = next.next().await {
                assert!(message.is_ping());
            }
        });
        assert!(quiet.await.is_err(), "{kind:?} {path}");
        assert_eq!(running.server.metrics().connections_active, 1);
    });
    futures_util::future::join_all(each).await;
}

const ADDRESS: &str = "BECALM_TEST_ADDRESS";

/// A process of its own, for `a_process_that_is_stopped_is_found_and_comes_back`.
#[cfg(unix)]
#[tokio::test]
#[ignore = "a client of another test"]
async fn a_client() {
    let Ok(address) = std::env::var(ADDRESS) else {
        return;
    };
    let mut feed = Client::new(address.parse().unwrap()).open().unwrap();
    let life = Duration::from_secs(30);
    let _ =
        tokio::time::timeout(life, async { while let Some(Ok(_)) = feed.next().await {} }).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_process_that_is_stopped_is_found_and_comes_back() {
    let running = Running::start(Kind::Axum, open().heartbeat(QUICK)).await;
    let mut client = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "silences::a_client", "--ignored"])
        .env(ADDRESS, running.uri("/").to_string())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let id = client.id().unwrap().to_string();
    for (signal, active) in [("-CONT", 1), ("-STOP", 0), ("-CONT", 1)] {
        let mut kill = tokio::process::Command::new("kill");
        assert!(kill.args([signal, &id]).status().await.unwrap().success());
        until(|| running.server.metrics().connections_active == active).await;
    }
    client.kill().await.unwrap();
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
    tokio::time::sleep(QUICK.patience * 3 / 2).await;
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

/// Clients that are connected and then neither read nor answer, as those behind a cable that was pulled.
async fn half_open_sockets_are_found(sockets: usize) {
    let heartbeat = Heartbeat::new(Duration::from_secs(2), Duration::from_secs(5));
    let running = Running::start(Kind::Plain, open().heartbeat(heartbeat)).await;
    let mut stopped = Vec::new();
    let mut latest = Instant::now();
    for _ in 0..sockets {
        stopped.push(running.socket("/").await);
        latest = Instant::now();
    }
    let patience = Duration::from_secs(60);
    let gone = async {
        while running.server.metrics().connections_active > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let most = running.server.metrics().connections_active;
    assert!(tokio::time::timeout(patience, gone).await.is_ok());
    println!(
        "{sockets} half-open sockets, {most} of them at once: all found within {:.1?} of the last",
        latest.elapsed()
    );
    assert_eq!(stopped.len(), sockets);
    // Its places are free, and somebody who is there is not taken for gone.
    let mut alive = within(running.socket("/")).await;
    within(alive.send("hello".into())).await.unwrap();
    let heard =
        async { while !matches!(alive.next().await, Some(Ok(message)) if message.is_text()) {} };
    within(heard).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_half_open_sockets_are_found() {
    half_open_sockets_are_found(50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "10,000 descriptors: scripts/prove ws-half-open"]
async fn in_full() {
    let sockets = std::env::var("BECALM_SOCKETS").map_or(5_000, |text| text.parse().unwrap());
    half_open_sockets_are_found(sockets).await;
}
