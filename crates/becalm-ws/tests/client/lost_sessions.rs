//! What does a client hear of a session that is over, and what goes into the next one? What was
//! never sent.

use std::sync::Arc;
use std::time::Duration;

use becalm_ws::session::{Cold, Lost, Resume, SessionSettings};
use becalm_ws::{Overflow, State};
use futures_util::{SinkExt, StreamExt};

use crate::server::Server;
use crate::sessions::{Seen, echo, keeping};
use crate::within;

#[tokio::test]
async fn a_server_without_the_session_begins_cold_and_what_was_lost_is_told_first() {
    let (old, new) = (
        SessionSettings::default().open(),
        SessionSettings::default().open(),
    );
    let server = Server::new(move |number, peer| {
        let sessions = if number == 1 {
            old.clone()
        } else {
            new.clone()
        };
        async move {
            let mut socket = sessions.accept(peer, "ada").await.unwrap();
            if number == 1 {
                // Killed with a message that it has received and not confirmed.
                socket.send("hello".into()).await.unwrap();
                assert!(socket.next().await.is_some());
                return;
            }
            socket.send("everything".into()).await.unwrap();
            echo(socket).await;
        }
    })
    .await;
    let seen = Seen::default();
    let client = seen.watching(server.client().resume(Resume::default()));
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    handle.try_send("first").unwrap();
    assert_eq!(within(feed.next()).await.unwrap().unwrap(), "hello".into());
    assert_eq!(
        within(feed.next()).await.unwrap().unwrap(),
        "everything".into()
    );
    assert_eq!(seen.words(), ["New", "unconfirmed first", "Epoch"]);
    // Nothing of it was sent again.
    handle.try_send("second").unwrap();
    assert_eq!(within(feed.next()).await.unwrap().unwrap(), "second".into());
}

#[tokio::test]
async fn a_server_that_ends_the_session_is_told_apart_from_one_that_goes() {
    let sessions = SessionSettings::default().open();
    let server = keeping(&sessions, |number, mut socket| async move {
        socket.send(number.to_string().into()).await.unwrap();
        if number == 1 {
            socket.handle().end();
        }
        let ended = socket.next().await;
        if number == 1 {
            assert!(
                matches!(ended, Some(Err(Lost::Over(Cold::Ended)))),
                "{ended:?}"
            );
        }
    })
    .await;
    let seen = Seen::default();
    let client = seen.watching(server.client().resume(Resume::default()));
    // A server closes what it has ended with 1000, which would be the end by the table.
    let mut feed = client
        .closing(|_, _| becalm::Failure::transient())
        .open()
        .unwrap();
    for number in 1..3 {
        let message = within(feed.next()).await.unwrap().unwrap();
        assert_eq!(message.to_string(), number.to_string());
    }
    assert_eq!(seen.words(), ["New", "Ended"]);
}

#[tokio::test]
async fn what_came_before_the_end_is_given_though_the_sink_has_read_ahead() {
    let sessions = SessionSettings::default().open();
    let server = keeping(&sessions, |number, mut socket| async move {
        if number > 1 {
            socket.send("new".into()).await.unwrap();
            echo(socket).await;
            return;
        }
        for text in ["one", "two", "three"] {
            socket.send(text.into()).await.unwrap();
        }
        socket.handle().end();
        while let Some(Ok(_)) = socket.next().await {}
    })
    .await;
    let seen = Seen::default();
    let client = seen.watching(server.client().resume(Resume::default()));
    let mut feed = client
        .closing(|_, _| becalm::Failure::transient())
        .open()
        .unwrap();
    let handle = feed.handle();
    // Nobody reads.
    let until_it_is_gone = async {
        while handle.state() == State::Connecting || handle.state() == State::Open {
            let _ = tokio::time::timeout(Duration::from_millis(5), feed.flush()).await;
        }
        for _ in 0..20 {
            let _ = tokio::time::timeout(Duration::from_millis(5), feed.flush()).await;
        }
    };
    within(until_it_is_gone).await;
    assert_eq!(seen.words(), ["New"], "no session is there before");
    for text in ["one", "two", "three"] {
        assert_eq!(within(feed.next()).await.unwrap().unwrap(), text.into());
        assert_eq!(seen.words(), ["New"]);
    }
    assert_eq!(within(feed.next()).await.unwrap().unwrap(), "new".into());
    assert_eq!(seen.words(), ["New", "Ended"]);
}

/// A client whose session is lost with one message sent, one in the outbox and one for which there is no room there: what it is told, and
/// what comes back.
async fn after_a_loss(
    set: impl FnOnce(becalm_ws::Client) -> becalm_ws::Client,
) -> (Vec<String>, Vec<String>) {
    let (old, new) = (
        SessionSettings::default().open(),
        SessionSettings::default().open(),
    );
    let kill = Arc::new(tokio::sync::Notify::new());
    let killed = Arc::clone(&kill);
    let server = Server::new(move |number, peer| {
        let (old, new, killed) = (old.clone(), new.clone(), Arc::clone(&killed));
        async move {
            if number == 1 {
                let _socket = old.accept(peer, "ada").await.unwrap();
                killed.notified().await;
                return;
            }
            let mut socket = new.accept(peer, "ada").await.unwrap();
            socket.send("everything".into()).await.unwrap();
            echo(socket).await;
        }
    })
    .await;
    let seen = Seen::default();
    let client = seen.watching(server.client().resume(Resume::default().window(1_000)));
    let client = set(client.outbox(1_000, Overflow::Wait));
    let mut feed = client.open().unwrap();
    for number in 1..4 {
        let message = format!("{number}{}", "x".repeat(700));
        if number == 1 {
            within(feed.send(message.into())).await.unwrap();
        } else {
            within(feed.feed(message.into())).await.unwrap();
        }
    }
    kill.notify_one();
    let everything = within(feed.next()).await.unwrap().unwrap();
    assert_eq!(everything, "everything".into());
    let short = |text: &str| text.trim_end_matches('x').to_owned();
    let words = seen.words().iter().map(|word| short(word)).collect();
    within(feed.feed("fresh".into())).await.unwrap();
    let mut came = Vec::new();
    while came.last().is_none_or(|last| last != "fresh") {
        came.push(short(
            &within(feed.next()).await.unwrap().unwrap().to_string(),
        ));
    }
    (words, came)
}

#[tokio::test]
async fn what_no_connection_was_given_goes_over_the_session_that_begins_anew() {
    let (words, came) = after_a_loss(|client| client).await;
    assert_eq!(words, ["New", "unconfirmed 1", "Epoch"]);
    assert_eq!(came, ["2", "3", "fresh"]);
}

#[tokio::test]
async fn what_the_application_does_not_carry_over_is_told_and_not_sent() {
    let (words, came) = after_a_loss(|client| client.carries(|_, _| false)).await;
    assert_eq!(
        words,
        ["New", "unconfirmed 1", "dropped 2", "dropped 3", "Epoch"]
    );
    assert_eq!(came, ["fresh"]);
    let third = |why, message: &becalm_ws::Message| {
        assert_eq!(why, Cold::Epoch);
        message.to_string().starts_with('3')
    };
    let (words, came) = after_a_loss(|client| client.carries(third)).await;
    assert_eq!(words, ["New", "unconfirmed 1", "dropped 2", "Epoch"]);
    assert_eq!(came, ["3", "fresh"]);
}

#[tokio::test]
async fn what_was_meant_for_another_users_session_is_told_and_not_sent() {
    let sessions = SessionSettings::default().open();
    let kill = Arc::new(tokio::sync::Notify::new());
    let killed = Arc::clone(&kill);
    let server = Server::new(move |number, peer| {
        let (sessions, killed) = (sessions.clone(), Arc::clone(&killed));
        async move {
            let user = if number == 1 { "ada" } else { "bob" };
            let mut socket = sessions.accept(peer, user).await.unwrap();
            socket.send(user.into()).await.unwrap();
            if number == 1 {
                assert!(socket.next().await.is_some());
                killed.notified().await;
                return;
            }
            echo(socket).await;
        }
    })
    .await;
    let seen = Seen::default();
    let client = seen.watching(server.client().resume(Resume::default()));
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    handle.try_send("hello").unwrap();
    assert_eq!(within(feed.next()).await.unwrap().unwrap(), "ada".into());
    handle.offline();
    kill.notify_one();
    let waits = tokio::time::timeout(Duration::from_millis(50), feed.next());
    assert!(waits.await.is_err());
    handle.try_send("from ada").unwrap();
    handle.online();
    assert_eq!(within(feed.next()).await.unwrap().unwrap(), "bob".into());
    let told = ["New", "unconfirmed hello", "dropped from ada", "WrongUser"];
    assert_eq!(seen.words(), told);
}
