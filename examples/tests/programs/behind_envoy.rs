//! What do clients that retry do behind an Envoy that retries as well, rejects, drains and restarts?

use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_examples::reqwest_client::read;
use becalm_examples::three_services::{client, serve, service};
use becalm_reqwest::Client;
use tokio::task::JoinSet;

use crate::load::{Load, Sender, policy, reqwest, reqwest_with, retries};
use crate::servers::envoy::Envoy;
use crate::upstream::Upstream;
use crate::within;

const PAUSE: Duration = Duration::from_millis(2);

fn unbounded() -> Client {
    reqwest_with(policy().budget(Budget::None), false).0
}

#[tokio::test]
async fn an_envoy_that_retries_multiplies_and_repeats_what_its_client_does_not() {
    let upstream = Upstream::start().await;
    let Some(envoy) = Envoy::start(upstream.port).await else {
        return;
    };
    let url = format!("http://127.0.0.1:{}/busy", envoy.port);
    within(read(&unbounded(), url.clone()))
        .await
        .expect("an answer");
    let seen = upstream.seen();
    let attempts: Vec<_> = seen
        .iter()
        .filter_map(|seen| seen.attempt.as_deref())
        .collect();
    assert_eq!(attempts, ["1", "2", "3", "4"].repeat(4));
    within(unbounded().post(&url).send())
        .await
        .expect("an answer");
    assert_eq!(
        upstream.seen().len(),
        16 + 4,
        "one of ours, without a key, and three of Envoy's"
    );
}

#[tokio::test]
async fn a_service_behind_an_envoy_that_retries_adds_to_it() {
    let policy = policy().budget(Budget::None);
    let upstream = Upstream::start().await;
    let origin = format!("http://127.0.0.1:{}", upstream.port);
    let next = client(&origin, policy.clone()).expect("a client");
    let (middle, serving) = serve(service(next, origin + "/busy"))
        .await
        .expect("a port");
    let mut services = JoinSet::new();
    services.spawn(serving);
    let (_, port) = middle.rsplit_once(':').expect("a port");
    let Some(envoy) = Envoy::start(port.parse().expect("a port")).await else {
        return;
    };
    let envoy = format!("http://127.0.0.1:{}", envoy.port);
    // Below a repetition of Envoy, or of the caller, the service runs once.
    for (attempts, expected) in [(1, 4 + 3), (4, 4 + 3 + 3 * 4)] {
        let before = upstream.seen().len();
        let caller = client(&envoy, policy.clone().attempts(attempts)).expect("a client");
        within(read(&caller, envoy.clone()))
            .await
            .expect("an answer");
        assert_eq!(upstream.seen().len() - before, expected);
    }
}

#[tokio::test]
async fn what_envoy_rejects_is_repeated_in_its_time_and_by_the_budget() {
    let upstream = Upstream::start().await;
    let Some(envoy) = Envoy::start(upstream.port).await else {
        return;
    };
    let (shop, events) = reqwest(false);
    let limited = format!("http://127.0.0.1:{}/limited", envoy.port);
    let post = async || {
        within(shop.post(&limited).send())
            .await
            .expect("an answer")
            .status()
    };
    assert_eq!([post().await.as_u16(), post().await.as_u16()], [200, 429]);
    assert_eq!(
        within(read(&shop, limited.clone()))
            .await
            .expect("an answer")
            .status(),
        200
    );
    let told: Vec<_> = events
        .try_iter()
        .filter(|event| event.starts_with("Retry"))
        .collect();
    assert_eq!(told.len(), 1);
    // A second and at most a tenth of it, both ends included.
    let delay = told[0].split_once("delay: ").expect("a delay").1;
    let seconds: f64 = delay
        .split_once("s,")
        .and_then(|(seconds, _)| seconds.parse().ok())
        .expect("seconds");
    assert!(
        told[0].contains("Throttled") && (1.0..=1.1).contains(&seconds),
        "{told:?}"
    );
    assert_eq!(upstream.seen().len(), 2);

    // It takes one at once, and says of the others `x-envoy-overloaded`.
    let narrow = format!("http://127.0.0.1:{}/narrow", envoy.port);
    let mut calls = JoinSet::new();
    for _ in 0..40 {
        let (shop, url) = (shop.clone(), narrow.clone());
        calls.spawn(async move { read(&shop, url).await.expect("an answer") });
    }
    let answers = within(calls.join_all()).await;
    let is_rejected =
        |answer: &&reqwest::Response| answer.headers().contains_key("x-envoy-overloaded");
    let rejected = answers.iter().filter(is_rejected).count();
    let succeeded = answers
        .iter()
        .filter(|answer| answer.status().as_u16() == 200)
        .count();
    assert_eq!(rejected + succeeded, 40);
    let retries = retries(&events);
    assert!(
        rejected > 0 && retries <= 10 + 1 + succeeded / 10,
        "{rejected} {retries}"
    );
}

#[tokio::test]
async fn drains_and_closed_connections_cost_no_get_and_double_nothing() {
    let upstream = Upstream::start().await;
    let Some(envoy) = Envoy::start(upstream.port).await else {
        return;
    };
    for is_http2 in [false, true] {
        for (port, drains) in [(envoy.closing_port, 0), (envoy.port, 5)] {
            let url = format!("http://127.0.0.1:{port}/plain");
            let before = upstream.seen().len();
            let sender = Sender::Reqwest(reqwest(is_http2).0);
            let load = Load::while_running(sender, url, PAUSE, async |load| {
                for _ in 0..drains {
                    envoy.drain(true).await;
                    load.successes(50).await;
                    envoy.drain(false).await;
                    load.successes(50).await;
                }
                load.successes(200).await;
            });
            let load = within(load).await;
            load.check(&upstream.seen()[before..]);
            assert_eq!(load.failed_gets(), 0);
        }
    }
}

#[tokio::test]
async fn restarts_of_envoy_double_nothing_that_may_not_be() {
    let upstream = Upstream::start().await;
    for is_http2 in [false, true] {
        let Some(mut envoy) = Envoy::start(upstream.port).await else {
            return;
        };
        // Waits that are longer than Envoy takes to start: what was at work when it was stopped is repeated.
        let policy = Policy::exponential(Duration::from_millis(500));
        let (shop, events) = reqwest_with(policy, is_http2);
        let url = format!("http://127.0.0.1:{}/plain", envoy.port);
        let before = upstream.seen().len();
        let load = Load::while_running(Sender::Reqwest(shop), url, PAUSE, async |load| {
            for _ in 0..2 {
                load.successes(100).await;
                envoy.stop_at_once();
                envoy.start_again().await;
            }
            load.successes(100).await;
        });
        let load = within(load).await;
        load.check(&upstream.seen()[before..]);
        load.check_budget(&events);
    }
}
