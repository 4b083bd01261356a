//! Who names the endpoint, how often, and which sockets dial with it?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becalm::StopReason;
use becalm::reconnect::Pacer;
use becalm_ws::{Client, ClientRequestBuilder, Ended};
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::server::{Server, read_request};
use crate::{soon, within};

const SOCKETS: usize = 1000;

/// A server that lets in who shows this token, and greets.
async fn wants(token: &'static str) -> Server {
    Server::raw(move |_, mut stream: TcpStream| async move {
        let mut seen = vec![0; 1024];
        let read = stream.peek(&mut seen).await.unwrap_or(0);
        if String::from_utf8_lossy(&seen[..read]).contains(token) {
            if let Ok(mut peer) = tokio_tungstenite::accept_async(stream).await {
                let _ = peer.send("hello".into()).await;
                let _ = peer.next().await;
            }
        } else {
            read_request(&mut stream).await;
            let refusal = b"HTTP/1.1 401 A\r\ncontent-length: 0\r\n\r\n";
            let _ = stream.write_all(refusal).await;
        }
    })
    .await
}

/// A client whose provider takes so long, and names this token; and how often it was asked.
fn client(
    server: &Server,
    takes: Duration,
    token: impl Fn(bool) -> Option<&'static str> + Send + Sync + 'static,
) -> (Client, Arc<AtomicUsize>) {
    let logins = Arc::new(AtomicUsize::new(0));
    let (counts, uri) = (Arc::clone(&logins), server.uri());
    let client = Client::with_provider(move |dial| {
        counts.fetch_add(1, Ordering::SeqCst);
        let token = token(dial.login_was_refused);
        let request = ClientRequestBuilder::new(uri.clone());
        async move {
            sleep(takes).await;
            let token = token.ok_or("no token")?;
            Ok(request.with_header("authorization", token))
        }
    });
    (client.reconnect(soon()), logins)
}

/// So many sockets at once: how many were greeted. The others gave up for good.
async fn greeted(client: &Client) -> usize {
    let mut sockets = JoinSet::new();
    for _ in 0..SOCKETS {
        let mut socket = client.open().unwrap();
        sockets.spawn(async move {
            match socket.next().await.unwrap() {
                Ok(_) => true,
                Err(gave_up) => {
                    assert_eq!(gave_up.reason, StopReason::Permanent, "{gave_up}");
                    assert!(matches!(gave_up.ended, Ended::Handshake(_)), "{gave_up}");
                    false
                }
            }
        });
    }
    let greeted = timeout(Duration::from_secs(60), sockets.join_all()).await;
    let greeted = greeted.expect("they end");
    greeted.into_iter().filter(|greeted| *greeted).count()
}

#[tokio::test]
async fn sockets_whose_login_is_refused_dial_once_each() {
    let server = wants("never").await;
    let began = Instant::now();
    let (client, logins) = client(&server, Duration::ZERO, |_| Some("token"));
    assert_eq!(greeted(&client).await, 0);
    assert!(server.dials() <= SOCKETS + 10, "{} dials", server.dials());
    let allowed = 4 + usize::try_from(began.elapsed().as_secs()).unwrap();
    let logins = logins.load(Ordering::SeqCst);
    assert!((2..=allowed.min(10)).contains(&logins), "{logins} logins");
}

#[tokio::test]
async fn a_token_that_has_ended_is_found_so_by_ten_sockets() {
    let server = wants("new").await;
    let token = |renew| Some(if renew { "new" } else { "old" });
    let (client, logins) = client(&server, Duration::ZERO, token);
    assert_eq!(greeted(&client).await, SOCKETS);
    assert!(server.dials() <= SOCKETS + 10, "{} dials", server.dials());
    assert_eq!(logins.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_provider_that_is_slower_than_dials_is_asked_once_for_all() {
    let server = wants("new").await;
    let (client, logins) = client(&server, Duration::from_secs(1), |_| Some("new"));
    // Few at once, so that a dial is quick on any machine.
    let pacer = Pacer::new(10_000, Duration::from_secs(1), 10_000).unwrap();
    let client = client
        .patience(Duration::from_millis(500), Duration::from_secs(1))
        .pacer(pacer.in_flight(10));
    // The one that asks first leaves.
    let mut leaves = client.open().unwrap();
    let left = timeout(Duration::from_millis(100), leaves.next()).await;
    assert!(left.is_err());
    drop(leaves);
    assert_eq!(greeted(&client).await, SOCKETS);
    assert_eq!(server.dials(), SOCKETS);
    assert_eq!(logins.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn while_every_provider_fails_or_hangs_nothing_is_dialled() {
    for takes in [Duration::ZERO, Duration::from_secs(3600)] {
        let server = wants("new").await;
        let (client, logins) = client(&server, takes, |_| None);
        let limit = Duration::from_millis(100);
        // A shared pacer is not held by those that wait.
        let pacer = Pacer::new(1000, Duration::from_secs(1), 1000).unwrap();
        let client = client
            .login_timeout(limit)
            .pacer(pacer.clone().in_flight(1));
        let mut sockets = JoinSet::new();
        for _ in 0..SOCKETS {
            let mut socket = client.open().unwrap();
            sockets.spawn(async move { socket.next().await.is_none() });
        }
        sleep(Duration::from_secs(3)).await;
        let logins = logins.load(Ordering::SeqCst);
        assert!((3..=10).contains(&logins), "{logins} logins in 3 s");
        assert_eq!(server.dials(), 0);
    }
}

#[tokio::test]
async fn a_provider_that_fails_takes_nothing_from_what_it_named_before() {
    let server = wants("new").await;
    let fails = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&fails);
    let token = move |_| (!failing.load(Ordering::SeqCst)).then_some("new");
    let (client, _) = client(&server, Duration::ZERO, token);
    for _ in 0..2 {
        let mut socket = client.open().unwrap();
        within(socket.next()).await.unwrap().unwrap();
        fails.store(true, Ordering::SeqCst);
    }
}
