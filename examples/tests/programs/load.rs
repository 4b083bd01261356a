//! What becomes right and what wrong of requests while something between client and server breaks?

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use becalm::Policy;
use becalm_examples::{hyper_client, reqwest_client};
use becalm_reqwest::Client;
use http_body_util::Full;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tower_service::Service;

use crate::recorder::Recorder;
use crate::upstream::Seen;

/// How many send at once.
const SENDERS: usize = 8;

/// Clients that are tried behind proxies.
#[derive(Clone)]
pub enum Sender {
    Reqwest(Client),
    Hyper(Box<hyper_client::Shop>),
}

/// reqwest's client over HTTP/1 or, known beforehand, HTTP/2; and what it tells of its retries.
pub fn reqwest(is_http2: bool) -> (Client, Receiver<String>) {
    reqwest_with(policy(), is_http2)
}

/// A client of reqwest with this policy.
pub fn reqwest_with(policy: Policy, is_http2: bool) -> (Client, Receiver<String>) {
    let (recorder, events) = Recorder::new();
    let retrier = policy.builder().observer(recorder).build();
    let retrier = retrier.expect("a valid policy");
    let builder = reqwest::Client::builder().no_proxy();
    let builder = if is_http2 {
        builder.http2_prior_knowledge()
    } else {
        builder
    };
    let client = reqwest_client::shop(builder, &retrier);
    (client.expect("a client"), events)
}

/// The default, but that waits are short and a request that hangs is seen to.
pub fn policy() -> Policy {
    let policy = Policy::exponential(Duration::from_millis(20));
    policy.attempt_timeout(Duration::from_secs(10))
}

/// How many retries it told of.
pub fn retries(events: &Receiver<String>) -> usize {
    events
        .try_iter()
        .filter(|event| event.starts_with("Retry"))
        .count()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Get,
    Post,
    KeyedPost,
}

impl Sender {
    /// The status, if an answer came.
    async fn send(&self, kind: Kind, url: String) -> Option<StatusCode> {
        match self {
            Self::Reqwest(shop) => {
                let answer = match kind {
                    Kind::Get => reqwest_client::read(shop, url).await,
                    Kind::Post => shop.post(url).body("a lamp").send().await,
                    Kind::KeyedPost => reqwest_client::order(shop, url, "a lamp".into()).await,
                };
                Some(answer.ok()?.status())
            }
            Self::Hyper(shop) => {
                let request = match kind {
                    Kind::Get => hyper_client::get(&url),
                    Kind::Post => http::Request::post(url).body(Full::from("a lamp")),
                    Kind::KeyedPost => hyper_client::post(&url, "a lamp".into()),
                };
                let answer = shop.as_ref().clone().call(request.expect("valid")).await;
                Some(answer.ok()?.status())
            }
        }
    }
}

/// Requests that were sent; the number of each is its query.
#[derive(Default)]
pub struct Load {
    calls: Mutex<Vec<(Kind, Option<StatusCode>)>>,
    is_over: AtomicBool,
}

impl Load {
    /// Sends GETs, POSTs, and POSTs with a key, several at once, until this has ended. Each sender pauses so long
    /// between two of them.
    pub async fn while_running(
        sender: Sender,
        url: String,
        pause: Duration,
        breaks: impl AsyncFnOnce(&Self),
    ) -> Self {
        let load = Arc::new(Self::default());
        let mut senders = JoinSet::new();
        for _ in 0..SENDERS {
            let (load, sender, url) = (Arc::clone(&load), sender.clone(), url.clone());
            senders.spawn(async move {
                while !load.is_over.load(Ordering::SeqCst) {
                    load.one(&sender, &url).await;
                    sleep(pause).await;
                }
            });
        }
        breaks(&load).await;
        load.is_over.store(true, Ordering::SeqCst);
        senders.join_all().await;
        Arc::into_inner(load).expect("the senders are gone")
    }

    async fn one(&self, sender: &Sender, url: &str) {
        let (number, kind) = {
            let mut calls = self.calls.lock().expect("unpoisoned");
            let kind = [Kind::Get, Kind::Post, Kind::KeyedPost][calls.len() % 3];
            calls.push((kind, None));
            (calls.len() - 1, kind)
        };
        let status = sender.send(kind, format!("{url}?{number}")).await;
        self.calls.lock().expect("unpoisoned")[number].1 = status;
    }

    /// Comes back when so many more have succeeded.
    pub async fn successes(&self, more: usize) {
        let wanted = self.succeeded() + more;
        while self.succeeded() < wanted {
            sleep(Duration::from_millis(1)).await;
        }
    }

    fn succeeded(&self) -> usize {
        let calls = self.calls.lock().expect("unpoisoned");
        let is_success = |(_, status): &&(Kind, _)| *status == Some(StatusCode::OK);
        calls.iter().filter(is_success).count()
    }

    /// How many GETs did not succeed.
    pub fn failed_gets(&self) -> usize {
        let calls = self.calls.lock().expect("unpoisoned");
        let is_failure =
            |(kind, status): &&(_, _)| *kind == Kind::Get && *status != Some(StatusCode::OK);
        calls.iter().filter(is_failure).count()
    }

    /// Asserts that no POST without a key came twice, that what was answered came, and that all repetitions of a
    /// request had one key.
    pub fn check(&self, seen: &[Seen]) {
        let mut by_id: HashMap<&str, Vec<&Seen>> = HashMap::new();
        for seen in seen {
            by_id.entry(&seen.id).or_default().push(seen);
        }
        let calls = self.calls.lock().expect("unpoisoned");
        for (number, (kind, status)) in calls.iter().enumerate() {
            let came = by_id
                .get(&*number.to_string())
                .map_or(&[][..], Vec::as_slice);
            let least = usize::from(*status == Some(StatusCode::OK));
            assert!(came.len() >= least, "{number} was answered, and never came");
            match kind {
                Kind::Get => assert!(came.iter().all(|seen| seen.method == Method::GET)),
                Kind::Post => assert!(
                    came.len() <= 1,
                    "{number}, without a key, came twice: {came:?}"
                ),
                Kind::KeyedPost => {
                    let is_one = |pair: &[&Seen]| pair[0].key == pair[1].key;
                    assert!(
                        came.iter().all(|seen| seen.key.is_some()) && came.windows(2).all(is_one)
                    );
                }
            }
        }
    }

    /// Asserts that the retries that a client tells of were paid for by the default budget.
    pub fn check_budget(&self, events: &Receiver<String>) {
        let (retries, succeeded) = (retries(events), self.succeeded());
        // One for what time refills.
        let is_paid = retries <= 10 + 1 + succeeded / 10;
        assert!(is_paid, "{retries} retries of {succeeded} successes");
    }
}
