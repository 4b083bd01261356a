//! Does the client of this crate come back as it is told, and is it let in then?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_admission::{Admission, TicketKeys};
use becalm_ws::server::Settings;
use becalm_ws::session::{Resume, SessionSettings};
use becalm_ws::{Client, ClientRequestBuilder, Event};
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::servers::{KINDS, Kind, Running, closed, open, request};
use crate::within;

const LONG: Duration = Duration::from_secs(100);

/// One in a second, and who does not come in now comes by appointment.
pub fn slow() -> Settings {
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
    let sessions = SessionSettings::default().open();
    let one = Admission::per_second(100_000).in_flight(1);
    let one = one.patience(LONG).horizon(LONG);
    let server = Settings::new(one).sessions(&sessions).server().unwrap();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (told, mut admitted) = tokio::sync::mpsc::unbounded_channel();
    let kept = sessions.clone();
    let counted = server.clone();
    let serving = tokio::spawn(async move {
        while let Some(connection) = listener.accept().await {
            let (server, sessions, told) = (server.clone(), kept.clone(), told.clone());
            tokio::spawn(async move {
                let peer = connection.peer().clone();
                let Ok(handshake) = server.handshake(connection, &peer).await else {
                    return;
                };
                let target = handshake.request().uri().to_string();
                let socket = handshake.accept().await.unwrap();
                if target == "/" {
                    let socket = sessions.accept(socket, "ada").await.unwrap();
                    let _ = told.send((socket.id().to_string(), Some(socket)));
                } else {
                    // The permit is another's when this socket has gone.
                    let _ = told.send((target, None));
                }
            });
        }
    });
    let first = Client::new(format!("ws://{address}/").parse().unwrap());
    let mut first = first.resume(Resume::default()).open().unwrap();
    let polled = tokio::spawn(async move { first.next().await });
    let (id, held) = within(admitted.recv()).await.unwrap();
    let mut asking = Vec::new();
    for (place, (target, line)) in [
        ("/fresh", String::new()),
        (
            "/liar",
            format!("becalm-session: {}\r\n", id.replace(|_| true, "1")),
        ),
        ("/known", format!("becalm-session: {id}\r\n")),
        ("/copy", format!("becalm-session: {id}\r\n")),
        ("/last", String::new()),
    ]
    .into_iter()
    .enumerate()
    {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = request(target, &line);
        stream.write_all(request.as_bytes()).await.unwrap();
        asking.push(stream);
        crate::until(|| counted.metrics().accept_queue_depth == place + 1).await;
    }
    held.as_ref().unwrap().get_ref().ready();
    // The second who names it meanwhile is one as the others.
    for expected in ["/known", "/fresh", "/liar", "/copy", "/last"] {
        let (next, _) = within(admitted.recv()).await.unwrap();
        assert_eq!(next, expected);
    }
    let text = counted.metrics().to_string();
    assert!(
        text.contains("ws_resume_total{result=\"gap\"} 0\n"),
        "{text}"
    );
    polled.abort();
    serving.abort();
}

#[tokio::test]
async fn a_permit_is_held_until_the_client_is_ready_and_comes_back_from_who_has_gone() {
    let server = Settings::new(closed().burst(3).in_flight(1))
        .server()
        .unwrap();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    for (is_ready, ratio) in [(true, 1.0), (false, 0.5)] {
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = request("/", "");
        client.write_all(request.as_bytes()).await.unwrap();
        let connection = within(listener.accept()).await.unwrap();
        let peer = connection.peer().clone();
        let handshake = within(server.handshake(connection, &peer)).await.unwrap();
        let socket = within(handshake.accept()).await.unwrap();
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

#[tokio::test]
async fn an_upgrade_keeps_its_permit_until_its_login_has_ended() {
    let running = Running::start(Kind::Axum, open()).await;
    let mut unready = running.socket("/login").await;
    unready.send("hello".into()).await.unwrap();
    assert!(within(unready.next()).await.unwrap().is_ok());
    assert_eq!(running.server.metrics().handshakes_in_flight, 1);
    drop(unready);
    crate::until(|| running.server.metrics().handshakes_in_flight == 0).await;
    assert!(running.server.metrics().handshake_goodput_ratio < 0.1);
}
