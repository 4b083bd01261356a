//! What does a hook of the application that panics cost? No message goes without a word, and the socket goes on.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use becalm_ws::session::{Resume, SessionSettings};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::sync::Notify;

use crate::server::Server;
use crate::sessions::{Seen, echo};
use crate::within;

#[tokio::test]
async fn what_a_hook_that_panics_was_asked_about_is_told_and_what_it_carried_goes_on() {
    let kill = Arc::new(Notify::new());
    let killed = Arc::clone(&kill);
    let server = Server::new(move |number, peer| {
        let killed = Arc::clone(&killed);
        async move {
            // Each knows no session.
            let sessions = SessionSettings::default().open();
            let mut socket = sessions.accept(peer, "ada").await.unwrap();
            if number == 1 {
                killed.notified().await;
                return;
            }
            socket.send("everything".into()).await.unwrap();
            echo(socket).await;
        }
    })
    .await;
    let seen = Seen::default();
    let client = seen.watching(server.client().resume(Resume::default().window(1_000)));
    let client = client.carries(|_, message| {
        assert!(!message.to_string().starts_with("third"), "a fault");
        true
    });
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    for name in ["first", "second", "third", "fourth"] {
        handle.try_send(format!("{name}{:800}", "")).unwrap();
    }
    within(async {
        let nothing = tokio::time::timeout(std::time::Duration::from_millis(100), feed.next());
        assert!(nothing.await.is_err());
    })
    .await;
    kill.notify_one();
    let next = AssertUnwindSafe(feed.next()).catch_unwind();
    let panic = within(next).await.unwrap_err();
    let said = panic.downcast_ref::<String>().map(String::as_str);
    assert_eq!(said.or(panic.downcast_ref().copied()), Some("a fault"));
    let words: Vec<_> = seen
        .words()
        .iter()
        .map(|word| word.trim().to_owned())
        .collect();
    assert_eq!(
        words,
        [
            "New",
            "unconfirmed first",
            "dropped third",
            "dropped fourth",
            "Epoch"
        ]
    );
    handle.try_send("fresh").unwrap();
    for expected in ["everything", "second", "fresh"] {
        let came = within(feed.next()).await.unwrap().unwrap().to_string();
        assert_eq!(came.trim(), expected);
    }
}
