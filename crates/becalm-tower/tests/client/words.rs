//! What does a call say that got no answer? All of it, down to the root cause, and nothing twice.

use std::error::Error;
use std::time::Duration;

use becalm_http_faults::{Does, Server, Version, within};
use becalm_tower::client::{Boxed, CollectLayer, RetryLayer};
use http::Request;
use http_body_util::Empty;
use hyper::body::Bytes;
use tower::{Layer, Service, ServiceBuilder};

use crate::hyper::{hyper, retrier};

/// As anyhow's `{:#}` and others show an error.
fn chain(error: &(dyn Error + 'static)) -> String {
    let all = std::iter::successors(Some(error), |&error| error.source());
    all.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn said_once(error: &(dyn Error + 'static), root: &str) {
    let sentence = error.to_string();
    assert_eq!(sentence.matches(root).count(), 1, "{sentence}");
    assert_eq!(chain(error), sentence);
}

fn get(url: &str) -> Request<Empty<Bytes>> {
    Request::get(url).body(Empty::new()).expect("a request")
}

#[tokio::test]
async fn the_root_cause_is_in_the_sentence_once() {
    let mut client = RetryLayer::new(&retrier()).layer(hyper(Version::Http1, usize::MAX));
    let refused = within(client.call(get("http://shop.example"))).await;
    said_once(&refused.expect_err("no answer"), "Connection refused");

    let mut boxed = ServiceBuilder::new()
        .layer(RetryLayer::new(&retrier()))
        .map_err(Boxed::new)
        .timeout(Duration::from_secs(60))
        .service(hyper(Version::Http1, usize::MAX));
    let refused = within(boxed.call(get("http://shop.example"))).await;
    said_once(&refused.expect_err("no answer"), "Connection refused");

    let breaks = Does::BreakAt {
        at: 8,
        is_length_told: true,
    };
    let server = Server::start(Version::Http1, vec![breaks; 4]).await;
    let collects = CollectLayer::new(64).layer(hyper(Version::Http1, 0));
    let mut client = RetryLayer::new(&retrier()).layer(collects);
    let broken = within(client.call(get(&server.url()))).await;
    said_once(&broken.expect_err("no answer"), "the answer broke off");
}
