//! The clients, each as its documentation says, with the same waits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use becalm::Policy;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Body, Method, StatusCode};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};

const BASE: Duration = Duration::from_millis(1);
const CAP: Duration = Duration::from_millis(10);

pub enum Client {
    Bare(reqwest::Client),
    Middleware(ClientWithMiddleware),
    Becalm(becalm_reqwest::Client),
}

/// What a call is answered with: a status, or nothing.
pub type Answer = Option<StatusCode>;

impl Client {
    pub fn all() -> [(&'static str, Self); 4] {
        [
            ("reqwest", Self::Bare(builder().build().expect("a client"))),
            (
                "reqwest, with its `retry`",
                Self::Bare(own().build().expect("a client")),
            ),
            ("reqwest-retry", Self::Middleware(middleware())),
            ("becalm-reqwest", Self::Becalm(becalm())),
        ]
    }

    pub async fn call(&self, method: Method, url: &str, body: Option<Body>) -> Answer {
        match self {
            Self::Bare(client) => {
                let mut request = client.request(method, url);
                if let Some(body) = body {
                    request = request.body(body);
                }
                request.send().await.ok().map(|answer| answer.status())
            }
            Self::Middleware(client) => {
                let mut request = client.request(method, url);
                if let Some(body) = body {
                    request = request.body(body);
                }
                request.send().await.ok().map(|answer| answer.status())
            }
            Self::Becalm(client) => {
                let mut request = client.request(method, url);
                if let Some(body) = body {
                    request = request.body(body);
                }
                request.send().await.ok().map(|answer| answer.status())
            }
        }
    }
}

/// The example of `reqwest::retry`.
fn own() -> reqwest::ClientBuilder {
    let policy = reqwest::retry::for_host("shop.test").max_retries_per_request(3);
    builder().retry(policy.classify_fn(|it| match (it.method(), it.status()) {
        (&Method::GET, Some(StatusCode::SERVICE_UNAVAILABLE)) => it.retryable(),
        _ => it.success(),
    }))
}

fn middleware() -> ClientWithMiddleware {
    let policy = ExponentialBackoff::builder()
        .retry_bounds(BASE, CAP)
        .build_with_max_retries(3);
    ClientBuilder::new(builder().build().expect("a client"))
        .with(RetryTransientMiddleware::new_with_policy(policy))
        .build()
}

fn becalm() -> becalm_reqwest::Client {
    let policy = Policy::exponential(BASE).cap(CAP);
    let retrier = policy.retrier().expect("a valid policy");
    becalm_reqwest::Client::new(builder(), &retrier).expect("a client")
}

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .no_proxy()
        .dns_resolver(Arc::new(Loopback))
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
