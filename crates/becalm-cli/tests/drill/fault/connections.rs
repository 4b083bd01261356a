//! What does each fault do to connections of which nobody can read what they carry?

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use super::Proxy;
use super::service::Service;

/// A server that speaks first, says again what it hears, and says goodbye when the client has no more to say.
pub fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let _ = stream.write_all(b"hello");
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut bytes) {
                    let _ = stream.write_all(&bytes[..read]);
                }
                let _ = stream.write_all(b"goodbye");
            });
        }
    });
    address
}

pub fn heard(client: &mut super::Client, words: &str) {
    let mut bytes = vec![0; words.len()];
    client.0.read_exact(&mut bytes).expect("an answer");
    assert_eq!(String::from_utf8(bytes).unwrap(), words);
}

#[test]
fn a_service_that_speaks_first_is_heard_and_each_side_may_end_before_the_other() {
    for fault in ["hold", "loss:1", "slow:1M", "delay:1ms"] {
        let mut proxy = Proxy::start(fault, echo(), "Bytes");
        if !matches!(fault, "hold" | "loss:1") {
            proxy.begin();
        }
        let mut client = proxy.connect();
        heard(&mut client, "hello");
        client.write("again");
        heard(&mut client, "again");
        client
            .0
            .get_ref()
            .shutdown(std::net::Shutdown::Write)
            .unwrap();
        heard(&mut client, "goodbye");
        assert_eq!(client.end().unwrap(), 0);
        drop(client);
        proxy.await_count("open", 0);
    }
}

#[test]
fn what_is_held_goes_when_its_client_goes() {
    let service = Service::start();
    let mut proxy = Proxy::start("hold", service.address, "Bytes");
    let mut kept = proxy.connect();
    kept.get("before");
    assert_eq!(kept.answer().0, 200);
    proxy.begin();
    let (mut stays, mut goes) = (proxy.connect(), proxy.connect());
    stays.get("stays");
    goes.get("goes");
    kept.get("kept");
    proxy.await_count("held", 3);
    drop(goes);
    proxy.await_count("left", 1);
    assert_eq!(service.connections(), 1);
    proxy.lift();
    assert_eq!(stays.answer().0, 200);
    assert_eq!(kept.answer().0, 200);
    let mut ids = service.ids();
    ids.sort();
    assert_eq!(ids, ["before", "kept", "stays"]);
}

#[test]
fn a_naive_proxy_pours_in_what_nobody_waits_for() {
    let service = Service::start();
    let mut proxy = Proxy::start("hold:forward", service.address, "Bytes");
    proxy.begin();
    let mut goes = proxy.connect();
    goes.get("goes");
    proxy.await_count("held", 1);
    drop(goes);
    proxy.lift();
    super::until("it reaches the service", || service.ids() == ["goes"]);
}

#[test]
fn pieces_are_reset_lost_and_late() {
    let service = Service::start();
    for (fault, id) in [
        ("reset", "one"),
        ("loss:1", "two"),
        ("delay:300ms", "three"),
    ] {
        let mut proxy = Proxy::start(fault, service.address, "Bytes");
        let mut kept = proxy.connect();
        kept.get(id);
        assert_eq!(kept.answer().0, 200);
        proxy.begin();
        let asked = Instant::now();
        let mut fresh = proxy.connect();
        if fault == "reset" {
            assert!(fresh.is_reset());
            kept.get("broken");
            assert!(kept.is_reset());
            continue;
        }
        for client in [&mut kept, &mut fresh] {
            client.get("broken");
        }
        if fault == "loss:1" {
            proxy.await_count("broken", 2);
        }
        if fault == "delay:300ms" {
            assert_eq!(kept.answer().0, 200);
            assert_eq!(fresh.answer().0, 200);
            assert!(asked.elapsed() >= Duration::from_millis(300));
        }
        proxy.lift();
        if fault == "loss:1" {
            assert_eq!(kept.end().unwrap(), 0);
            assert_eq!(fresh.end().unwrap(), 0);
            assert_eq!(service.ids(), ["one", "two"]);
        }
    }
}

#[test]
fn answers_trickle() {
    let mut proxy = Proxy::start("slow:1k", echo(), "Bytes");
    proxy.begin();
    let asked = Instant::now();
    let mut client = proxy.connect();
    let words = "x".repeat(400);
    client.write(&words);
    heard(&mut client, "hello");
    heard(&mut client, &words);
    assert!(asked.elapsed() >= Duration::from_millis(300));
}
