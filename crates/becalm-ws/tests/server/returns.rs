//! Does the client of this crate come back as it is told, and is it let in then?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::admission::{Admission, TicketKeys};
use becalm_ws::server::Settings;
use becalm_ws::{Client, ClientRequestBuilder, Event};
use futures_util::StreamExt;

use crate::servers::{KINDS, Kind, Running, closed, open};
use crate::within;

/// One in a second, and who does not come in now comes by appointment.
fn slow() -> Settings {
    let one = Admission::per_second(1).burst(1);
    Settings::new(one.patience(Duration::from_millis(1900)))
}

#[tokio::test]
async fn a_ticket_is_honoured_on_return_whichever_way_it_was_told() {
    for (kind, origin) in KINDS
        .into_iter()
        .flat_map(|kind| [(kind, false), (kind, true)])
    {
        let running = Running::start(kind, slow()).await;
        let _first = running.socket("/").await;
        let waits = Arc::new(Mutex::new(Vec::new()));
        let (seen, uri) = (Arc::clone(&waits), running.uri("/"));
        let client = Client::with_provider(move |_| {
            let mut request = ClientRequestBuilder::new(uri.clone());
            if origin {
                request = request.with_header("origin", "https://shop.example");
            }
            async move { Ok(request) }
        });
        let client = client.observer(move |event| {
            if let Event::Waits(wait) = event {
                seen.lock().unwrap().push(wait);
            }
        });
        let mut socket = client.open().unwrap();
        // What was sent to a connection that was opened to be closed is lost with it.
        let handle = socket.handle();
        let greets = tokio::spawn(async move {
            while handle.send("hello").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let echo = within(socket.next()).await.unwrap().unwrap();
        assert_eq!(echo.to_string(), "hello");
        greets.abort();
        let metrics = running.server.metrics();
        let admission = metrics.admission;
        assert_eq!(
            (admission.admit, admission.reject_rate, admission.ticket),
            (1, 1, 1),
            "{kind:?} {origin}"
        );
        assert_eq!((running.costly(), metrics.connections_active), (2, 2));
        let waits = waits.lock().unwrap().clone();
        // As it was told, without jitter on top.
        let told = Duration::from_millis(500)..=Duration::from_millis(1001);
        assert!(waits.len() == 1 && told.contains(&waits[0]), "{waits:?}");
    }
}

#[tokio::test]
async fn a_ticket_of_the_process_before_is_honoured_by_shared_keys() {
    let keys = TicketKeys::new(1, &[7; 32]).unwrap();
    let before = Running::start(Kind::Axum, slow().tickets(keys.clone())).await;
    let _first = before.socket("/").await;
    let (head, _) = within(before.ask("/", "")).await;
    let ticket = |head: &str| {
        let mut lines = head.lines();
        let found = lines.find_map(|line| line.strip_prefix("admission-ticket: "));
        found.expect("a ticket").to_owned()
    };
    let ticket = ticket(&head);
    drop(before);
    for (keys, counted) in [(keys, 1), (TicketKeys::new(1, &[8; 32]).unwrap(), 0)] {
        let after = Running::start(Kind::Plain, slow().tickets(keys)).await;
        let target = format!("/?room=7&admission-ticket={ticket}");
        let answered = async {
            // Its time comes within a second.
            loop {
                let (head, stream) = after.ask(&target, "").await;
                if head.starts_with("http/1.1 101 ") {
                    return stream;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let _stream = within(answered).await;
        assert_eq!(after.server.metrics().admission.ticket, counted);
    }
}

#[tokio::test]
async fn who_resumes_a_known_session_goes_first() {
    let one = Admission::per_second(100_000)
        .in_flight(1)
        .patience(Duration::from_secs(60));
    let settings = Settings::new(one).resumptions(|session| session == "known");
    let running = Running::start(Kind::Plain, settings).await;
    // It has the permit until it says that it is ready, which it does when it is let go.
    let held = running.server.clone();
    let (io, mut client) = tokio::io::duplex(4096);
    let request = crate::servers::request("/", "");
    tokio::io::AsyncWriteExt::write_all(&mut client, request.as_bytes())
        .await
        .unwrap();
    let peer = peer().await;
    let first = within(held.handshake(io, &peer)).await.unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut asking = tokio::task::JoinSet::new();
    for (place, (name, line)) in [
        ("fresh", ""),
        ("liar", "becalm-session: unknown\r\n"),
        ("known", "becalm-session: known\r\n"),
    ]
    .into_iter()
    .enumerate()
    {
        let (order, address) = (Arc::clone(&order), running.address);
        asking.spawn(async move {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let request = crate::servers::request("/", line);
            tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes())
                .await
                .unwrap();
            tokio::io::AsyncReadExt::read_u8(&mut stream).await.unwrap();
            order.lock().unwrap().push(name);
            stream
        });
        crate::until(|| running.server.metrics().accept_queue_depth == place + 1).await;
    }
    drop(first);
    let _streams = within(asking.join_all()).await;
    assert_eq!(running.costly(), 3);
    assert_eq!(order.lock().unwrap()[0], "known");
}

/// The other end of a connection that does not matter.
async fn peer() -> becalm_ws::server::Peer {
    let server = open().server().unwrap();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let _client = tokio::net::TcpStream::connect(address).await.unwrap();
    within(listener.accept()).await.unwrap().peer().clone()
}

#[tokio::test]
async fn a_permit_is_held_until_the_client_is_ready_and_comes_back_from_who_has_gone() {
    let server = Settings::new(closed().burst(3).in_flight(1))
        .server()
        .unwrap();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    for (is_ready, ratio) in [(true, 1.0), (false, 0.5)] {
        let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = crate::servers::request("/", "");
        tokio::io::AsyncWriteExt::write_all(&mut client, request.as_bytes())
            .await
            .unwrap();
        let connection = within(listener.accept()).await.unwrap();
        let peer = connection.peer().clone();
        let handshake = within(server.handshake(connection, &peer)).await.unwrap();
        let mut socket = within(handshake.accept()).await.unwrap();
        assert_eq!(
            server.metrics().handshakes_in_flight,
            1,
            "not before it is ready"
        );
        if is_ready {
            socket.ready();
            assert_eq!(server.metrics().handshakes_in_flight, 0);
        }
        drop(socket);
        let metrics = server.metrics();
        assert_eq!(
            (metrics.handshakes_in_flight, metrics.connections_active),
            (0, 0)
        );
        assert!((metrics.handshake_goodput_ratio - ratio).abs() < 1e-9);
    }
    let text = server.metrics().to_string();
    for line in [
        "ws_connections_active 0",
        "ws_admission_total{decision=\"admit\"} 2",
        "ws_handshake_goodput_ratio 0.5",
        "ws_close_total{code=\"1006\"} 2",
        "ws_drain_remaining 0",
    ] {
        assert!(
            text.lines().any(|written| written == line),
            "{line} in {text}"
        );
    }
}
