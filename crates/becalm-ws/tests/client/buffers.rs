//! Is what is told true where the buffer of a connection is small (`max_write_buffer_size`)?

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_ws::session::{Resume, SessionSettings};
use becalm_ws::{Client, CloseCode, CloseFrame, Event, Message, Overflow, WebSocketConfig};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::sync::Notify;

use crate::server::Server;
use crate::within;

const WINDOW: usize = 64 << 20;

fn small(write: usize, most: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .write_buffer_size(write)
        .max_write_buffer_size(most)
}

fn perhaps_resuming(client: Client, resumes: bool) -> Client {
    if resumes {
        client.resume(Resume::default().window(WINDOW))
    } else {
        client
    }
}

/// Gives all that comes to this, after it was notified; answers with the same if it is to.
async fn hearing(
    resumes: bool,
    go: Option<Arc<Notify>>,
    on: impl Fn(&Message) + Clone + Send + Sync + 'static,
) -> Server {
    let sessions = SessionSettings::default().window(WINDOW).open();
    Server::new(move |_, mut peer| {
        let (sessions, go, on) = (sessions.clone(), go.clone(), on.clone());
        async move {
            if resumes {
                let mut socket = sessions.accept(peer, "ada").await.unwrap();
                match go {
                    Some(go) => go.notified().await,
                    None => socket.send("hello".into()).await.unwrap(),
                }
                while let Some(Ok(message)) = socket.next().await {
                    on(&message);
                }
            } else {
                match go {
                    Some(go) => go.notified().await,
                    None => peer.send("hello".into()).await.unwrap(),
                }
                while let Some(Ok(message)) = peer.next().await {
                    if message.is_text() {
                        on(&message);
                    }
                }
            }
        }
    })
    .await
}

#[tokio::test]
async fn what_fits_goes_out_in_order_and_what_never_fits_is_dropped_over_one_connection() {
    for resumes in [false, true] {
        let came = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&came);
        let server = hearing(resumes, None, move |message| {
            all.lock().unwrap().push(message.to_string());
        })
        .await;
        let told = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&told);
        let client = server.client().limits(small(100, 200));
        let client = perhaps_resuming(client, resumes).observer(move |event| match event {
            Event::Dropped(message) => seen.lock().unwrap().push(message.len()),
            Event::Unconfirmed(message) => panic!("{message}"),
            _ => (),
        });
        let mut feed = client.open().unwrap();
        let handle = feed.handle();
        assert!(within(feed.next()).await.unwrap().is_ok());
        // Two go together, or not beside each other; each third never fits.
        let length = |number: usize| [40, 150, 250][number % 3];
        for number in 0..60 {
            let width = length(number);
            handle.try_send(format!("{number:width$}")).unwrap();
        }
        handle.close(None);
        assert!(within(feed.next()).await.is_none());
        within(async {
            while server.live() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let fits = (0..60).filter(|number| length(*number) < 200);
        let expected: Vec<_> = fits
            .map(|number| format!("{number:width$}", width = length(number)))
            .collect();
        assert_eq!(*came.lock().unwrap(), expected, "{resumes}");
        assert_eq!(*told.lock().unwrap(), [250; 20], "{resumes}");
        assert_eq!(server.dials(), 1, "{resumes}");
    }
}

#[tokio::test]
async fn what_no_connection_was_given_before_a_close_is_told_as_dropped() {
    const MESSAGES: usize = 400;
    for resumes in [false, true] {
        // It has come, was told as unconfirmed, as dropped.
        let counts = Arc::<Mutex<HashMap<usize, [usize; 3]>>>::default();
        let count = {
            let counts = Arc::clone(&counts);
            move |message: &Message, what: usize| {
                let number = message.to_string().trim().parse().unwrap();
                counts.lock().unwrap().entry(number).or_default()[what] += 1;
            }
        };
        let go = Arc::new(Notify::new());
        let arrives = count.clone();
        let server = hearing(resumes, Some(Arc::clone(&go)), move |message| {
            arrives(message, 0);
        })
        .await;
        let client = server.client().limits(small(4 << 10, 128 << 10));
        let client = client.patience(Duration::from_secs(5), Duration::from_millis(300));
        let client = client.outbox(usize::MAX, Overflow::Refuse);
        let client = perhaps_resuming(client, resumes).observer(move |event| match event {
            Event::Unconfirmed(message) => count(message, 1),
            Event::Dropped(message) => count(message, 2),
            _ => (),
        });
        let mut feed = client.open().unwrap();
        let handle = feed.handle();
        let nothing = tokio::time::timeout(Duration::from_millis(100), feed.next());
        assert!(nothing.await.is_err(), "it is open");
        for number in 0..MESSAGES {
            // More than the kernel holds.
            handle.try_send(format!("{number:60000}")).unwrap();
        }
        handle.close(None);
        assert!(within(feed.next()).await.is_none());
        drop(feed);
        go.notify_one();
        within(async {
            while server.live() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let counts = counts.lock().unwrap();
        let mut sums = [0; 3];
        for number in 0..MESSAGES {
            let each = counts.get(&number).copied().unwrap_or_default();
            let is_true = match each {
                [came, 0, 0] => came == 1,
                [came, 1, 0] => came <= 1,
                [came, 0, 1] => came == 0,
                _ => false,
            };
            assert!(is_true, "{resumes} {number}: {each:?}");
            sums = [0, 1, 2].map(|what| sums[what] + each[what]);
        }
        println!("{resumes}: {sums:?}");
        assert!(sums[2] > MESSAGES / 4, "{resumes}: {sums:?}");
        // Without a session what has been written is known.
        assert!(resumes || sums[1] <= 2, "{sums:?}");
    }
}

#[tokio::test]
async fn what_waits_for_room_beside_others_does_not_spin() {
    let server = hearing(false, Some(Arc::default()), |_| ()).await;
    let client = server.client().limits(small(4 << 10, 100 << 10));
    let mut feed = client.outbox(200_000, Overflow::Wait).open().unwrap();
    let mut polls = 0;
    let mut sends = async |length: usize| {
        polls = 0;
        let mut send = feed.send("x".repeat(length).into());
        let counted = std::future::poll_fn(|context| {
            polls += 1;
            send.poll_unpin(context)
        });
        let bounded = tokio::time::timeout(Duration::from_millis(100), counted);
        bounded.await.is_ok()
    };
    // Short ones until the kernel takes no more, then longer ones, of which the last are beyond the outbox.
    while sends(3_000).await {}
    for _ in 0..4 {
        assert!(!sends(100_000).await);
    }
    assert!((1..20).contains(&polls), "{polls}");
}

/// What drives the oldest out does so while a connection sends: the next may be longer than the one that it has made room for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_drives_others_out_breaks_no_connection_and_each_is_told_once() {
    const MESSAGES: usize = 20_000;
    for resumes in [false, true] {
        let counts = Arc::new(Mutex::new(vec![[0; 2]; MESSAGES]));
        let count = {
            let counts = Arc::clone(&counts);
            move |message: &Message, what: usize| {
                let number: usize = message.to_string().trim().parse().unwrap();
                counts.lock().unwrap()[number][what] += 1;
            }
        };
        let arrives = count.clone();
        let server = hearing(resumes, None, move |message| arrives(message, 0)).await;
        let client = server.client().limits(small(100, 400));
        let client = client.outbox(1_000, Overflow::DropOldest);
        let client = perhaps_resuming(client, resumes).observer(move |event| match event {
            Event::Unconfirmed(message) => panic!("{message}"),
            Event::Dropped(message) => count(message, 1),
            _ => (),
        });
        let mut feed = client.open().unwrap();
        let handle = feed.handle();
        assert!(within(feed.next()).await.unwrap().is_ok());
        let sends = tokio::task::spawn_blocking(move || {
            for number in 0..MESSAGES {
                let width = [10, 300, 150, 20][number % 4];
                handle.try_send(format!("{number:width$}")).unwrap();
            }
            handle.close(None);
        });
        assert!(within(feed.next()).await.is_none());
        sends.await.unwrap();
        within(async {
            while server.live() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        drop(feed);
        assert_eq!(server.dials(), 1, "{resumes}");
        let counts = counts.lock().unwrap();
        let wrong = counts
            .iter()
            .position(|[came, dropped]| came + dropped != 1);
        assert_eq!(wrong, None, "{resumes} {:?}", wrong.map(|at| counts[at]));
        assert!(counts.iter().any(|it| it[1] == 1), "{resumes}");
    }
}

#[tokio::test]
async fn a_close_with_a_long_reason_goes_out_whatever_the_buffer() {
    for resumes in [false, true] {
        for most in [1, 6, 20, 139, 150] {
            let server = hearing(resumes, None, |_| ()).await;
            let client = server.client().limits(small(0, most));
            let client = client.patience(Duration::from_secs(5), Duration::from_secs(60));
            let mut feed = perhaps_resuming(client, resumes).open().unwrap();
            let handle = feed.handle();
            assert!(within(feed.next()).await.unwrap().is_ok(), "{most}");
            handle.try_send("last").unwrap();
            handle.close(Some(CloseFrame {
                code: CloseCode::Normal,
                reason: "r".repeat(123).into(),
            }));
            assert!(within(feed.next()).await.is_none(), "{resumes} {most}");
            assert_eq!(server.dials(), 1, "{resumes} {most}");
        }
    }
}
