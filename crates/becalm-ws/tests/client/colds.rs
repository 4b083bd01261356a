//! Is what a client is told of its messages true, however often its session is lost? Cuts within and between sessions, servers that know
//! nothing, other users, sessions that are ended, a small outbox that is full, some messages declined, and a close in the middle.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::Failure;
use becalm::rng::{Random, SplitMix64};
use becalm_ws::session::{Cold, Resume, SessionSettings};
use becalm_ws::{Event, Message, Overflow};
use futures_util::StreamExt;

use crate::server::Server;
use crate::sessions::{Seen, cutting};
use crate::within;

const MESSAGES: usize = 2_000;
const WINDOW: usize = 1_000;
const OUTBOX: usize = 400;

/// How often each message has come, was told as unconfirmed, and as dropped.
type Counts = Arc<Mutex<HashMap<usize, [usize; 3]>>>;

fn count(counts: &Counts, message: &Message, what: usize) -> usize {
    let number = message.to_string().trim().parse().expect("a number");
    counts.lock().unwrap().entry(number).or_default()[what] += 1;
    number
}

/// A server whose sessions are lost, and the way to it, on which connections are cut.
async fn losing(counts: &Counts, seed: u64) -> (Server, Server) {
    let stores = [(); 3].map(|()| SessionSettings::default().window(WINDOW).open());
    let came = Arc::clone(counts);
    let random = Arc::new(Mutex::new(SplitMix64::new(seed)));
    let drawn = Arc::clone(&random);
    let server = Server::new(move |number, peer| {
        let draw = drawn.lock().unwrap().next_u64();
        // The same store for a while, mostly of the same user.
        let which = number / 5 + usize::from(draw % 4 == 0);
        let sessions = stores[which % stores.len()].clone();
        let user = if (draw >> 8) % 9 == 0 { "bob" } else { "ada" };
        let ends = (draw >> 16) % 7 == 0;
        let came = Arc::clone(&came);
        async move {
            let Ok(mut socket) = sessions.accept(peer, user).await else {
                return;
            };
            let mut last = None;
            while let Some(Ok(message)) = socket.next().await {
                let number = count(&came, &message, 0);
                if last >= Some(number) {
                    count(&came, &message, 0); // out of order: it fails below
                }
                last = Some(number);
                if ends && number % 20 == 0 {
                    socket.handle().end();
                }
            }
        }
    })
    .await;
    let cuts = cutting(&server, move |_| {
        let draw = random.lock().unwrap().next_u64();
        let after = |draw: u64| usize::try_from(400 + draw % 4_000).unwrap();
        (after(draw), after(draw >> 32))
    })
    .await;
    (server, cuts)
}

async fn all_that_is_told_is_true(seed: u64, overflow: Overflow) {
    let counts = Counts::default();
    let (server, cuts) = losing(&counts, seed).await;
    let (told, colds) = (Arc::clone(&counts), Arc::<Mutex<Vec<Cold>>>::default());
    let reasons = Arc::clone(&colds);
    let client = cuts.client().resume(Resume::default().window(WINDOW));
    let client = client.observer(move |event| match event {
        Event::Unconfirmed(message) => drop(count(&told, message, 1)),
        Event::Dropped(message) => drop(count(&told, message, 2)),
        Event::Cold(why) => reasons.lock().unwrap().push(why),
        _ => (),
    });
    let declined = |message: &Message| message.len() % 7 == 0;
    let client = client
        .outbox(OUTBOX, overflow)
        .closing(|_, _| Failure::transient())
        .carries(move |why, message| why != Cold::WrongUser && !declined(message));
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    let sender = {
        let handle = handle.clone();
        tokio::spawn(async move {
            for number in 0..MESSAGES {
                let width = number * 31 % 90;
                handle.send(format!("{number:width$}")).await.unwrap();
                assert!(handle.waiting_bytes() <= OUTBOX + WINDOW);
                if number % 50 == 0 || (overflow == Overflow::DropOldest && number % 4 == 0) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
            handle.close(None);
        })
    };
    within(async {
        while let Some(came) = feed.next().await {
            came.unwrap();
        }
    })
    .await;
    sender.await.unwrap();
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
        let [came, unconfirmed, dropped] = each;
        let is_true = match (unconfirmed, dropped) {
            (0, 0) => came == 1,
            (1, 0) => came <= 1,
            (0, 1) => came == 0,
            _ => false,
        };
        assert!(is_true, "{seed}: {number}: {each:?}");
        sums = [0, 1, 2].map(|what| sums[what] + each[what]);
    }
    let colds = colds.lock().unwrap();
    println!("{seed}: {sums:?}, {} cold sessions", colds.len());
    for why in [Cold::Epoch, Cold::WrongUser, Cold::Ended] {
        assert!(colds.contains(&why), "{why:?}: {colds:?}");
    }
    assert!(sums.iter().all(|sum| *sum > 0), "{sums:?}");
}

#[tokio::test]
async fn nothing_is_told_wrongly() {
    for seed in 0..2 {
        for overflow in [Overflow::Wait, Overflow::DropOldest] {
            all_that_is_told_is_true(seed, overflow).await;
        }
    }
}

#[tokio::test]
async fn what_waits_for_a_session_that_never_begins_is_told_at_a_close() {
    let server = Server::new(|_, mut peer| async move {
        // It answers no hello.
        while let Some(Ok(_)) = peer.next().await {}
    })
    .await;
    let seen = Seen::default();
    let client = seen.watching(server.client().resume(Resume::default()));
    let mut feed = client.open().unwrap();
    let handle = feed.handle();
    for name in ["one", "two", "three"] {
        handle.try_send(name).unwrap();
    }
    let nothing = tokio::time::timeout(std::time::Duration::from_millis(100), feed.next());
    assert!(nothing.await.is_err() && server.dials() == 1);
    handle.close(None);
    assert!(within(feed.next()).await.is_none());
    assert_eq!(
        seen.words(),
        ["dropped one", "dropped two", "dropped three"]
    );
}
