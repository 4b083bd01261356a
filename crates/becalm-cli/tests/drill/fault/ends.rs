//! What becomes of what is on its way when the drill is over, and of a fault when the drill stands still?

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, sleep};
use std::time::Duration;

use super::connections::{echo, heard};
use super::service::Service;
use super::{Proxy, until};

/// So many pieces take far longer than a process does to end, and far less than it is given.
const PIECES: usize = 20;
const BETWEEN: Duration = Duration::from_millis(10);

/// A server that says the head of one answer at once, and its body bit by bit when it may.
fn streams(may: Receiver<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 4]).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {PIECES}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        may.recv().unwrap();
        for _ in 0..PIECES {
            stream.write_all(b"x").unwrap();
            sleep(BETWEEN);
        }
    });
    address
}

#[test]
fn a_proxy_that_is_told_to_stop_lets_requests_end() {
    let service = Service::start();
    let mut proxy = Proxy::start("hold", service.address, "Http");
    proxy.begin();
    let mut held = proxy.connect();
    held.get("held");
    proxy.await_count("held", 1);
    proxy.helper.ask("Stop");
    assert_eq!(held.answer().0, 200);
    until("it has ended", || proxy.helper.ended());
}

#[test]
fn a_proxy_that_is_told_to_stop_lets_an_answer_end_that_has_begun() {
    let (go, may) = channel();
    let mut proxy = Proxy::start("hold", streams(may), "Http");
    let mut client = proxy.connect();
    client.get("streams");
    assert!(client.head().starts_with("HTTP/1.1 200"));
    proxy.helper.ask("Stop");
    go.send(()).unwrap();
    let mut body = [0; PIECES];
    client.0.read_exact(&mut body).expect("the whole body");
    assert_eq!(client.end().unwrap(), 0, "nobody asks on it again");
    until("it has ended", || proxy.helper.ended());
}

#[test]
fn a_proxy_that_is_told_to_stop_lets_a_conversation_end_that_it_cannot_read() {
    let mut proxy = Proxy::start("hold", echo(), "Bytes");
    let mut client = proxy.connect();
    heard(&mut client, "hello");
    proxy.helper.ask("Stop");
    for _ in 0..PIECES {
        client.write("again");
        heard(&mut client, "again");
        sleep(BETWEEN);
    }
    drop(client);
    until("it has ended", || proxy.helper.ended());
}

#[test]
fn a_fault_is_lifted_in_time_while_the_drill_stands_still_and_reads_nothing() {
    let service = Service::start();
    let mut proxy = Proxy::with("hold", service.address, "Http", Duration::from_secs(1));
    proxy.begin();
    // Their answers are more than a pipe holds (64 KB: pipe(7)).
    for _ in 0..2_000 {
        proxy.helper.say("Tell");
    }
    // Of each thread that serves.
    let clients = (0..8).map(|number| {
        let mut client = proxy.connect();
        client.get(&number.to_string());
        client
    });
    for mut client in clients.collect::<Vec<_>>() {
        assert_eq!(client.answer().0, 200);
    }
}
