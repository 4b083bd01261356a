//! Does each message come once, in order, both ways, under very many cuts? Eight clients, whose connections are cut somewhere within
//! some thousand bytes of either direction.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use becalm::rng::{Random, SplitMix64};
use becalm_ws::Event;
use becalm_ws::session::{Began, Cold, Resume, SessionId, SessionSettings};
use futures_util::StreamExt;
use tokio::task::JoinSet;

use crate::server::Server;
use crate::sessions::{cutting, keeping};

const CLIENTS: usize = 8;
const WINDOW: usize = 16_000;

/// Whose turn it is among the connections of a session.
type Turn = tokio::sync::Mutex<()>;

async fn none_is_lost_and_none_comes_twice(messages: usize, patience: Duration) {
    let since = Instant::now();
    let each = messages / CLIENTS;
    let sessions = SessionSettings::default().window(WINDOW).open();
    // What each session was given last.
    let given = Arc::<Mutex<HashMap<SessionId, usize>>>::default();
    let all = Arc::clone(&given);
    let turns = Arc::<Mutex<HashMap<SessionId, Arc<Turn>>>>::default();
    let server = keeping(&sessions, move |_, mut socket| {
        let all = Arc::clone(&all);
        let turn = Arc::clone(turns.lock().unwrap().entry(socket.id()).or_default());
        async move {
            match socket.began() {
                Began::Cold(Cold::New) => {
                    let handle = socket.handle();
                    tokio::spawn(async move {
                        for number in 1..=each {
                            if handle.send(number.to_string()).await.is_err() {
                                return;
                            }
                        }
                    });
                }
                began => assert_eq!(began, Began::Resumed),
            }
            // The connection before may still be at what it was given last.
            let _turn = turn.lock().await;
            while let Some(Ok(message)) = socket.next().await {
                let mut all = all.lock().unwrap();
                let last = all.entry(socket.id()).or_default();
                assert_eq!(message.to_string(), (*last + 1).to_string());
                *last += 1;
            }
        }
    })
    .await;
    // Each client has a way of its own, on which every other cut is of the other direction: eight in a row that let nothing through in one
    // direction would be the end of its session.
    let mut ways = Vec::new();
    for seed in 0..CLIENTS {
        let random = Mutex::new(SplitMix64::new(seed as u64));
        let cuts = cutting(&server, move |number| {
            let drawn = random.lock().unwrap().next_u64();
            let after = 1_000 + usize::try_from(drawn % 10_000).unwrap();
            if number % 2 == 0 {
                (after, usize::MAX)
            } else {
                (usize::MAX, after)
            }
        });
        ways.push(cuts.await);
    }
    let given_up = Arc::<AtomicUsize>::default();
    let mut clients = JoinSet::new();
    for way in &ways {
        let seen = Arc::clone(&given_up);
        let client = way.client().resume(Resume::default().window(WINDOW));
        let client = client.observer(move |event| match event {
            Event::Cold(Cold::New) => (),
            // At the end of the test all is dropped: only what is counted before it is wrong.
            Event::Cold(_) | Event::Dropped(_) | Event::Unconfirmed(_) => {
                seen.fetch_add(1, Ordering::SeqCst);
            }
            _ => (),
        });
        let mut feed = client.open().unwrap();
        let handle = feed.handle();
        let sends = tokio::spawn(async move {
            for number in 1..=each {
                handle.send(number.to_string()).await.unwrap();
            }
        });
        clients.spawn(async move {
            for number in 1..=each {
                let came = feed.next().await.unwrap().unwrap();
                assert_eq!(came.to_string(), number.to_string());
            }
            // It goes on until all of its own have arrived.
            let _drives = tokio::spawn(async move { while let Some(Ok(_)) = feed.next().await {} });
            sends.await.unwrap();
        });
    }
    let ended = async {
        while let Some(client) = clients.join_next().await {
            client.unwrap();
        }
        let have_all = || {
            let given = given.lock().unwrap();
            given.len() == CLIENTS && given.values().all(|last| *last == each)
        };
        while !have_all() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let ended = tokio::time::timeout(patience, ended).await;
    assert!(ended.is_ok(), "{:?}", given.lock().unwrap());
    assert_eq!(given_up.load(Ordering::SeqCst), 0);
    let cuts = ways.iter().map(Server::dials).sum::<usize>() - CLIENTS;
    println!(
        "{} messages each way, {cuts} cuts, in {:.0?}: none lost, none twice",
        each * CLIENTS,
        since.elapsed()
    );
    assert!(cuts > messages / 1_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_clients_under_cuts() {
    none_is_lost_and_none_comes_twice(8_000, Duration::from_secs(20)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: scripts/prove ws-cuts"]
async fn in_full() {
    let messages = std::env::var("BECALM_MESSAGES").map_or(2_300_000, |text| text.parse().unwrap());
    none_is_lost_and_none_comes_twice(messages, Duration::from_secs(1_800)).await;
}
