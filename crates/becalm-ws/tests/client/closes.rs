//! What follows a close?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::reconnect::{Healthy, Reconnect};
use becalm::{Failure, Policy, StopReason};
use becalm_ws::{CloseCode, CloseFrame, Ended, Event, Message, Overflow, Refused, State};
use futures_util::{SinkExt, StreamExt};

use crate::server::{Peer, Server};
use crate::{soon, within};

fn frame(code: u16) -> CloseFrame {
    CloseFrame {
        code: CloseCode::from(code),
        reason: "".into(),
    }
}

/// Closes with this code, and waits for the client's part.
async fn close(mut peer: Peer, code: u16) {
    let _ = peer.close(Some(frame(code))).await;
    while let Some(Ok(_)) = peer.next().await {}
}

/// Closes the first connections with this code, and keeps the third.
async fn closing(code: u16) -> Server {
    Server::new(move |number, mut peer| async move {
        if number < 3 {
            close(peer, code).await;
        } else {
            let _ = peer.send("at last".into()).await;
            while let Some(Ok(_)) = peer.next().await {}
        }
    })
    .await
}

#[tokio::test]
async fn codes_that_pass_bring_it_back_and_others_end_it() {
    // 1014 comes out of tungstenite as a 1002 that its peer never sent.
    for code in [1001, 1011, 1014, 3008, 4000, 4001, 4429, 4503, 4999] {
        let server = closing(code).await;
        let mut feed = server.client().open().unwrap();
        let message = within(feed.next()).await.unwrap().unwrap();
        assert_eq!(
            (message.to_text().unwrap(), server.dials()),
            ("at last", 3),
            "{code}"
        );
    }
    for code in [
        1000, 1002, 1003, 1007, 1008, 1009, 1010, 3000, 3999, 4400, 4401, 4403, 4404, 4501,
    ] {
        let server = closing(code).await;
        let mut feed = server.client().open().unwrap();
        let gave_up = within(feed.next()).await.unwrap().unwrap_err();
        assert_eq!(
            (gave_up.reason, server.dials()),
            (StopReason::Permanent, 1),
            "{code}"
        );
        let Ended::Closed(Some(frame)) = gave_up.ended else {
            panic!("{gave_up}")
        };
        assert_eq!(u16::from(frame.code), code);
    }
}

#[tokio::test]
async fn your_own_table_rules() {
    let server = closing(4401).await;
    let client = server.client().closing(|code, _| match code {
        4401 => Failure::transient(),
        _ => Failure::permanent(),
    });
    let mut feed = client.open().unwrap();
    assert!(within(feed.next()).await.unwrap().is_ok());
    assert_eq!(server.dials(), 3);
}

#[tokio::test]
async fn a_restart_waits_five_to_thirty_seconds() {
    let server = closing(1012).await;
    let waits = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&waits);
    let client = server.client().observer(move |event| {
        if let Event::Waits(wait) = event {
            *seen.lock().unwrap() = Some(wait);
        }
    });
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    let task = tokio::spawn(async move { feed.next().await });
    within(async {
        while waits.lock().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let wait = waits.lock().unwrap().unwrap();
    assert!(
        (Duration::from_secs(5)..=Duration::from_secs(30)).contains(&wait),
        "{wait:?}"
    );
    assert_eq!(handle.state(), State::Waiting);
    // Closed while it waits, it ends at once.
    handle.close(None);
    assert!(within(task).await.unwrap().is_none());
    assert_eq!(server.dials(), 1);
}

#[tokio::test]
async fn it_gives_up_once_and_a_person_has_it_dial_again() {
    let server = closing(1011).await;
    let policy = Policy::fixed(Duration::from_millis(1)).attempts(1);
    let client = server.client().reconnect(Reconnect::new(policy));
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    for _ in 0..2 {
        let gave_up = within(feed.next()).await.unwrap().unwrap_err();
        assert_eq!(gave_up.reason, StopReason::AttemptsExhausted);
        assert_eq!(handle.state(), State::GaveUp);
        handle.dial_now();
    }
    assert!(within(feed.next()).await.unwrap().is_ok());
    assert_eq!(server.dials(), 3);
}

/// A program that sends first and reads then would never read that it was refused.
#[tokio::test]
async fn who_sends_to_a_socket_that_gave_up_waits_for_nothing() {
    let server = Server::answering(|_| "HTTP/1.1 403 A\r\n\r\n".into()).await;
    let mut feed = server.client().outbox(10, Overflow::Wait).open().unwrap();
    within(feed.send("nine byte".into())).await.unwrap();
    let full = within(feed.send("more".into())).await.unwrap_err();
    assert_eq!(full, Refused::Full("more".into()));
    let gave_up = within(feed.next()).await.unwrap().unwrap_err();
    assert_eq!(gave_up.reason, StopReason::Permanent);
}

#[tokio::test]
async fn a_close_of_ours_reaches_the_peer_after_what_was_sent() {
    let (done, ended) = tokio::sync::oneshot::channel();
    let done = Arc::new(Mutex::new(Some(done)));
    let server = Server::new(move |_, mut peer| {
        let done = done.lock().unwrap().take();
        async move {
            let mut heard = Vec::new();
            while let Some(Ok(message)) = peer.next().await {
                heard.push(match message {
                    Message::Close(Some(frame)) => frame.code.to_string(),
                    message => message.to_string(),
                });
            }
            let _ = done.expect("one connection").send(heard);
        }
    })
    .await;
    let mut feed = server.client().open().unwrap();
    let handle = feed.handle();
    feed.send("first".into()).await.unwrap();
    handle.send("second").await.unwrap();
    handle.close(Some(frame(1000)));
    assert!(within(feed.next()).await.is_none());
    assert_eq!(within(ended).await.unwrap().join(" "), "first second 1000");
    assert_eq!(handle.state(), State::Closed);
    assert!(handle.send("third").await.is_err());
    assert!(within(feed.next()).await.is_none());
}

#[tokio::test]
async fn each_code_from_1000_to_4999_reaches_the_table_or_is_one_that_no_peer_may_send() {
    const EACH: u16 = 250;
    let ends = (1_000..5_000)
        .step_by(usize::from(EACH))
        .map(|first| async move {
            let server = Server::new(move |number, peer| async move {
                let number = u16::try_from(number).unwrap_or(u16::MAX);
                if number <= EACH {
                    close(peer, first + number - 1).await;
                } else {
                    std::future::pending::<()>().await;
                }
            })
            .await;
            let judged = Arc::new(Mutex::new(Vec::new()));
            let seen = Arc::clone(&judged);
            let again = Policy::fixed(Duration::from_millis(1)).attempts(Policy::UNLIMITED);
            let client = server.client().reconnect(Reconnect::new(again));
            let mut feed = client
                .closing(move |code, _| {
                    seen.lock().unwrap().push(code);
                    Failure::transient()
                })
                .open()
                .unwrap();
            within(feed.flush()).await.unwrap();
            let all = async {
                while server.dials() <= usize::from(EACH) {
                    let nothing = tokio::time::timeout(Duration::from_millis(5), feed.next());
                    assert!(nothing.await.is_err(), "it never gives up");
                }
            };
            // Four thousand dials, on a machine that may be busy.
            let bounded = tokio::time::timeout(Duration::from_secs(60), all);
            bounded.await.expect("it dials again each time");
            judged.lock().unwrap().clone()
        });
    let judged = futures_util::future::join_all(ends).await.concat();
    // The others come out of tungstenite as a 1002 that its peer never sent, and pass as 1014 does.
    let may_be_sent = |code: &u16| matches!(*code, 1000..=1003 | 1007..=1013 | 3000..=4999);
    let expected: Vec<u16> = (1_000..5_000).filter(may_be_sent).collect();
    assert_eq!(judged, expected);
}

#[tokio::test]
async fn two_hundred_get_no_more_dials_from_accepting_and_closing_than_from_refusing() {
    let dials = |accepts: bool, healthy: Healthy| async move {
        let server = Server::raw(move |_, stream| async move {
            if accepts {
                if let Ok(peer) = tokio_tungstenite::accept_async(stream).await {
                    close(peer, 1011).await;
                }
            }
        })
        .await;
        let policy = Policy::fixed(Duration::from_millis(1)).attempts(5);
        let settings = Reconnect::new(policy).healthy(healthy);
        let client = server.client().reconnect(settings);
        let all = (0..200).map(|_| {
            let mut feed = client.open().unwrap();
            async move { feed.next().await }
        });
        let all = async {
            tokio::select! {
                told = futures_util::future::join_all(all) => told.len(),
                () = async {
                    while server.dials() < 2_000 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                } => 0,
            }
        };
        let gave_up = within(all).await;
        (server.dials(), gave_up)
    };
    let lasting = Healthy::After(Duration::from_secs(60));
    assert_eq!(dials(false, lasting).await, (1_000, 200));
    assert_eq!(dials(true, lasting).await, (1_000, 200));
    // What counts anew on open never ends.
    let (hammered, gave_up) = dials(true, Healthy::After(Duration::ZERO)).await;
    assert!(hammered >= 2_000 && gave_up == 0, "{hammered}");
}

#[tokio::test]
async fn whatever_is_asked_of_it_there_is_one_connection() {
    let server = Server::new(|number, mut peer| async move {
        if number % 3 == 0 {
            close(peer, 1011).await;
        } else {
            // It breaks off in the middle.
            let _ = peer.send("hello".into()).await;
        }
    })
    .await;
    let mut feed = server.client().reconnect(soon()).open().unwrap();
    let handle = feed.handle();
    let asks = tokio::spawn(async move {
        loop {
            handle.network_changed();
            handle.dial_now();
            handle.offline();
            handle.online();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    for _ in 0..100 {
        within(feed.next()).await.unwrap().unwrap();
    }
    asks.abort();
    assert!(server.dials() > 100);
    // The server sees the end of one a moment after the client has begun the next.
    assert!(server.most() <= 2, "{} at once", server.most());
    drop(feed);
    within(async {
        while server.live() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
