//! Do calls behave as a service config says? In virtual time, before a channel that is made up.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use becalm_grpc::client::RetryLayer;
use http::{HeaderMap, Request, Response};
use tokio::time::{Instant, sleep};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use crate::orders::{Order, OrdersClient};

/// What the channel does with an attempt: it answers this status after this number of milliseconds, a success with a message. After the
/// last of a script it succeeds at once.
type Does = (u64, Status);

/// An attempt: when it came, after the first, in milliseconds; and its count of previous ones.
type Seen = (u64, Option<String>);

#[derive(Clone, Default)]
struct MadeUp {
    script: Arc<Mutex<VecDeque<Does>>>,
    seen: Arc<Mutex<Vec<(Instant, HeaderMap)>>>,
}

impl MadeUp {
    fn new(script: impl IntoIterator<Item = Does>) -> Self {
        let made_up = Self::default();
        made_up.then(script);
        made_up
    }

    fn then(&self, script: impl IntoIterator<Item = Does>) {
        self.script.lock().expect("unpoisoned").extend(script);
    }

    /// What came since this was asked last.
    fn seen(&self) -> Vec<Seen> {
        let seen = std::mem::take(&mut *self.seen.lock().expect("unpoisoned"));
        let first = seen.first().map(|(at, _)| *at);
        let told = seen.into_iter().map(|(at, headers)| {
            let after = at - first.expect("there is one");
            let previous = headers.get("grpc-previous-rpc-attempts");
            let previous = previous.map(|count| count.to_str().expect("a text").to_owned());
            (u64::try_from(after.as_millis()).expect("short"), previous)
        });
        told.collect()
    }

    fn client(&self, config: &str) -> OrdersClient<becalm_grpc::client::Retry<Self>> {
        let config = config.parse().expect("a config");
        let layer = RetryLayer::of_config(&config).expect("a valid policy");
        OrdersClient::new(layer.layer(self.clone()))
    }
}

impl Service<Request<Body>> for MadeUp {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let seen = (Instant::now(), request.headers().clone());
        self.seen.lock().expect("unpoisoned").push(seen);
        let does = self.script.lock().expect("unpoisoned").pop_front();
        Box::pin(async move {
            let (after, status) = does.unwrap_or((0, Status::ok("")));
            sleep(Duration::from_millis(after)).await;
            if status.code() == Code::Ok {
                let messages = http_body_util::Full::new(bytes::Bytes::from_static(&[0; 5]));
                let mut answer = Response::new(Body::new(messages));
                let kind = "application/grpc".parse().expect("valid");
                answer.headers_mut().insert("content-type", kind);
                return Ok(answer);
            }
            Ok(status.into_http())
        })
    }
}

fn unavailable() -> Status {
    Status::unavailable("")
}

fn pushback(value: &str) -> Status {
    let mut status = unavailable();
    let value = value.parse().expect("a value");
    status
        .metadata_mut()
        .insert("grpc-retry-pushback-ms", value);
    status
}

/// A config for all methods.
fn for_all(policy: &str) -> String {
    format!(r#"{{ "methodConfig": [{{ "name": [{{}}], {policy} }}] }}"#)
}

const RETRY: &str = r#""retryPolicy": { "maxAttempts": 4, "initialBackoff": "0.1s",
    "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"] }"#;
const HEDGING: &str = r#""hedgingPolicy": { "maxAttempts": 4, "hedgingDelay": "0.5s",
    "nonFatalStatusCodes": ["UNAVAILABLE"] }"#;

fn counted(times: impl IntoIterator<Item = u64>) -> Vec<Seen> {
    let counted = (0..).zip(times).map(|(at, time)| {
        let previous = (at > 0).then(|| at.to_string());
        (time, previous)
    });
    counted.collect()
}

#[tokio::test(start_paused = true)]
async fn waits_grow_as_the_policy_says_and_begin_anew_after_a_pushback() {
    let channel = MadeUp::new([(0, unavailable()), (0, pushback("700")), (0, unavailable())]);
    let mut client = channel.client(&for_all(RETRY));
    client.get(Order::of("a lamp")).await.expect("an answer");
    let seen = channel.seen();
    let waits: Vec<u64> = seen.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!((79..=121).contains(&waits[0]), "{waits:?}");
    assert!((700..=701).contains(&waits[1]), "exactly: {waits:?}");
    assert!((79..=121).contains(&waits[2]), "{waits:?}");
    let previous = counted(seen.iter().map(|(at, _)| *at));
    assert_eq!(seen, previous);
}

#[tokio::test(start_paused = true)]
async fn copies_go_out_while_no_answer_has_come() {
    let channel = MadeUp::new([(60_000, unavailable()), (60_000, unavailable())]);
    let mut client = channel.client(&for_all(HEDGING));
    client
        .get(Order::of("a lamp"))
        .await
        .expect("the third answers");
    assert_eq!(channel.seen(), counted([0, 500, 1000]));

    // No more than asked for, and then the last failure.
    channel.then((0..9).map(|_| (60_000, unavailable())));
    let ended = client.get(Order::of("a lamp")).await;
    assert_eq!(ended.expect_err("all fail").code(), Code::Unavailable);
    assert_eq!(channel.seen(), counted([0, 500, 1000, 1500]));
}

#[tokio::test(start_paused = true)]
async fn no_copy_follows_a_fatal_status_or_a_negative_pushback_and_one_that_runs_may_succeed() {
    for (status, code) in [
        (Status::internal(""), Code::Internal),
        (pushback("-1"), Code::Unavailable),
    ] {
        let others = [(Status::ok(""), None), (unavailable(), Some(code))];
        for (other, told) in others {
            let channel = MadeUp::new([(60_000, other), (100, status.clone())]);
            let mut client = channel.client(&for_all(HEDGING));
            let began = Instant::now();
            let ended = client.get(Order::of("a lamp")).await;
            assert_eq!(ended.err().map(|status| status.code()), told);
            assert_eq!(began.elapsed().as_millis(), 60_000);
            assert_eq!(channel.seen(), counted([0, 500]));
        }
    }
    // What is not fatal is waited out by the others.
    let channel = MadeUp::new([(900, unavailable()), (100, unavailable())]);
    let mut client = channel.client(&for_all(HEDGING));
    client.get(Order::of("a lamp")).await.expect("an answer");
    assert_eq!(channel.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn all_methods_share_one_throttle() {
    let config = format!(
        r#"{{ "methodConfig": [
            {{ "name": [{{ "service": "shop.v1.Orders", "method": "Get" }}], {RETRY} }},
            {{ "name": [{{ "service": "shop.v1.Orders", "method": "Watch" }}], {RETRY} }}
        ], "retryThrottling": {{ "maxTokens": 4, "tokenRatio": 0.5 }} }}"#
    );
    let channel = MadeUp::default();
    let mut client = channel.client(&config);
    // Each failure takes one of four tokens; retries are made while more than two are left.
    for (method, attempts) in [("get", 2), ("watch", 1), ("get", 1)] {
        channel.script.lock().expect("unpoisoned").clear();
        channel.then((0..9).map(|_| (0, unavailable())));
        let ended = match method {
            "get" => client.get(Order::of("a lamp")).await.map(drop),
            _ => client.watch(Order::of("a lamp")).await.map(drop),
        };
        assert_eq!(ended.expect_err("it fails").code(), Code::Unavailable);
        assert_eq!(channel.seen().len(), attempts, "{method}");
    }
    // None are left. Successes of either bring back half a token each: six, of which the next failure takes one.
    channel.script.lock().expect("unpoisoned").clear();
    for _ in 0..3 {
        client.get(Order::of("a lamp")).await.expect("an answer");
        drop(client.watch(Order::of("a lamp")).await.expect("an answer"));
    }
    client.watch(Order::of("a lamp")).await.expect("an answer");
    channel.seen();
    channel.then([(0, unavailable())]);
    client
        .get(Order::of("a lamp"))
        .await
        .expect("the second attempt");
    assert_eq!(channel.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_cuts_the_call_and_is_told_to_the_server() {
    let channel = MadeUp::new([(60_000, unavailable())]);
    let mut client = channel.client(&for_all(r#""timeout": "1.5s""#));
    let began = Instant::now();
    let ended = client.get(Order::of("a lamp")).await;
    assert_eq!(ended.expect_err("it stalls").code(), Code::DeadlineExceeded);
    assert_eq!(began.elapsed().as_millis(), 1500);
    let seen = channel.seen.lock().expect("unpoisoned");
    assert_eq!(seen[0].1["grpc-timeout"], "1500000u");
    assert_eq!(seen.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_config_does_not_name_is_called_once() {
    let config = format!(
        r#"{{ "methodConfig": [{{ "name": [{{ "service": "shop.v1.Users" }}], {RETRY} }}] }}"#
    );
    let channel = MadeUp::new([(0, unavailable())]);
    let mut client = channel.client(&config);
    client.get(Order::of("a lamp")).await.expect_err("it fails");
    assert_eq!(channel.seen(), counted([0]));
}
