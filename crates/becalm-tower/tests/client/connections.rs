//! Does a connection serve again whose answer was not handed on?

use std::time::Duration;

use becalm::{Jitter, Policy};
use becalm_http_faults::{Does, Server, Version, within};
use becalm_tower::client::RetryLayer;
use http::{Request, StatusCode};
use http_body_util::Empty;
use hyper::body::Bytes;
use tower::{Layer, Service};

use crate::hyper::hyper;

async fn accepted(length: usize) -> usize {
    let reject = Does::RejectWith(length);
    let server = Server::start(Version::Http1, [reject.clone(), reject]).await;
    // Waits longer than it takes to read a rejection.
    let policy = Policy::fixed(Duration::from_millis(300)).jitter(Jitter::None);
    let retrier = policy.retrier().expect("a valid policy");
    let mut client = RetryLayer::new(&retrier).layer(hyper::<Empty<Bytes>>(Version::Http1, 0));
    let request = Request::get(server.url())
        .body(Empty::new())
        .expect("valid");
    let answer = within(client.call(request)).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(server.count(), 3);
    server.accepted()
}

#[tokio::test]
async fn a_short_rejection_is_read_to_its_end_and_a_long_one_closes() {
    assert_eq!(accepted(10 << 20).await, 3);
    // On a busy machine what is short may be slow.
    for _ in 0..5 {
        if accepted(10 * 1024).await == 1 {
            return;
        }
    }
    panic!("its connection never served again");
}
