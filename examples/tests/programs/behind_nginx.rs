//! What do clients that retry do behind an nginx that rejects, reloads, restarts and closes connections?

use std::time::Duration;

use becalm_examples::hyper_client;
use becalm_examples::reqwest_client::read;

use tokio::task::JoinSet;

use crate::load::{Load, Sender, policy, reqwest};
use crate::servers::nginx::Nginx;
use crate::upstream::Upstream;
use crate::within;

const PAUSE: Duration = Duration::from_millis(2);

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/orders")
}

#[tokio::test]
async fn reloads_and_restarts_under_load_double_nothing_that_may_not_be() {
    let upstream = Upstream::start().await;
    for is_http2 in [false, true] {
        let Some(mut nginx) = Nginx::start(upstream.port).await else {
            return;
        };
        let (client, events) = reqwest(is_http2);
        let url = url(nginx.ports[usize::from(is_http2)]);
        let before = upstream.seen().len();
        let load = Load::while_running(Sender::Reqwest(client), url, PAUSE, async |load| {
            for _ in 0..5 {
                load.successes(100).await;
                nginx.reload();
            }
            load.successes(100).await;
            for _ in 0..3 {
                nginx.stop_at_once();
                nginx.start_again().await;
                load.successes(100).await;
            }
        });
        let load = within(load).await;
        load.check(&upstream.seen()[before..]);
        load.check_budget(&events);
    }
}

#[tokio::test]
async fn reloads_under_load_cost_no_get() {
    let upstream = Upstream::start().await;
    for is_http2 in [false, true] {
        let Some(nginx) = Nginx::start(upstream.port).await else {
            return;
        };
        let (client, _) = reqwest(is_http2);
        let url = url(nginx.ports[usize::from(is_http2)]);
        let before = upstream.seen().len();
        let load = Load::while_running(Sender::Reqwest(client), url, PAUSE, async |load| {
            for _ in 0..5 {
                load.successes(100).await;
                nginx.reload();
            }
            load.successes(100).await;
        });
        let load = within(load).await;
        load.check(&upstream.seen()[before..]);
        assert_eq!(load.failed_gets(), 0);
    }
}

#[tokio::test]
async fn restarts_double_nothing_of_hypers_client_that_may_not_be() {
    let upstream = Upstream::start().await;
    let Some(mut nginx) = Nginx::start(upstream.port).await else {
        return;
    };
    let shop = hyper_client::shop(policy()).expect("a valid policy");
    let load = Load::while_running(
        Sender::Hyper(shop.into()),
        url(nginx.ports[0]),
        PAUSE,
        async |load| {
            for _ in 0..3 {
                load.successes(100).await;
                nginx.stop_at_once();
                nginx.start_again().await;
            }
            load.successes(100).await;
        },
    );
    within(load).await.check(&upstream.seen());
}

/// Each retry is paid for, and nginx closes so often here that not every GET has one.
#[tokio::test]
async fn connections_that_nginx_closes_double_nothing_and_the_budget_holds() {
    let upstream = Upstream::start().await;
    let Some(nginx) = Nginx::start(upstream.port).await else {
        return;
    };
    for (is_http2, port) in [(false, nginx.ports[2]), (true, nginx.ports[3])] {
        // As long as nginx waits for the next request.
        let pause = Duration::from_millis(10);
        let before = upstream.seen().len();
        let (shop, events) = reqwest(is_http2);
        let sender = Sender::Reqwest(shop);
        let load = Load::while_running(sender, url(port), pause, async |load| {
            load.successes(300).await;
        });
        let load = within(load).await;
        load.check(&upstream.seen()[before..]);
        load.check_budget(&events);
    }
    let shop = hyper_client::shop(policy()).expect("a valid policy");
    let (sender, pause) = (Sender::Hyper(shop.into()), Duration::from_millis(10));
    let before = upstream.seen().len();
    let load = Load::while_running(sender, url(nginx.ports[2]), pause, async |load| {
        load.successes(300).await;
    });
    within(load).await.check(&upstream.seen()[before..]);
}

#[tokio::test]
async fn what_nginx_rejects_is_repeated_by_the_budget_and_not_before_its_time() {
    for has_hint in [false, true] {
        let upstream = Upstream::start().await;
        let Some(nginx) = Nginx::start(upstream.port).await else {
            return;
        };
        let (client, events) = reqwest(false);
        let path = if has_hint {
            "limited-with-hint"
        } else {
            "limited"
        };
        let url = format!("http://127.0.0.1:{}/{path}", nginx.ports[0]);
        let post = async || {
            within(client.post(&url).send())
                .await
                .expect("an answer")
                .status()
        };
        // Without a key a rejection proves nothing.
        assert_eq!([post().await.as_u16(), post().await.as_u16()], [200, 503]);
        assert_eq!(within(nginx.statuses(2)).await, [200, 503]);
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            let (client, url) = (client.clone(), url.clone());
            calls.spawn(async move { read(&client, url).await.expect("an answer").status() });
        }
        let statuses = within(calls.join_all()).await;
        let succeeded = statuses
            .iter()
            .filter(|status| status.as_u16() == 200)
            .count();
        let retries: Vec<_> = events
            .try_iter()
            .filter(|event| event.starts_with("Retry"))
            .collect();
        let count = 2 + 20 + retries.len();
        assert_eq!(within(nginx.statuses(count)).await.len(), count);
        assert!(
            (10..=10 + 1 + succeeded / 10).contains(&retries.len()),
            "{}",
            retries.len()
        );
        // The server's second is a floor, with jitter on top; without it the waits are the policy's.
        let is_late = |event: &String| {
            let delay = event.split("delay: ").nth(1)?.split([',', ' ']).next()?;
            delay
                .strip_suffix('s')?
                .parse()
                .ok()
                .filter(|secs: &f64| *secs >= 1.0)
        };
        assert_eq!(
            retries.iter().filter_map(is_late).count(),
            if has_hint { retries.len() } else { 0 }
        );
        assert!(
            succeeded > 0 || !has_hint,
            "a request after a second is taken"
        );
    }
}
