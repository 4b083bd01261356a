//! What is somebody told who may not come in now, and by whom is it believed who that is?

use becalm_admission::Advice;
use becalm_ws::server::{Proxies, Settings};
use becalm_ws::{CloseCode, Message};
use futures_util::StreamExt;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::servers::{KINDS, Kind, Running, closed};
use crate::within;

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[tokio::test]
async fn a_native_client_gets_503_with_when_to_come_and_a_ticket() {
    for kind in KINDS {
        let running = Running::start(kind, Settings::new(closed())).await;
        let (head, _first) = within(running.ask("/", "")).await;
        assert!(head.starts_with("http/1.1 101 "), "{kind:?} {head}");
        let (head, mut stream) = within(running.ask("/", "")).await;
        assert!(head.starts_with("http/1.1 503 "), "{kind:?} {head}");
        let millis: u64 = field(&head, "retry-after-ms").unwrap().parse().unwrap();
        assert!((3_500_000..=3_600_000).contains(&millis), "{millis}");
        let seconds: u64 = field(&head, "retry-after").unwrap().parse().unwrap();
        assert_eq!(seconds, millis.div_ceil(1000));
        assert_eq!(field(&head, "admission-ticket").unwrap().len(), 68);
        // Its descriptor is another's.
        let mut rest = Vec::new();
        within(tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest))
            .await
            .unwrap();
        assert_eq!(running.costly(), 1);
        let metrics = running.server.metrics();
        assert_eq!(
            (metrics.admission.admit, metrics.admission.reject_rate),
            (1, 1)
        );
    }
}

#[tokio::test]
async fn a_browser_is_accepted_and_closed_with_1013_and_the_same_advice() {
    for kind in KINDS {
        let running = Running::start(kind, Settings::new(closed())).await;
        let (_, _first) = within(running.ask("/", "")).await;
        let browser =
            "origin: https://shop.example\r\nsec-websocket-protocol: chat.v1, chat.v2\r\n";
        let (head, stream) = within(running.ask("/", browser)).await;
        assert!(head.starts_with("http/1.1 101 "), "{kind:?} {head}");
        // A browser fails a connection without one of those that it offers.
        assert_eq!(field(&head, "sec-websocket-protocol"), Some("chat.v1"));
        assert_eq!(
            field(&head, "sec-websocket-accept"),
            Some("icx+yqv66kxgm0fcwalwlflwtai=")
        );
        let mut socket = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
        let Some(Ok(Message::Close(Some(close)))) = within(socket.next()).await else {
            panic!("no close");
        };
        assert_eq!(close.code, CloseCode::Again);
        assert!(close.reason.len() <= 123);
        let advice: Advice = close.reason.parse().unwrap();
        assert!(advice.delay.as_secs() > 3500 && advice.ticket.is_some());
        assert!(within(socket.next()).await.is_none());
        assert_eq!(running.costly(), 1);
        crate::until(|| running.server.metrics().closes.get(&1013) == Some(&1)).await;
    }
}

#[tokio::test]
async fn what_is_admitted_gets_its_subprotocol_and_what_is_no_websocket_passes_or_is_refused() {
    for kind in KINDS {
        let running = Running::start(kind, Settings::new(closed())).await;
        let mut stream = running.connect().await;
        let plain = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, plain.as_bytes())
            .await
            .unwrap();
        let mut answer = String::new();
        within(tokio::io::AsyncReadExt::read_to_string(
            &mut stream,
            &mut answer,
        ))
        .await
        .unwrap();
        let status = if kind == Kind::Axum {
            "HTTP/1.1 200"
        } else {
            "HTTP/1.1 400"
        };
        assert!(answer.starts_with(status), "{kind:?} {answer}");
        let (head, _stream) =
            within(running.ask("/", "sec-websocket-protocol: v9, chat.v2\r\n")).await;
        let chosen = (kind == Kind::Axum).then_some("chat.v2");
        assert_eq!(field(&head, "sec-websocket-protocol"), chosen);
    }
}

/// How many of those with an address of their own in a header get an appointment.
async fn appointments(settings: Settings, line: impl Fn(usize) -> String) -> usize {
    let running = Running::start(Kind::Axum, settings).await;
    let (_, _first) = within(running.ask("/", &line(0))).await;
    let mut tickets = 0;
    for number in 1..=12 {
        let (head, _) = within(running.ask("/", &line(number))).await;
        assert!(head.starts_with("http/1.1 503 "));
        tickets += usize::from(field(&head, "admission-ticket").is_some());
    }
    tickets
}

#[tokio::test]
async fn addresses_in_headers_of_strangers_are_ignored() {
    let line = |number| format!("x-forwarded-for: 203.0.113.{number}\r\n");
    // One address gets at most as many appointments as it leaves.
    let of_stranger = appointments(Settings::new(closed()), line).await;
    assert_eq!(of_stranger, 6);
    let proxies = Proxies::of(["127.0.0.0/8"]).unwrap();
    let of_proxy = appointments(Settings::new(closed()).proxies(proxies.clone()), line).await;
    // As many as the horizon has.
    assert_eq!(of_proxy, 11);
    // What a client writes in front of what the proxy appends changes nothing.
    let spoofed = |number| format!("x-forwarded-for: 198.51.100.{number}, 203.0.113.7\r\n");
    let of_liar = appointments(Settings::new(closed()).proxies(proxies), spoofed).await;
    assert_eq!(of_liar, 6);
}
