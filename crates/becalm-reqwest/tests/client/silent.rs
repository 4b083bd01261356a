//! What if a connection is dead without a word? The next attempt of the call goes elsewhere, other calls follow when it is
//! proved silent, and one slow request makes no dials. Counted, not timed.

use std::time::Duration;

use becalm::{Attempt, Budget, Jitter, Policy};
use becalm_http_faults::{Does, Proxy, Server, Silence, Version, retrier, within};
use becalm_reqwest::Client;
use reqwest::Response;
#[cfg(feature = "h2")]
use tokio::task::JoinSet;

use crate::clients::{VERSIONS, builder};

/// Which attempt has brought this answer.
fn attempt(answer: &Response) -> u32 {
    let attempt = answer.extensions().get::<Attempt>();
    attempt.map_or(1, Attempt::number)
}

/// Its attempts are cut soon. What is not to be cut says so ([`patient`]).
fn policy() -> Policy {
    let policy = Policy::fixed(Duration::from_millis(1)).jitter(Jitter::None);
    policy.attempts(3).budget(Budget::None)
}

/// With a function that makes builders.
fn client(version: Version, limit: Duration) -> Client {
    let retrier = retrier(&policy().attempt_timeout(limit));
    Client::new(move || builder(version, 0), &retrier).expect("a client")
}

/// With a builder.
fn with_pings(version: Version, limit: Duration) -> Client {
    let retrier = retrier(&policy().attempt_timeout(limit));
    Client::new(builder(version, 0), &retrier).expect("a client")
}

const CLIENTS: [fn(Version, Duration) -> Client; 2] = [client, with_pings];

fn url(port: u16) -> String {
    format!("http://shop.test:{port}/orders")
}

#[tokio::test]
async fn a_connection_that_forwards_nothing_any_more_costs_one_attempt_of_one_call() {
    for (at, &version) in (0..2).flat_map(|at| VERSIONS.iter().map(move |version| (at, version))) {
        for silence in [Silence::Requests, Silence::Answers, Silence::All] {
            let server = Server::start(version, []).await;
            let proxy = Proxy::start(server.port).await;
            // Not by the time: on a slow machine the second attempt is not in time either.
            let client = CLIENTS[at](version, Duration::from_secs(2));
            let get = async || {
                within(client.get(url(proxy.port)).send())
                    .await
                    .expect("an answer")
            };
            assert_eq!(attempt(&get().await), 1);
            proxy.silence(silence);
            let case = format!("{version:?}, {silence:?}, {at}");
            assert_eq!(attempt(&get().await), 2, "{case}");
            for _ in 0..20 {
                assert_eq!(attempt(&get().await), 1, "{case}");
            }
            assert_eq!(proxy.dials(), 2, "{case}");
            let is_seen = silence == Silence::Answers;
            assert_eq!(server.count(), 22 + usize::from(is_seen), "{case}");
        }
    }
}

#[tokio::test]
async fn calls_that_are_not_repeated_leave_it_as_well() {
    for &version in VERSIONS {
        let server = Server::start(version, []).await;
        let proxy = Proxy::start(server.port).await;
        let client = client(version, Duration::from_secs(1));
        let post = async || within(client.post(url(proxy.port)).send()).await;
        post().await.expect("an answer");
        proxy.silence(Silence::All);
        // HTTP/1 closes the connection with the first.
        let lost = if version == Version::Http1 { 1 } else { 2 };
        for _ in 0..lost {
            post().await.expect_err("nothing comes");
        }
        for _ in 0..10 {
            post().await.expect("an answer");
        }
        assert_eq!((proxy.dials(), server.count()), (2, 11), "{version:?}");
    }
}

#[tokio::test]
async fn a_stream_that_is_silent_alone_costs_one_attempt_of_one_call() {
    for &version in VERSIONS {
        let server = Server::start(version, [Does::Answer(200), Does::Stall]).await;
        let proxy = Proxy::start(server.port).await;
        let client = client(version, Duration::from_secs(2));
        let get = async || {
            within(client.get(url(proxy.port)).send())
                .await
                .expect("an answer")
        };
        assert_eq!([attempt(&get().await), attempt(&get().await)], [1, 2]);
        for _ in 0..20 {
            assert_eq!(attempt(&get().await), 1);
        }
        assert_eq!((proxy.dials(), server.count()), (2, 23), "{version:?}");
    }
}

/// Which attempt of a slow request beside a thousand others is answered, if any, and how many dials it makes. None of the others is
/// cancelled.
#[cfg(feature = "h2")]
async fn beside_a_thousand(at: usize, others: Does) -> (Option<u32>, usize) {
    let mut script = vec![Does::Answer(200), Does::Stall];
    script.extend(vec![others; 1000]);
    let server = Server::start(Version::Http2, script).await;
    let proxy = Proxy::start(server.port).await;
    let client = CLIENTS[at](Version::Http2, Duration::from_secs(50));
    let get = async |limit: u64| {
        let request = client.get(url(proxy.port));
        let answer = request.timeout(Duration::from_secs(limit)).send().await;
        answer.ok().as_ref().map(attempt)
    };
    assert_eq!(get(50).await, Some(1));
    let others = async {
        while server.count() < 2 {
            tokio::task::yield_now().await; // the slow one is the first
        }
        let mut others = JoinSet::new();
        for _ in 0..1000 {
            let request = client.get(url(proxy.port));
            others.spawn(async move {
                let answer = request.send().await.expect("it is not cancelled");
                attempt(&answer)
            });
        }
        others.join_all().await
    };
    let (slow, others) = within(async { tokio::join!(get(2), others) }).await;
    assert_eq!(others, vec![1; 1000]);
    (slow, proxy.dials())
}

#[cfg(feature = "h2")]
#[tokio::test]
async fn a_thousand_others_beside_a_slow_request_are_not_cancelled_and_it_makes_no_dials() {
    // Answers to what came later prove that the connection lives.
    for at in 0..2 {
        let (slow, dials) = beside_a_thousand(at, Does::Answer(200)).await;
        assert_eq!((slow, dials), (Some(2), 1));
    }
}

#[cfg(feature = "h2")]
#[tokio::test]
async fn where_nothing_proves_that_it_lives_a_slow_request_makes_one_dial() {
    let late = Does::AnswerAfter(200, Duration::from_secs(4));
    assert_eq!(beside_a_thousand(0, late.clone()).await.1, 2);
    // A ping proves it.
    assert_eq!(beside_a_thousand(1, late).await.1, 1);
}

#[cfg(feature = "h2")]
#[tokio::test]
async fn a_server_that_hangs_is_dialled_twice_however_many_calls_time_out() {
    let server = Server::start(Version::Http2, vec![Does::Stall; 10_000]).await;
    let proxy = Proxy::start(server.port).await;
    let client = client(Version::Http2, Duration::from_millis(100));
    let mut calls = JoinSet::new();
    for _ in 0..500 {
        let get = client.get(url(proxy.port)).send();
        calls.spawn(async move { get.await.is_err() });
    }
    assert_eq!(within(calls.join_all()).await, vec![true; 500]);
    assert!(proxy.dials() <= 3, "{}", proxy.dials());
}
