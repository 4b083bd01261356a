//! Does the feed go on where the server restarts?

use std::net::SocketAddr;
use std::time::Duration;

use becalm::hint::HintMode;
use becalm::reconnect::Reconnect;
use becalm::{Policy, StopReason};
use becalm_examples::websocket_feed::follow;
use becalm_ws::{Client, Ended, GaveUp};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

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

/// Waits for no restart as long as a client should.
fn client(address: &str) -> Client {
    let policy = Policy::exponential(Duration::from_millis(1))
        .cap(Duration::from_millis(20))
        .attempts(Policy::UNLIMITED)
        .hint(HintMode::Clamp);
    let address = address.parse().expect("an address");
    Client::new(address).reconnect(Reconnect::new(policy))
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
    let mut texts = Vec::new();
    let client = client(&address);
    let followed = within(follow(&client, |text| texts.push(text.to_owned()))).await;
    followed.expect("the feed is complete");
    assert_eq!(texts, ["1", "2", "3", "4", "5"]);
}

#[tokio::test]
async fn c11_a_feed_that_shuts_this_client_out_is_not_dialled_again() {
    let (address, _server) = serve(vec![Session::Close(&["1"], 1008)]);
    let mut texts = 0;
    let client = client(&address);
    let error = within(follow(&client, |_| texts += 1))
        .await
        .expect_err("a policy is violated");
    let gave_up = error.downcast_ref::<GaveUp>().expect("it gave up");
    assert_eq!((gave_up.reason, texts), (StopReason::Permanent, 1));
    assert!(matches!(gave_up.ended, Ended::Closed(Some(_))));
}
