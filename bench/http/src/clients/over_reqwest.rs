//! reqwest, and what stands on it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use becalm::{Policy, Retrier};
use becalm_reqwest::RetryMiddleware;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Method, StatusCode};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};

use super::Times;

pub fn bare(times: Times) -> reqwest::Client {
    builder(times).build().expect("a client")
}

/// The example of `reqwest::retry`.
pub fn own(times: Times) -> reqwest::Client {
    let policy = reqwest::retry::for_host("shop.test").max_retries_per_request(3);
    let policy = policy.classify_fn(|it| match (it.method(), it.status()) {
        (&Method::GET, Some(StatusCode::SERVICE_UNAVAILABLE)) => it.retryable(),
        _ => it.success(),
    });
    builder(times).retry(policy).build().expect("a client")
}

pub fn middleware(times: Times) -> ClientWithMiddleware {
    let policy = ExponentialBackoff::builder()
        .retry_bounds(times.base, times.cap)
        .build_with_max_retries(3);
    ClientBuilder::new(builder(times).build().expect("a client"))
        .with(RetryTransientMiddleware::new_with_policy(policy))
        .build()
}

pub fn becalm_reqwest(times: Times) -> becalm_reqwest::Client {
    let policy = Policy::exponential(times.base).cap(times.cap);
    let retrier = policy.retrier().expect("a valid policy");
    becalm_reqwest::Client::new(builder(times), &retrier).expect("a client")
}

pub fn becalm_middleware(times: Times) -> ClientWithMiddleware {
    let policy = Policy::exponential(times.base).cap(times.cap);
    let mut retries = RetryMiddleware::new(&policy.retrier().expect("a valid policy"));
    let http = retries.client(builder(times)).expect("a client");
    ClientBuilder::new(http).with(retries).build()
}

/// By another policy than the default.
pub fn becalm_by(times: Times, retrier: &Retrier) -> becalm_reqwest::Client {
    becalm_reqwest::Client::new(builder(times), retrier).expect("a client")
}

/// Its time-out is that of an attempt; under `retry` it is that of all together.
fn builder(times: Times) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        .no_proxy()
        .dns_resolver(Arc::new(Loopback));
    if times.attempt == Duration::MAX {
        return builder;
    }
    builder.timeout(times.attempt)
}

/// Every name is this machine.
struct Loopback;

impl Resolve for Loopback {
    fn resolve(&self, _: Name) -> Resolving {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let addresses: Addrs = Box::new(std::iter::once(address));
        Box::pin(std::future::ready(Ok(addresses)))
    }
}
