//! Does a client that was written from the page get every message once? In JavaScript, on a connection that is cut.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_ws::session::{Began, SessionSettings};
use futures_util::{SinkExt, StreamExt};

use crate::server::Server;
use crate::sessions::{cutting, keeping};
use crate::within;

const MESSAGES: usize = 300;

#[tokio::test]
async fn a_client_in_javascript_loses_nothing_either() {
    if !has_node() {
        return;
    }
    let sessions = SessionSettings::default().window(4_000).open();
    let received = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&received);
    let server = keeping(&sessions, move |_, mut socket| {
        let all = Arc::clone(&all);
        async move {
            if let Began::Cold(_) = socket.began() {
                let handle = socket.handle();
                tokio::spawn(async move {
                    for number in 0..MESSAGES {
                        let text = format!("{number}é");
                        let sent = match number % 2 {
                            0 => handle.send(text).await,
                            _ => handle.send(text.into_bytes()).await,
                        };
                        sent.unwrap();
                    }
                });
            }
            while let Some(Ok(message)) = socket.next().await {
                all.lock()
                    .unwrap()
                    .push((message.is_text(), message.to_string()));
            }
        }
    })
    .await;
    let cuts = cutting(&server, |number| match number {
        // More than a window: the client has confirmed the session before it is cut.
        1 => (usize::MAX, 2_500),
        2..8 => (usize::MAX, 700 + number),
        8..14 => (1_200 + number, usize::MAX),
        _ => (usize::MAX, usize::MAX),
    })
    .await;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client/javascript.mjs");
    let node = tokio::process::Command::new(node())
        .args(["--experimental-websocket", "--no-warnings", script])
        .args([cuts.uri().to_string(), MESSAGES.to_string()])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let said = tokio::time::timeout(Duration::from_secs(30), node);
    let said = said.await.expect("it ends within thirty seconds").unwrap();
    let lines = String::from_utf8(said.stdout).unwrap();
    let came: Vec<_> = lines
        .lines()
        .filter(|line| line.contains("binary") || line.contains("text"))
        .collect();
    let expected = |number: usize| match number % 2 {
        0 => format!("text {number}é"),
        _ => format!("binary {number}é"),
    };
    assert_eq!(
        came,
        (0..MESSAGES).map(expected).collect::<Vec<_>>(),
        "{lines}"
    );
    let words: Vec<_> = lines
        .lines()
        .filter(|line| line.starts_with("cold") || *line == "resumed")
        .collect();
    assert_eq!(
        (words[0], words[1..].iter().all(|word| *word == "resumed")),
        ("cold 0 0", true),
        "{words:?}"
    );
    assert!(words.len() > 6, "{words:?}");
    let expected = |number: usize| (number % 2 == 0, number.to_string());
    assert_eq!(
        *received.lock().unwrap(),
        (0..MESSAGES).map(expected).collect::<Vec<_>>()
    );
    // It has ended its session.
    within(async {
        while sessions.counts().attached + sessions.counts().detached > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Its session is lost: what was sent is told, and what was not goes over the next one or is told, as it says.
#[tokio::test]
async fn a_client_in_javascript_carries_over_what_it_never_sent() {
    if !has_node() {
        return;
    }
    let all_three: &[&str] = &["two", "three", "in the call"];
    let fresh: &[&str] = &["in the call"];
    // A server that was started again knows no session, and a session of ada's is none of bob's.
    for (carries, user, cold, expected) in [
        ("yes", None, 6, all_three),
        ("no", None, 6, fresh),
        ("", None, 6, all_three),
        ("", Some("bob"), 4, fresh),
        ("yes", Some("bob"), 4, all_three),
    ] {
        let kept = user.map(|_| SessionSettings::default().open());
        let received = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&received);
        let server = Server::new(move |number, peer| {
            let (all, kept) = (Arc::clone(&all), kept.clone());
            async move {
                let sessions = kept.unwrap_or_else(|| SessionSettings::default().open());
                if number > 1 {
                    tokio::time::sleep(Duration::from_millis(400)).await;
                }
                let user = user.filter(|_| number > 1).unwrap_or("ada");
                let mut socket = sessions.accept(peer, user).await.unwrap();
                if number == 1 {
                    let _ = socket.send("bye".into()).await;
                    let _ = socket.next().await;
                    return;
                }
                while let Some(Ok(message)) = socket.next().await {
                    let message = message.to_string();
                    let is_last = message == "in the call";
                    all.lock().unwrap().push(message);
                    if is_last {
                        let _ = socket.send("done".into()).await;
                    }
                }
            }
        })
        .await;
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/client/javascript_cold.mjs"
        );
        let node = tokio::process::Command::new(node())
            .args(["--experimental-websocket", "--no-warnings", script])
            .args([server.uri().to_string(), carries.to_owned()])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let said = tokio::time::timeout(Duration::from_secs(30), node).await;
        let said = said.expect("it ends within thirty seconds").unwrap();
        let lines = String::from_utf8(said.stdout).unwrap();
        let told = format!("cold 0 [] []\ncold {cold} [one] [two,three]\n");
        assert_eq!(lines, told, "{carries:?} {user:?}");
        assert_eq!(*received.lock().unwrap(), expected, "{carries:?} {user:?}");
    }
}

/// Node has the WebSocket of browsers since 22, and behind a flag since 20.10.
pub fn has_node() -> bool {
    let version = std::process::Command::new(node()).arg("--version").output();
    let version = version.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let major = version.ok().and_then(|said| {
        said.trim_start_matches('v')
            .split('.')
            .next()?
            .parse::<u32>()
            .ok()
    });
    let has_node = major.is_some_and(|major| major >= 20);
    if !has_node {
        let advice = "install Node 20.10 or later, to try the client of docs/session.mjs";
        assert!(std::env::var_os("CI").is_none(), "{advice}");
        eprintln!("left out: {advice}");
    }
    has_node
}

/// The one that `scripts/test` installs where the system's is older, or the system's.
pub fn node() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/npm/node_modules/.bin/node");
    if own.exists() { own } else { "node".into() }
}
