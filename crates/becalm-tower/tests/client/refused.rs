//! What does HTTP/2 prove?

use becalm_http_faults::Version;
use becalm_http_faults::frames::{goaway_between, proofs};
use becalm_tower::client::{Retry, RetryLayer};
use http::Request;
use http_body_util::Empty;
use hyper::body::Bytes;
use tower::{Layer, Service};

use crate::hyper::{Hyper, hyper, retrier};

fn client() -> Retry<Hyper<Empty<Bytes>>> {
    RetryLayer::new(&retrier()).layer(hyper(Version::Http2, 0))
}

async fn is_answered(client: &Retry<Hyper<Empty<Bytes>>>, url: &str) -> bool {
    let request = Request::post(url).body(Empty::new()).expect("valid");
    client.clone().call(request).await.is_ok()
}

#[tokio::test]
async fn a_request_that_was_refused_is_repeated_and_no_other_that_may_not_be() {
    proofs(async |url| is_answered(&client(), url).await).await;
}

#[tokio::test]
async fn of_two_streams_a_goaway_between_them_refuses_the_second_alone() {
    let client = client();
    let proof = goaway_between(async |url| is_answered(&client, url).await);
    Box::pin(proof).await;
}
