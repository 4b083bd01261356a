//! What follows a dial that fails?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::StopReason;
use becalm_ws::{Client, ClientRequestBuilder, Ended};
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;

use crate::server::{Server, read_request};
use crate::{soon, within};

fn head(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n")
}

#[tokio::test]
async fn statuses_that_pass_are_dialled_again_and_others_end_it() {
    for status in [
        "408 A", "425 A", "429 A", "500 A", "502 A", "503 A", "504 A",
    ] {
        let server = Server::answering(move |_| head(status)).await;
        let mut feed = server.client().open().unwrap();
        let feeding = tokio::spawn(async move { feed.next().await });
        within(async {
            while server.dials() < 3 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        feeding.abort();
    }
    for status in [
        "200 OK", "301 A", "400 A", "403 A", "404 A", "405 A", "406 A", "410 A", "426 A",
    ] {
        let server = Server::answering(move |_| head(status)).await;
        let mut feed = server.client().open().unwrap();
        let gave_up = within(feed.next()).await.unwrap().unwrap_err();
        assert_eq!(
            (gave_up.reason, server.dials()),
            (StopReason::Permanent, 1),
            "{status}"
        );
    }
}

#[tokio::test]
async fn what_is_no_websocket_is_not_dialled_again() {
    let garbage = Server::answering(|_| "SSH-2.0-OpenSSH_9.2\r\n\r\n".to_owned()).await;
    let mut feed = garbage.client().open().unwrap();
    let gave_up = within(feed.next()).await.unwrap().unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Permanent, "{gave_up}");
    let accept = "sec-websocket-accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let upgrade = "connection: upgrade\r\nupgrade: websocket";
    let wrong = format!("HTTP/1.1 101 A\r\n{upgrade}\r\n{accept}\r\n\r\n");
    let wrong = Server::answering(move |_| wrong.clone()).await;
    let mut feed = wrong.client().open().unwrap();
    let gave_up = within(feed.next()).await.unwrap().unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Permanent, "{gave_up}");
}

#[tokio::test]
async fn an_address_of_no_websocket_is_dialled_by_nobody() {
    let tls = cfg!(any(
        feature = "rustls-native-roots",
        feature = "rustls-webpki-roots"
    ));
    let without_tls = (!tls).then_some("wss://localhost:1/");
    for address in ["http://localhost:1/", "localhost:1"]
        .into_iter()
        .chain(without_tls)
    {
        let client = Client::new(address.parse().unwrap()).reconnect(soon());
        let mut feed = client.open().unwrap();
        let gave_up = within(feed.next()).await.unwrap().unwrap_err();
        assert_eq!(gave_up.reason, StopReason::Permanent, "{address}");
    }
}

#[tokio::test]
async fn a_dial_that_is_cut_or_hangs_is_dialled_again() {
    let server = Server::raw(|number, mut stream| async move {
        match number {
            // Before the request, within the answer, and never.
            1 => (),
            2 => {
                read_request(&mut stream).await;
                let _ = stream.write_all(b"HTTP/1.1 101 Switching").await;
            }
            3 => std::future::pending().await,
            _ => {
                let mut peer = tokio_tungstenite::accept_async(stream).await.unwrap();
                let _ = peer.send("at last".into()).await;
            }
        }
    })
    .await;
    let patience = Duration::from_millis(200);
    let mut feed = server.client().patience(patience, patience).open().unwrap();
    assert!(within(feed.next()).await.unwrap().is_ok());
    assert_eq!(server.dials(), 4);
}

#[tokio::test]
async fn nobody_there_is_dialled_until_somebody_is() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let uri = format!("ws://{address}/").parse().unwrap();
    let mut feed = Client::new(uri).reconnect(soon()).open().unwrap();
    let waiting = tokio::spawn(async move { feed.next().await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let (stream, _) = within(listener.accept()).await.unwrap();
    let mut peer = tokio_tungstenite::accept_async(stream).await.unwrap();
    peer.send("hello".into()).await.unwrap();
    assert!(within(waiting).await.unwrap().unwrap().is_ok());
}

#[tokio::test]
async fn a_login_that_is_refused_is_renewed_once() {
    let accepted = Arc::new(Mutex::new(Vec::new()));
    let server = Server::raw(|number, mut stream| async move {
        if number == 1 {
            read_request(&mut stream).await;
            let _ = stream.write_all(head("401 A").as_bytes()).await;
        } else {
            let mut peer = tokio_tungstenite::accept_async(stream).await.unwrap();
            let _ = peer.send("hello".into()).await;
        }
    })
    .await;
    let (uri, asked) = (server.uri(), Arc::clone(&accepted));
    let client = Client::with_provider(move |dial| {
        asked.lock().unwrap().push(dial.login_was_refused);
        let request = ClientRequestBuilder::new(uri.clone());
        async move { Ok(request) }
    });
    let mut feed = client.reconnect(soon()).open().unwrap();
    assert!(within(feed.next()).await.unwrap().is_ok());
    assert_eq!(*accepted.lock().unwrap(), [false, true]);

    let strict = Server::answering(|_| head("401 A")).await;
    let mut feed = strict.client().open().unwrap();
    let gave_up = within(feed.next()).await.unwrap().unwrap_err();
    assert_eq!((gave_up.reason, strict.dials()), (StopReason::Permanent, 1));
}

#[tokio::test]
async fn a_provider_that_fails_is_a_dial_that_failed() {
    let server = Server::new(|_, mut peer| async move {
        let _ = peer.send("hello".into()).await;
    })
    .await;
    let uri = server.uri();
    let client = Client::with_provider(move |dial| {
        let request = ClientRequestBuilder::new(uri.clone());
        async move {
            match dial.number {
                1..3 => Err("no token yet".into()),
                _ => Ok(request),
            }
        }
    });
    let ends = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ends);
    let client = client.observer(move |event| {
        if let becalm_ws::Event::Ended(ended @ Ended::NoEndpoint(_)) = event {
            seen.lock().unwrap().push(ended.to_string());
        }
    });
    let mut feed = client.reconnect(soon()).open().unwrap();
    assert!(within(feed.next()).await.unwrap().is_ok());
    assert_eq!(*ends.lock().unwrap(), ["no endpoint: no token yet"; 2]);
}

#[tokio::test]
async fn a_ticket_is_shown_until_a_server_has_seen_it() {
    let tickets = Arc::<Mutex<Vec<Option<String>>>>::default();
    let seen = Arc::clone(&tickets);
    let server = Server::raw(move |number, mut stream| {
        let seen = Arc::clone(&seen);
        async move {
            let request = String::from_utf8(read_request(&mut stream).await).unwrap();
            let ticket = request.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("admission-ticket").then(|| value.to_owned())
            });
            seen.lock().unwrap().push(ticket);
            // The second dial is cut on its way.
            if number != 2 {
                let refusal = "HTTP/1.1 503 A\r\nretry-after-ms: 0\r\nadmission-ticket: 17\r\ncontent-length: 0\r\n\r\n";
                let last = if number == 1 { refusal.to_owned() } else { head("404 A") };
                let _ = stream.write_all(last.as_bytes()).await;
            }
        }
    })
    .await;
    let mut feed = server.client().open().unwrap();
    assert!(within(feed.next()).await.unwrap().is_err());
    let ticket = || Some("17".to_owned());
    assert_eq!(*tickets.lock().unwrap(), [None, ticket(), ticket()]);
}
