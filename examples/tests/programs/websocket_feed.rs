//! Does the feed go on where the server restarts?

use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use becalm::time::FakeSleeper;
use becalm::{Budget, Policy, Retrier, StopReason};
use becalm_examples::websocket_feed::{Ended, follow};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::recorder::Recorder;
use crate::servers::free_port;
use crate::within;

/// What the server does in one life.
#[derive(Debug, Clone, Copy)]
enum Session {
    /// Refuses the handshake: 503.
    Refuse,
    /// Sends these texts, then closes with this code.
    Close(&'static [&'static str], u16),
    /// Sends these texts, then is gone.
    Break(&'static [&'static str]),
}

/// A server that restarts after each session, on the same port. It ends with its test.
fn serve(script: Vec<Session>) -> (String, JoinSet<()>) {
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut server = JoinSet::new();
    server.spawn(async move {
        for session in script {
            let listener = TcpListener::bind(address).await.expect("its port");
            let (mut stream, _) = listener.accept().await.expect("a client");
            drop(listener);
            let (texts, code) = match session {
                Session::Close(texts, code) => (texts, Some(code)),
                Session::Break(texts) => (texts, None),
                Session::Refuse => {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        let read = stream.read_buf(&mut request).await;
                        assert_ne!(read.expect("a request"), 0);
                    }
                    let answer = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
                    stream
                        .write_all(answer.as_bytes())
                        .await
                        .expect("it listens");
                    continue;
                }
            };
            let mut socket = accept_async(stream).await.expect("a handshake");
            for text in texts {
                socket.send(Message::text(*text)).await.expect("it listens");
            }
            if let Some(code) = code {
                let (code, reason) = (CloseCode::from(code), "".into());
                socket
                    .close(Some(CloseFrame { code, reason }))
                    .await
                    .expect("it listens");
                while let Some(Ok(_)) = socket.next().await {}
            }
        }
    });
    (format!("ws://{address}"), server)
}

fn patient() -> (Retrier, Receiver<String>) {
    let (recorder, events) = Recorder::new();
    let retrier = Policy::exponential(Duration::from_millis(100))
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None)
        .builder()
        .sleeper(FakeSleeper::auto())
        .observer(recorder)
        .build();
    (retrier.expect("a valid policy"), events)
}

#[tokio::test]
async fn c11_a_feed_goes_on_after_restarts_until_it_is_complete() {
    let (address, _server) = serve(vec![
        Session::Close(&["1", "2"], 1012),
        Session::Refuse,
        Session::Break(&["3"]),
        Session::Close(&["4"], 1001),
        Session::Close(&["5"], 1000),
    ]);
    let (retrier, events) = patient();
    let mut texts = Vec::new();
    let followed = within(follow(&address, &retrier, |text| {
        texts.push(text.to_owned());
    }))
    .await;
    followed.expect("the feed is complete");
    assert_eq!(texts, ["1", "2", "3", "4", "5"]);
    let events: Vec<String> = events.try_iter().collect();
    let all = |text: &'static str| events.iter().filter(move |told| told.contains(text));
    assert!(
        all("503 Service").count() == 1 && all("Stopped").count() == 0,
        "{events:?}"
    );
    // What the registration of 1012 asks of clients: 5 to 30 s.
    let restart = all("closed").next().expect("the first end");
    let is_short = ["ms,", "µs,", "ns,"]
        .iter()
        .any(|unit| restart.contains(unit));
    assert!(!is_short, "{restart}");
}

#[tokio::test]
async fn c11_a_feed_that_shuts_this_client_out_is_not_dialled_again() {
    let (address, _server) = serve(vec![Session::Close(&["1"], 1008)]);
    let (retrier, _) = patient();
    let mut texts = 0;
    let followed = within(follow(&address, &retrier, |_| texts += 1)).await;
    let gave_up = followed.expect_err("a policy is violated");
    assert_eq!((gave_up.reason(), texts), (StopReason::Permanent, 1));
    assert!(matches!(gave_up.error(), Some(Ended::Closed(Some(_)))));
}
