//! What follows a connection that is cut at any byte, garbled, or fed by the spoonful, and a name that nobody knows?

use std::time::Duration;

use becalm::Policy;
use becalm::StopReason;
use becalm::reconnect::Reconnect;
use becalm_ws::tungstenite::handshake::derive_accept_key;
use becalm_ws::{Client, ClientRequestBuilder};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::{Server, read_request};
use crate::within;

fn at_once() -> Reconnect {
    let policy = Policy::fixed(Duration::from_millis(1));
    Reconnect::new(policy.attempts(Policy::UNLIMITED))
}

/// The answer to a handshake.
async fn answer(stream: &mut TcpStream) -> String {
    let request = read_request(stream).await;
    let request = String::from_utf8(request).unwrap();
    let key = request
        .lines()
        .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "))
        .unwrap();
    let accept = derive_accept_key(key.as_bytes());
    format!(
        "HTTP/1.1 101 A\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {accept}\r\n\r\n"
    )
}

/// The length of that.
const HEAD: usize = 111;

/// Ends it with a FIN, or with a RST.
async fn cut(mut stream: TcpStream, with_reset: bool) {
    if with_reset {
        stream.set_zero_linger().unwrap();
    } else {
        stream.shutdown().await.unwrap();
        while stream.read_u8().await.is_ok() {}
    }
}

/// As nobody sends them in one: "a", "bcd" in two parts with a ping between, and a close without a code.
const FRAMES: &[u8] = b"\x81\x01a\x01\x02bc\x89\x01?\x80\x01d\x88\x00";

#[tokio::test]
async fn a_cut_at_any_byte_of_handshake_or_frames_brings_it_back_and_gives_no_part() {
    for with_reset in [false, true] {
        let all = HEAD + FRAMES.len();
        let server = Server::raw(move |number, mut stream| async move {
            let mut sends = answer(&mut stream).await.into_bytes();
            assert_eq!(sends.len(), HEAD);
            sends.extend(FRAMES);
            if number > all {
                sends.truncate(HEAD);
                sends.extend(b"\x81\x04last");
                stream.write_all(&sends).await.unwrap();
                std::future::pending::<()>().await;
            }
            stream.write_all(&sends[..number - 1]).await.unwrap();
            cut(stream, with_reset).await;
        })
        .await;
        let mut feed = server.client().reconnect(at_once()).open().unwrap();
        let mut heard = Vec::new();
        while heard.last().is_none_or(|last| last != "last") {
            let message = within(feed.next()).await.unwrap();
            heard.push(message.expect("it never gives up").to_string());
        }
        assert_eq!(server.dials(), all + 1);
        let count = |text: &str| heard.iter().filter(|heard| *heard == text).count();
        let (a, bcd) = (count("a"), count("bcd"));
        // As often as the cut came after their last byte; a reset takes away what has not been read.
        let whole = (FRAMES.len() - 3, FRAMES.len() - 13);
        assert!(
            (a, bcd) == whole || with_reset && a <= whole.0 && bcd <= whole.1,
            "{heard:?}"
        );
        assert_eq!(a + bcd + 1, heard.len(), "{heard:?}");
    }
}

/// With 128 bytes, where 125 are allowed.
const LONG_PING: [u8; 132] = {
    let mut frame = [0; 132];
    (frame[0], frame[1], frame[3]) = (0x89, 126, 128);
    frame
};

#[tokio::test]
async fn garbage_brings_it_back_and_what_it_cannot_accept_is_final() {
    let from = |garbage: &'static [u8]| async move {
        let server = Server::raw(move |number, mut stream| async move {
            let head = answer(&mut stream).await;
            stream.write_all(head.as_bytes()).await.unwrap();
            let sends = if number < 3 { garbage } else { b"\x81\x04last" };
            stream.write_all(sends).await.unwrap();
            let _ = stream.read(&mut [0; 64]).await;
            std::future::pending::<()>().await;
        })
        .await;
        let mut feed = server.client().reconnect(at_once()).open().unwrap();
        let message = within(feed.next()).await.unwrap();
        (message, server.dials())
    };
    for garbage in [
        &b"\xf1\x00"[..],      // reserved bits
        b"\x83\x00",           // a reserved kind
        b"\x80\x01a",          // goes on with what has not begun
        b"\x01\x01a\x01\x01b", // begins anew before an end
        b"\x09\x00",           // a ping in parts
        &LONG_PING,
        b"\x81\x81\0\0\0\0a", // masked, by a server
        b"\x88\x01\x03",      // a close with half a code
    ] {
        let (message, dials) = from(garbage).await;
        let message = message.unwrap_or_else(|gave_up| panic!("{garbage:?} {gave_up}"));
        assert_eq!(
            (message.to_text().unwrap(), dials),
            ("last", 3),
            "{garbage:?}"
        );
    }
    for garbage in [
        &b"\x81\x01\xff"[..],                        // no UTF-8
        b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", // longer than anything
    ] {
        let (message, dials) = from(garbage).await;
        let gave_up = message.unwrap_err();
        assert_eq!(
            (gave_up.reason, dials),
            (StopReason::Permanent, 1),
            "{garbage:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_by_the_spoonful_is_as_late_as_none() {
    let server = Server::raw(|number, mut stream| async move {
        let head = answer(&mut stream).await;
        if number > 1 {
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(b"\x81\x04last").await.unwrap();
            std::future::pending::<()>().await;
        }
        for byte in std::iter::repeat(head.as_bytes()).flatten() {
            if stream.write_all(&[*byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let patience = Duration::from_millis(200);
    let client = server.client().patience(patience, patience);
    let mut feed = client.reconnect(at_once()).open().unwrap();
    let message = within(feed.next()).await.unwrap().unwrap();
    assert_eq!((message.to_text().unwrap(), server.dials()), ("last", 2));
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_asked_for_again() {
    let server = Server::new(|_, mut peer| async move {
        let _ = peer.send("hello".into()).await;
    })
    .await;
    let uri = server.uri();
    let client = Client::with_provider(move |dial| {
        // Longer than a label may be, so that no name server is asked.
        let unknown = format!("ws://{}.invalid/", "x".repeat(64)).parse();
        let address = if dial.number < 3 {
            unknown.unwrap()
        } else {
            uri.clone()
        };
        async move { Ok(ClientRequestBuilder::new(address)) }
    });
    let mut feed = client.reconnect(at_once()).open().unwrap();
    let message = within(feed.next()).await.unwrap().unwrap();
    assert_eq!((message.to_text().unwrap(), server.dials()), ("hello", 1));
}
