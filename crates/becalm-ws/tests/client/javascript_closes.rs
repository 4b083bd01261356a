//! After which closes does the client in JavaScript dial again? After those after which the one in Rust does.

use std::process::Stdio;
use std::time::Duration;

use becalm::classify::{Class, websocket::classify_close};
use becalm_ws::{CloseCode, CloseFrame};
use futures_util::{SinkExt, StreamExt};
use tokio::io::AsyncWriteExt;

use crate::javascript::{has_node, node};
use crate::server::{Server, read_request};

/// Ends the first connection in its way, and each later one with 1000.
#[derive(Debug, Clone, Copy)]
enum First {
    Closes(u16),
    /// It says what no session may.
    Breaks,
    Answers503,
}

async fn ending(first: First) -> Server {
    Server::raw(move |number, mut stream| async move {
        if let (1, First::Answers503) = (number, first) {
            read_request(&mut stream).await;
            let _ = stream.write_all(b"HTTP/1.1 503 Away\r\n\r\n").await;
            return;
        }
        let Ok(mut peer) = tokio_tungstenite::accept_async(stream).await else {
            return;
        };
        let code = match first {
            First::Closes(code) if number == 1 => code,
            First::Breaks if number == 1 => {
                let _ = peer.send("no envelope".into()).await;
                while let Some(Ok(_)) = peer.next().await {}
                return;
            }
            _ => 1000,
        };
        let frame = CloseFrame {
            code: CloseCode::from(code),
            reason: "".into(),
        };
        let _ = peer.close(Some(frame)).await;
        while let Some(Ok(_)) = peer.next().await {}
    })
    .await
}

#[tokio::test]
async fn a_client_in_javascript_ends_with_the_codes_that_end_the_one_in_rust() {
    if !has_node() {
        return;
    }
    let closes = [
        1000, 1002, 1007, 1011, 3000, 3008, 4000, 4401, 4404, 4429, 4503,
    ];
    let firsts = closes.map(First::Closes).into_iter();
    // As the table of the application says, and where a person dials again.
    let own = [1003, 1008].map(First::Closes);
    let firsts: Vec<_> = firsts
        .chain(own)
        .chain([First::Breaks, First::Answers503])
        .collect();
    let mut servers = Vec::new();
    for first in &firsts {
        servers.push(ending(*first).await);
    }
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/client/javascript_closes.mjs"
    );
    let node = tokio::process::Command::new(node())
        .args(["--experimental-websocket", "--no-warnings", script])
        .args(servers.iter().map(|server| server.uri().to_string()))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let said = tokio::time::timeout(Duration::from_secs(30), node).await;
    let said = said.expect("it ends within thirty seconds").unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let (again, ends) = said.split_once('\n').unwrap();
    let is_end = |code: u16| classify_close(code).class == Class::Permanent;
    let expected: Vec<_> = (0..=u16::MAX).filter(|code| !is_end(*code)).collect();
    let again: Vec<u16> = again.split(' ').map(|code| code.parse().unwrap()).collect();
    assert_eq!(again, expected);
    for (number, (first, server)) in firsts.iter().zip(&servers).enumerate() {
        let (last, dials) = match first {
            First::Closes(1003 | 1008) | First::Answers503 => (1000, 2),
            First::Closes(code) if is_end(*code) => (*code, 1),
            First::Closes(_) => (1000, 2),
            First::Breaks => (1002, 1),
        };
        let told = format!("{number} {last}");
        assert!(ends.lines().any(|line| line == told), "{first:?}: {ends}");
        assert_eq!(server.dials(), dials, "{first:?}");
    }
}
