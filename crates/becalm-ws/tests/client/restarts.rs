//! What does a client make of a proxy's answers while what is behind the proxy restarts?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use becalm::{Failure, Policy, StopReason};
use becalm_ws::{
    Client, ClientRequestBuilder, Ended, Event, Message, becalm::reconnect::Reconnect,
};
use futures_util::future::join_all;
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use crate::server::{Server, read_request};
use crate::within;

const CLIENTS: usize = 20;
/// How long the backend is away.
const RESTART: Duration = Duration::from_millis(1_500);

/// A proxy, which hands on to a server that says hello, or, while that is away, answers with this.
async fn proxy(answer: &'static str) -> (Server, watch::Sender<bool>) {
    let (is_up, seen) = watch::channel(true);
    let server = Server::raw(move |_, mut stream| {
        let mut is_up = seen.clone();
        async move {
            if !*is_up.borrow_and_update() {
                read_request(&mut stream).await;
                let _ = stream.write_all(answer.as_bytes()).await;
                return;
            }
            let Ok(mut peer) = tokio_tungstenite::accept_async(stream).await else {
                return;
            };
            let _ = peer.send("hello".into()).await;
            // Cut when the backend goes.
            let _ = is_up.changed().await;
        }
    })
    .await;
    (server, is_up)
}

fn often(server: &Server) -> Client {
    let policy = Policy::exponential(Duration::from_millis(20)).cap(Duration::from_millis(200));
    let reconnect = Reconnect::new(policy.attempts(Policy::UNLIMITED));
    server.client().reconnect(reconnect)
}

/// How many of the clients are back after a restart behind a proxy that answers so.
async fn back_after(answer: &'static str) -> usize {
    let (server, is_up) = proxy(answer).await;
    let client = often(&server);
    let mut feeds: Vec<_> = (0..CLIENTS).map(|_| client.open().unwrap()).collect();
    for feed in &mut feeds {
        assert_eq!(within(feed.next()).await.unwrap().unwrap(), "hello".into());
    }
    assert_eq!(server.dials(), CLIENTS);
    is_up.send_replace(false);
    let returns = feeds.into_iter().map(|mut feed| {
        tokio::spawn(async move {
            let came = tokio::time::timeout(RESTART + Duration::from_secs(8), feed.next()).await;
            matches!(came, Ok(Some(Ok(Message::Text(_)))))
        })
    });
    let returns: Vec<_> = returns.collect();
    tokio::time::sleep(RESTART).await;
    assert!(server.dials() > 2 * CLIENTS, "{answer}: nobody has asked");
    is_up.send_replace(true);
    let back = join_all(returns).await;
    back.into_iter()
        .filter(|back| matches!(back, Ok(true)))
        .count()
}

#[tokio::test]
async fn all_come_back_whatever_the_proxy_says_while_its_backend_restarts() {
    let answers = [
        "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 23\r\n\r\n<form action=\"/login\" >",
        "HTTP/1.1 302 Found\r\nlocation: /login\r\ncontent-length: 0\r\n\r\n",
        // Another protocol, and an upgrade that is none of ours.
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 101 A\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n",
    ];
    let back = join_all(answers.map(back_after)).await;
    for (answer, back) in answers.into_iter().zip(back) {
        assert_eq!(back, CLIENTS, "{answer}");
    }
}

#[tokio::test]
async fn a_login_that_is_refused_and_an_address_that_is_gone_are_the_end_all_the_same() {
    for answer in [
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n",
    ] {
        let (server, is_up) = proxy(answer).await;
        let mut feed = often(&server).open().unwrap();
        assert!(within(feed.next()).await.unwrap().is_ok());
        is_up.send_replace(false);
        let gave_up = within(feed.next()).await.unwrap().unwrap_err();
        assert_eq!((gave_up.reason, server.dials()), (StopReason::Permanent, 2));
    }
}

/// A login that was refused and renewed says nothing of the address.
#[tokio::test]
async fn the_patience_does_not_begin_with_a_login_that_has_ended() {
    let server = Server::raw(move |number, mut stream| async move {
        let status = match number {
            2 => "401 Unauthorized",
            3..6 => "503 Service Unavailable",
            6 => "404 Not Found",
            _ => {
                if let Ok(mut peer) = tokio_tungstenite::accept_async(stream).await {
                    let _ = peer.send("hello".into()).await;
                }
                return;
            }
        };
        if number == 6 {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        read_request(&mut stream).await;
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).await;
    })
    .await;
    let uri = server.uri();
    let client = Client::with_provider(move |_| {
        let request = ClientRequestBuilder::new(uri.clone());
        async move { Ok(request) }
    });
    let client = client.reconnect(crate::soon());
    let mut feed = client
        .restart_patience(Duration::from_millis(200))
        .open()
        .unwrap();
    for _ in 0..2 {
        assert_eq!(within(feed.next()).await.unwrap().unwrap(), "hello".into());
    }
    assert_eq!(server.dials(), 7);
}

#[tokio::test]
async fn an_address_that_never_worked_is_dialled_once_and_the_error_says_so() {
    let (server, is_up) = proxy("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
    is_up.send_replace(false);
    let mut feed = often(&server).open().unwrap();
    let gave_up = within(feed.next()).await.unwrap().unwrap_err();
    assert_eq!((gave_up.reason, server.dials()), (StopReason::Permanent, 1));
    let sentence = gave_up.to_string();
    assert!(sentence.contains("404"), "{sentence}");
    // What a person tries again is still an address that never worked.
    feed.handle().dial_now();
    assert!(within(feed.next()).await.unwrap().is_err());
    assert_eq!(server.dials(), 2);
}

#[tokio::test]
async fn the_patience_ends_and_begins_anew_with_a_connection() {
    let (server, is_up) = proxy("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
    let patience = Duration::from_millis(400);
    let mut feed = often(&server).restart_patience(patience).open().unwrap();
    let handle = feed.handle();
    for _ in 0..2 {
        handle.dial_now();
        assert!(within(feed.next()).await.unwrap().is_ok());
        let (before, since) = (server.dials(), std::time::Instant::now());
        is_up.send_replace(false);
        let gave_up = within(feed.next()).await.unwrap().unwrap_err();
        assert_eq!(gave_up.reason, StopReason::Permanent);
        assert!(since.elapsed() >= patience && server.dials() >= before + 3);
        is_up.send_replace(true);
    }
    // Without patience the first is the last.
    let mut feed = often(&server)
        .restart_patience(Duration::ZERO)
        .open()
        .unwrap();
    assert!(within(feed.next()).await.unwrap().is_ok());
    let before = server.dials();
    is_up.send_replace(false);
    assert!(within(feed.next()).await.unwrap().is_err());
    assert_eq!(server.dials(), before + 1);
}

#[tokio::test]
async fn your_own_judge_of_answers_rules() {
    let (server, is_up) =
        proxy("HTTP/1.1 418 A\r\nx-gone: for-good\r\ncontent-length: 4\r\n\r\nbody").await;
    is_up.send_replace(false);
    let asked = Arc::<AtomicUsize>::default();
    let seen = Arc::clone(&asked);
    let client = often(&server).answering(move |answer| {
        assert_eq!((answer.status, answer.worked_before), (418, false));
        assert!(answer.body.is_empty() || answer.body == b"body");
        assert_eq!(answer.headers["x-gone"], "for-good");
        match seen.fetch_add(1, Ordering::SeqCst) {
            0..3 => Failure::transient().unsent(),
            _ => answer.failure(),
        }
    });
    let ends = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&ends);
    let client = client.observer(move |event| {
        if let Event::Ended(Ended::Handshake(_)) = event {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut feed = client.open().unwrap();
    assert!(within(feed.next()).await.unwrap().is_err());
    assert_eq!((server.dials(), asked.load(Ordering::SeqCst)), (4, 4));
    assert_eq!(ends.load(Ordering::SeqCst), 4);
}
