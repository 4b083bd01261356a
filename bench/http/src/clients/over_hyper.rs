//! Layers over hyper's pooled client.

use std::sync::Arc;

use becalm::Policy;
use becalm_tower::client::{ReplayBody, RetryLayer};
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tower::retry::backoff::{ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::TpsBudget;
use tower::timeout::Timeout;
use tower::util::rng::HasherRng;
use tower::{BoxError, Layer, ServiceBuilder};

use super::judge::Judge;
use super::{Pieces, Times};

pub type Hyper<B> = Client<HttpConnector, B>;

pub type Tower = tower::retry::Retry<Judge, Timeout<Hyper<Full<Bytes>>>>;

pub type TowerResilience = tower_resilience_retry::Retry<
    Timeout<Hyper<Full<Bytes>>>,
    Request<Full<Bytes>>,
    Response<Incoming>,
    BoxError,
>;

pub type BecalmTower = becalm_tower::client::Retry<Hyper<ReplayBody<Either<Full<Bytes>, Pieces>>>>;

pub fn tower(times: Times) -> Tower {
    let backoff = ExponentialBackoffMaker::new(times.base, times.cap, 0.99, HasherRng::default());
    let policy = Judge {
        retries: 3,
        backoff: backoff.expect("in its bounds").make_backoff(),
        budget: Arc::new(TpsBudget::default()),
    };
    ServiceBuilder::new()
        .retry(policy)
        .timeout(times.attempt)
        .service(hyper())
}

/// The example of its README.
pub fn tower_resilience(times: Times) -> TowerResilience {
    let budget = tower_resilience_retry::RetryBudgetBuilder::new()
        .token_bucket()
        .tokens_per_second(10.0)
        .max_tokens(100)
        .build();
    let layer = tower_resilience_retry::RetryLayer::builder()
        .max_attempts(4)
        .exponential_backoff(times.base)
        .retry_on_response(|answer: &Response<Incoming>| answer.status().is_server_error())
        .budget(budget.expect("its own figures"))
        .build();
    ServiceBuilder::new()
        .layer(layer)
        .timeout(times.attempt)
        .service(hyper())
}

pub fn becalm_tower(times: Times) -> BecalmTower {
    let policy = Policy::exponential(times.base)
        .cap(times.cap)
        .attempt_timeout(times.attempt);
    let retrier = policy.retrier().expect("a valid policy");
    RetryLayer::new(&retrier).layer(hyper())
}

pub fn hyper<B: hyper::body::Body<Data: Send> + Send>() -> Hyper<B> {
    Client::builder(TokioExecutor::new()).build_http()
}
