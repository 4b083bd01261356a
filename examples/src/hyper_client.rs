//! How does hyper's pooled client retry? With a layer, which knows statuses, hints, methods and keys,
//! and sends the body again; at the end the caller has the last response, as it came.

use becalm::{Policy, policy::InvalidPolicy};
use becalm_tower::client::{ReplayBody, Retry, RetryLayer, RetryOptions};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tower_layer::Layer;

/// A client that retries: a tower `Service` of requests. Clones share one budget.
pub type Shop = Retry<Client<HttpConnector, ReplayBody<Full<Bytes>>>>;

/// A client of one service.
pub fn shop(policy: Policy) -> Result<Shop, InvalidPolicy> {
    let hyper = Client::builder(TokioExecutor::new())
        .retry_canceled_requests(false) // becalm repeats, and counts
        .build_http();
    Ok(RetryLayer::new(&policy.retrier()?).layer(hyper))
}

/// Reads.
pub fn get(uri: &str) -> http::Result<Request<Full<Bytes>>> {
    Request::get(uri).body(Full::default())
}

/// Writes. All attempts carry one key, by which the server recognises a repetition.
pub fn post(uri: &str, body: String) -> http::Result<Request<Full<Bytes>>> {
    Request::builder()
        .method(Method::POST)
        .uri(uri)
        .extension(RetryOptions::new().keyed())
        .body(body.into())
}
