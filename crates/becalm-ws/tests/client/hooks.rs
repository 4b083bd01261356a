//! What does a hook of the application that panics cost? No message goes without a word, and the socket goes on.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_ws::session::{Resume, SessionSettings};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::sync::Notify;

use becalm_ws::{Event, Message, Overflow};

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
        let nothing = tokio::time::timeout(Duration::from_millis(100), feed.next());
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

/// Whatever is told first, the observer panics at it, and hears of all the same.
#[tokio::test]
async fn an_observer_that_panics_is_told_the_rest_and_the_socket_goes_on() {
    for resumes in [false, true] {
        for panics_at in ["unconfirmed", "dropped", "ended", "opened", "closed"] {
            let kill = Arc::new(Notify::new());
            let killed = Arc::clone(&kill);
            let server = Server::new(move |number, peer| {
                let killed = Arc::clone(&killed);
                async move {
                    let sessions = SessionSettings::default().open();
                    if !resumes {
                        // It reads nothing of what comes.
                        killed.notified().await;
                        return drop(peer);
                    }
                    let socket = sessions.accept(peer, "ada").await.unwrap();
                    killed.notified().await;
                    drop((number, socket));
                }
            })
            .await;
            let told = Arc::<Mutex<Vec<String>>>::default();
            let seen = Arc::clone(&told);
            let client = server.client().outbox(4_000_000, Overflow::DropOldest);
            let client = if resumes {
                client.resume(Resume::default().window(150_000))
            } else {
                client
            };
            let client = client.observer(move |event| {
                let number = |message: &Message| message.to_string().trim().to_owned();
                let word = match event {
                    Event::Unconfirmed(message) => format!("unconfirmed {}", number(message)),
                    Event::Dropped(message) => format!("dropped {}", number(message)),
                    Event::Ended(_) => "ended".into(),
                    Event::Opened => "opened".into(),
                    Event::Closed => "closed".into(),
                    _ => return,
                };
                let panics = word.starts_with(panics_at);
                seen.lock().unwrap().push(word);
                assert!(!panics, "a fault");
            });
            let mut feed = client.open().unwrap();
            let handle = feed.handle();
            for number in 0..100 {
                handle.try_send(format!("{number:60000}")).unwrap();
            }
            let times = |word: &str| {
                let told = told.lock().unwrap();
                told.iter().filter(|told| *told == word).count()
            };
            // Until it holds as much as the network takes, then it is lost and begins anew, then it is closed.
            for step in 0..3 {
                let mut go_on = async || {
                    while let Err(panic) = AssertUnwindSafe(feed.next()).catch_unwind().await {
                        let said = panic.downcast_ref::<&str>();
                        assert_eq!(said, Some(&"a fault"));
                    }
                };
                let a_while = Duration::from_millis(300);
                let _ = tokio::time::timeout(a_while, go_on()).await;
                within(async {
                    while times("opened") <= step.min(1) {
                        let _ = tokio::time::timeout(a_while, go_on()).await;
                        tokio::task::yield_now().await;
                    }
                })
                .await;
                match step {
                    0 => kill.notify_one(),
                    1 => handle.close(None),
                    _ => (),
                }
            }
            let dropped = AssertUnwindSafe(async move { drop(feed) });
            let _ = dropped.catch_unwind().await;
            for number in 0..100 {
                let each =
                    times(&format!("dropped {number}")) + times(&format!("unconfirmed {number}"));
                // What a connection without a session has written is told no more.
                assert!(
                    each == 1 || !resumes && each == 0,
                    "{resumes} {panics_at} {number}: {each}"
                );
            }
            let told = told.lock().unwrap();
            let has_panicked = told.iter().any(|word| word.starts_with(panics_at));
            assert!(has_panicked, "{resumes} {panics_at}: {told:?}");
            assert_eq!(told.last().unwrap(), "closed", "{resumes} {panics_at}");
        }
    }
}

#[tokio::test]
async fn an_observer_that_panics_when_it_gives_up_breaks_the_next_poll_or_the_drop() {
    for is_polled in [true, false] {
        let server = Server::answering(|_| "HTTP/1.1 403 A\r\n\r\n".into()).await;
        let client = server
            .client()
            .observer(|event| assert!(!matches!(event, Event::GaveUp(_)), "a fault"));
        let mut feed = client.open().unwrap();
        let gave_up = within(feed.next()).await.unwrap();
        assert!(gave_up.is_err(), "it is told by the stream all the same");
        let panic = if is_polled {
            let next = AssertUnwindSafe(feed.next()).catch_unwind();
            within(next).await.unwrap_err()
        } else {
            let drops = AssertUnwindSafe(async move { drop(feed) });
            drops.catch_unwind().await.unwrap_err()
        };
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a fault"));
    }
}
