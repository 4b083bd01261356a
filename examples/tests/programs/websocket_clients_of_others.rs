//! Do clients that nobody here wrote understand the server? Python's `websockets` and Node's `ws`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use becalm_admission::Admission;
use becalm_ws::server::{Drain, Server, Settings};
use becalm_ws::tungstenite::Message;
use futures_util::{SinkExt, StreamExt};

use crate::servers::websockets::Of;
use crate::within;

/// A server that sends back what it gets, and its port.
async fn echoing() -> (Server, u16) {
    let settings = Settings::new(Admission::per_second(500));
    let server = settings.server().expect("valid settings");
    let listener = server.listen("127.0.0.1:0").await;
    let mut listener = listener.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let accepting = server.clone();
    tokio::spawn(async move {
        while let Some(connection) = listener.accept().await {
            let server = accepting.clone();
            tokio::spawn(async move {
                let peer = connection.peer().clone();
                let Ok(handshake) = server.handshake(connection, &peer).await else {
                    return;
                };
                let Ok(mut socket) = handshake.accept().await else {
                    return;
                };
                socket.ready();
                while let Some(Ok(message)) = socket.next().await {
                    let is_data = matches!(message, Message::Text(_) | Message::Binary(_));
                    if is_data && socket.send(message).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (server, port)
}

#[tokio::test]
async fn numbers_come_back_and_a_drain_says_when_to_return() {
    for of in Of::ALL {
        let program = match of {
            Of::Python => include_str!("servers/websockets_client.py"),
            Of::Node => include_str!("servers/ws_client.js"),
        };
        let Some(mut command) = of.command(program) else {
            continue;
        };
        let (server, port) = echoing().await;
        let client = command.arg(port.to_string()).stdout(Stdio::piped());
        let mut client = client.spawn().expect("it runs");
        let lines = BufReader::new(client.stdout.take().expect("it is piped")).lines();
        let (said, mut says) = tokio::sync::mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = said.send(line);
            }
        });
        assert_eq!(
            within(says.recv()).await.as_deref(),
            Some("echoed"),
            "{of:?}"
        );
        let drain = Drain::per_second(1_000).notice(Duration::ZERO);
        within(server.drain(drain)).await;
        let closed = within(says.recv()).await.expect("a close");
        assert!(
            closed.starts_with("1012 retry-after-ms="),
            "{of:?} {closed}"
        );
        within(says.recv())
            .await
            .ok_or(())
            .expect_err("nothing else");
        assert!(client.wait().expect("it ends").success(), "{of:?}");
    }
}
