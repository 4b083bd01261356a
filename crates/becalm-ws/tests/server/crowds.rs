//! Who of a crowd costs something? Not who is slow, has left, or has no descriptor to come in by.

use std::net::IpAddr;
use std::time::Duration;

use becalm_admission::Admission;
use becalm_ws::server::{Proxies, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::servers::{KINDS, Kind, Running, open, request};
use crate::{until, within};

const LONG: Duration = Duration::from_secs(100);

#[tokio::test]
async fn a_slow_loris_is_cut_at_its_deadline_and_keeps_nobody_out() {
    for kind in KINDS {
        let settings = open().handshakes(1, 1, Duration::from_millis(200));
        let running = Running::start(kind, settings).await;
        let mut loris = running.connect().await;
        let cut = tokio::spawn(async move {
            let head = b"GET / HTTP/1.1\r\nhost: x\r\ny: ".iter().copied();
            for byte in head.chain(std::iter::repeat(b'y')) {
                if loris.write_all(&[byte]).await.is_err() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        // It has the only place.
        until(|| running.server.metrics().handshakes_in_flight == 1).await;
        let _other = within(running.socket("/")).await;
        within(cut).await.unwrap();
        assert_eq!(running.costly(), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn a_connection_of_plain_http_keeps_no_place() {
    let running = Running::start(Kind::Axum, open()).await;
    let mut stream = running.connect().await;
    stream
        .write_all(b"GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer)).await.unwrap(); // up to its end
    assert!(
        answer.to_ascii_lowercase().contains("connection: close"),
        "{answer}"
    );
    until(|| running.server.metrics().handshakes_in_flight == 0).await;
}

#[tokio::test]
async fn a_connection_that_is_upgraded_has_no_deadline() {
    for kind in KINDS {
        let running =
            Running::start(kind, open().handshakes(9, 9, Duration::from_millis(50))).await;
        let mut socket = running.socket("/").await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        futures_util::SinkExt::send(&mut socket, "still here".into())
            .await
            .unwrap();
        let echo = within(futures_util::StreamExt::next(&mut socket)).await;
        assert_eq!(echo.unwrap().unwrap().to_string(), "still here", "{kind:?}");
    }
}

#[tokio::test]
async fn who_has_hung_up_before_its_turn_costs_nothing() {
    for kind in KINDS {
        let running = Running::start(kind, Settings::new(patient()).handshakes(1, 1, LONG)).await;
        let occupant = running.connect().await;
        until(|| running.server.metrics().handshakes_in_flight == 1).await;
        let mut leaving = Vec::new();
        for _ in 0..5 {
            let mut stream = running.connect().await;
            stream.write_all(request("/", "").as_bytes()).await.unwrap();
            leaving.push(stream);
        }
        until(|| running.server.metrics().accept_queue_depth == 5).await;
        drop(leaving);
        let stays = running.socket("/");
        drop(occupant);
        let _stays = within(stays).await;
        assert_eq!(running.costly(), 1, "{kind:?}");
        // The occupant, too.
        assert_eq!(running.server.metrics().admission.peer_gone, 6, "{kind:?}");
    }
}

#[tokio::test]
async fn who_hangs_up_while_it_waits_for_admission_costs_nothing() {
    for kind in KINDS {
        let one = Admission::per_second(1).per(LONG / 10).burst(1);
        let settings = Settings::new(one.patience(LONG).horizon(LONG));
        let running = Running::start(kind, settings).await;
        let _first = running.socket("/").await;
        let mut leaves = running.connect().await;
        let request = request("/", "");
        leaves.write_all(request.as_bytes()).await.unwrap();
        until(|| running.server.metrics().accept_queue_depth == 1).await;
        drop(leaves);
        until(|| running.server.metrics().admission.peer_gone == 1).await;
        assert_eq!(running.server.metrics().accept_queue_depth, 0, "{kind:?}");
        assert_eq!(running.costly(), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn who_waits_longer_than_clients_do_is_dropped() {
    for kind in KINDS {
        let admission = Admission::per_second(100_000).patience(Duration::from_millis(50));
        let running = Running::start(kind, Settings::new(admission).handshakes(1, 1, LONG)).await;
        let _occupant = running.connect().await;
        until(|| running.server.metrics().handshakes_in_flight == 1).await;
        let mut waits = running.connect().await;
        waits.write_all(request("/", "").as_bytes()).await.unwrap();
        assert!(within(waits.read_u8()).await.is_err());
        assert_eq!(running.server.metrics().admission.reject_age, 1);
        assert_eq!(running.costly(), 0);
    }
}

#[tokio::test]
async fn no_more_are_open_than_may_be_and_the_next_comes_in_when_one_ends() {
    let running = Running::start(Kind::Plain, open().connections(2)).await;
    let (first, _second) = (running.socket("/").await, running.socket("/").await);
    let third = running.socket("/");
    let mut third = std::pin::pin!(third);
    let waits = tokio::time::timeout(Duration::from_millis(50), third.as_mut()).await;
    assert!(waits.is_err());
    drop(first);
    let _third = within(third).await;
    assert_eq!(running.costly(), 3);
}

#[tokio::test]
async fn who_has_hung_up_is_not_even_handed_out() {
    let settings = Settings::new(patient()).handshakes(1, 1, LONG);
    let server = settings.server().unwrap();
    let mut listener = server.listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let _occupant = TcpStream::connect(address).await.unwrap();
    let occupied = within(listener.accept()).await.unwrap();
    for _ in 0..5 {
        let mut leaves = TcpStream::connect(address).await.unwrap();
        // A request that was sent before hides the end from who only reads.
        leaves.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    }
    let stays = TcpStream::connect(address).await.unwrap();
    drop(occupied);
    let next = within(listener.accept()).await.unwrap();
    assert_eq!(next.peer().address(), stays.local_addr().unwrap());
    // The occupant, too.
    assert_eq!(server.metrics().admission.peer_gone, 5 + 1);
}

#[tokio::test]
async fn who_sends_its_request_and_hangs_up_costs_nothing() {
    for kind in KINDS {
        let running = Running::start(kind, Settings::new(patient())).await;
        let leaves = running.connect().await;
        until(|| running.server.metrics().handshakes_in_flight == 1).await;
        // Both are there before the server looks.
        let sent = leaves.try_write(request("/", "").as_bytes()).unwrap();
        assert_eq!(sent, request("/", "").len());
        drop(leaves);
        until(|| running.server.metrics().admission.peer_gone == 1).await;
        assert_eq!(running.costly(), 0, "{kind:?}");
    }
}

/// Everybody comes in, in time.
fn patient() -> Admission {
    let many = Admission::per_second(100_000);
    many.patience(LONG).horizon(LONG)
}

/// A proxy on this machine names its clients.
#[tokio::test]
async fn one_address_does_not_hold_all_websockets() {
    const ALL: usize = 40;
    for kind in KINDS {
        let proxies = Proxies::of(["127.0.0.0/8"]).unwrap();
        let settings = open().connections(ALL).proxies(proxies);
        let running = Running::start(kind, settings).await;
        let from = |address: &str| {
            let line = format!("x-forwarded-for: {address}\r\n");
            let running = &running;
            async move { within(running.ask("/", &line)).await }
        };
        // Each host of a /64 is one.
        let (mut greedy, mut refused) = (Vec::new(), 0);
        for number in 1..=ALL {
            let (head, stream) = from(&format!("2001:db8::{number:x}")).await;
            if head.starts_with("http/1.1 101") {
                greedy.push(stream);
            } else {
                assert!(head.starts_with("http/1.1 503"), "{kind:?}: {head}");
                assert!(head.contains("retry-after: "), "{head}");
                refused += 1;
            }
        }
        assert_eq!(
            (greedy.len(), refused),
            (ALL - ALL / 8, ALL / 8),
            "{kind:?}"
        );
        let mut others = Vec::new();
        for number in 1..=ALL / 8 {
            let (head, stream) = from(&format!("198.51.100.{number}")).await;
            assert!(
                head.starts_with("http/1.1 101"),
                "{kind:?} {number}: {head}"
            );
            others.push(stream);
        }
        // Where some of the greedy have gone it gets as many again.
        greedy.truncate(20);
        until(|| running.server.metrics().connections_active == 25).await;
        for _ in 0..10 {
            let (head, stream) = from("2001:db8::ffff").await;
            assert!(head.starts_with("http/1.1 101"), "{kind:?}: {head}");
            greedy.push(stream);
        }
    }
}

#[tokio::test]
async fn a_bound_of_your_own_for_each_address_holds() {
    let proxies = Proxies::of(["127.0.0.1"]).unwrap();
    let settings = open().connections_of_one(2).proxies(proxies);
    let running = Running::start(Kind::Plain, settings).await;
    let mut open = Vec::new();
    for (address, status) in [
        ("198.51.100.1", 101),
        ("198.51.100.1", 101),
        ("198.51.100.1", 503),
        ("198.51.100.2", 101),
    ] {
        let line = format!("x-forwarded-for: {address}\r\n");
        let (head, stream) = within(running.ask("/", &line)).await;
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{head}");
        open.push(stream);
    }
    // Who comes from this machine itself stands for many.
    for _ in 0..4 {
        open.push(within(running.ask("/", "")).await.1);
    }
    assert_eq!(running.server.metrics().admission.reject_rate, 1);
}

/// What clients send: not a word, half a head, garbage, HTTP, an upgrade that is none, one of no version, one of nowhere, and one.
fn all_kinds(lines: &str) -> [String; 8] {
    let upgrade = request("/", lines);
    [
        String::new(),
        upgrade[..upgrade.len() - 2].to_owned(),
        format!("\u{16}{upgrade}"),
        format!("GET / HTTP/1.1\r\nhost: x\r\n{lines}\r\n"),
        upgrade.replace("websocket", "h2c"),
        upgrade.replace("version: 13", "version: 7"),
        upgrade.replace("GET / ", "GET /nothing "),
        upgrade,
    ]
}

/// The address of this machine, by which it is one of many, if it has one. Nothing is sent.
fn own_address() -> Option<IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

/// As those through a proxy below, but counted when they are accepted, and as IPv4 within IPv6 where that is there.
#[tokio::test]
async fn an_address_has_its_share_again_when_its_connections_are_gone() {
    let Some(own) = own_address() else {
        eprintln!("left out: this machine has no address of a network");
        return;
    };
    for kind in KINDS {
        let server = open().connections_of_one(2).server().unwrap();
        let listener = match server.listen("[::]:0").await {
            Ok(listener) => listener,
            Err(_) => server.listen("0.0.0.0:0").await.unwrap(),
        };
        let mut running = Running::on(kind, server, listener);
        running.address.set_ip(own);
        let running = &running;
        // One that is over its share is closed without a word.
        let gets_in = || async move {
            let mut stream = running.connect().await;
            let sent = stream.write_all(request("/", "").as_bytes()).await;
            let byte = within(stream.read_u8()).await;
            (sent.is_ok() && byte.is_ok()).then_some(stream)
        };
        for _ in 0..20 {
            for said in all_kinds("") {
                let mut stream = running.connect().await;
                let _ = stream.write_all(said.as_bytes()).await;
                tokio::task::yield_now().await;
            }
            let mut open = Vec::new();
            within(async {
                while open.len() < 2 {
                    open.extend(gets_in().await);
                }
            })
            .await;
            assert!(gets_in().await.is_none(), "{kind:?}");
        }
    }
}

/// However a connection ends, and at whichever moment, what it was counted for is free.
#[tokio::test]
async fn nothing_is_counted_for_those_who_have_gone() {
    const ROUNDS: usize = 30;
    const FROM: &str = "x-forwarded-for: 198.51.100.1\r\n";
    let all = all_kinds(FROM);
    for kind in KINDS {
        let proxies = Proxies::of(["127.0.0.1"]).unwrap();
        let settings = open().connections_of_one(2).proxies(proxies);
        let running = Running::start(kind, settings).await;
        for round in 0..ROUNDS {
            for (kind_of, said) in all.iter().enumerate() {
                let mut stream = running.connect().await;
                stream.write_all(said.as_bytes()).await.unwrap();
                if round % 2 == 0 && kind_of + 1 < all.len() {
                    let _ = stream.shutdown().await;
                    let mut answer = Vec::new();
                    let _ = within(stream.read_to_end(&mut answer)).await;
                } else if round % 3 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            let gone = || {
                let metrics = running.server.metrics();
                let waiting = metrics.handshakes_in_flight + metrics.accept_queue_depth;
                waiting + metrics.connections_active == 0
            };
            until(gone).await;
            // Its whole share, and no more.
            let mut heads = Vec::new();
            for status in [101, 101, 503] {
                let (head, stream) = within(running.ask("/", FROM)).await;
                assert!(
                    head.starts_with(&format!("http/1.1 {status}")),
                    "{kind:?} {round}: {head}"
                );
                heads.push(stream);
            }
            drop(heads);
            until(gone).await;
        }
    }
}
