//! The clients, each as its documentation says, with the same waits.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use becalm::Policy;
use becalm_tower::client::{ReplayBody, Retry, RetryLayer};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::{Client as Hyper, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};
use tower::{Layer, Service, ServiceExt};

const BASE: Duration = Duration::from_millis(1);
const CAP: Duration = Duration::from_millis(10);

pub enum Client {
    Reqwest(reqwest::Client),
    Middleware(ClientWithMiddleware),
    BecalmReqwest(becalm_reqwest::Client),
    Hyper(Hyper<HttpConnector, Full<Bytes>>),
    Tower(tower::retry::Retry<Attempts, Hyper<HttpConnector, Full<Bytes>>>),
    BecalmTower(Retry<Hyper<HttpConnector, ReplayBody<Full<Bytes>>>>),
    Alone(AtOnce),
    TowerAlone(tower::retry::Retry<Attempts, AtOnce>),
    BecalmAlone(Retry<AtOnce>),
}

/// What a call is answered with: a status, or nothing.
pub type Answer = Option<StatusCode>;

/// Clients of one kind: the first is what the others are compared with.
pub type Group = Vec<(&'static str, Client)>;

/// Where a request goes, as clients want to be told.
pub struct Address {
    text: String,
    uri: Uri,
}

impl Address {
    pub fn new(text: String) -> Self {
        let uri = text.parse().expect("an address");
        Self { text, uri }
    }
}

pub fn of_reqwest() -> Group {
    vec![
        (
            "reqwest",
            Client::Reqwest(builder().build().expect("a client")),
        ),
        (
            "reqwest, with its `retry`",
            Client::Reqwest(own().build().expect("a client")),
        ),
        ("reqwest-retry", Client::Middleware(middleware())),
        ("becalm-reqwest", Client::BecalmReqwest(becalm_reqwest())),
    ]
}

pub fn of_hyper() -> Group {
    vec![
        ("hyper-util", Client::Hyper(hyper())),
        ("tower's `retry`", Client::Tower(tower())),
        ("becalm-tower", Client::BecalmTower(becalm_tower())),
    ]
}

/// Over a service that is ready at once, in place of a network.
pub fn alone() -> Group {
    let becalm = RetryLayer::new(&policy().retrier().expect("a valid policy"));
    vec![
        ("a service that answers at once", Client::Alone(AtOnce)),
        (
            "tower's `retry` over it",
            Client::TowerAlone(tower::retry::Retry::new(Attempts(3), AtOnce)),
        ),
        (
            "becalm-tower over it",
            Client::BecalmAlone(becalm.layer(AtOnce)),
        ),
    ]
}

impl Client {
    /// `is_stream` sends a body of which there is but one, where the client has such.
    pub async fn call(&mut self, method: &Method, url: &Address, is_stream: bool) -> Answer {
        /// As all that look like reqwest do it.
        macro_rules! send {
            ($client:ident) => {{
                let mut request = $client.request(method.clone(), &*url.text);
                if is_stream {
                    request = request.body(reqwest::Body::wrap("a lamp".to_owned()));
                }
                request.send().await.ok().map(|answer| answer.status())
            }};
        }
        match self {
            Self::Reqwest(client) => send!(client),
            Self::Middleware(client) => send!(client),
            Self::BecalmReqwest(client) => send!(client),
            Self::Hyper(client) => ask(client, method, url).await,
            Self::Tower(client) => ask(client, method, url).await,
            Self::BecalmTower(client) => ask(client, method, url).await,
            Self::Alone(client) => ask(client, method, url).await,
            Self::TowerAlone(client) => ask(client, method, url).await,
            Self::BecalmAlone(client) => ask(client, method, url).await,
        }
    }
}

async fn ask<S, B>(client: &mut S, method: &Method, url: &Address) -> Answer
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>>,
{
    let mut request = Request::new(Full::default());
    (*request.method_mut(), *request.uri_mut()) = (method.clone(), url.uri.clone());
    let client = client.ready().await.ok()?;
    client
        .call(request)
        .await
        .ok()
        .map(|answer| answer.status())
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

fn becalm_reqwest() -> becalm_reqwest::Client {
    let retrier = policy().retrier().expect("a valid policy");
    becalm_reqwest::Client::new(builder(), &retrier).expect("a client")
}

fn tower() -> tower::retry::Retry<Attempts, Hyper<HttpConnector, Full<Bytes>>> {
    tower::retry::Retry::new(Attempts(3), hyper())
}

fn becalm_tower() -> Retry<Hyper<HttpConnector, ReplayBody<Full<Bytes>>>> {
    let retrier = policy().retrier().expect("a valid policy");
    RetryLayer::new(&retrier).layer(hyper())
}

/// The example of `tower::retry::Policy`.
#[derive(Clone)]
pub struct Attempts(usize);

impl<R, E> tower::retry::Policy<Request<Full<Bytes>>, R, E> for Attempts {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Full<Bytes>>,
        result: &mut Result<R, E>,
    ) -> Option<Ready<()>> {
        if result.is_ok() || self.0 == 0 {
            return None;
        }
        self.0 -= 1;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}

fn policy() -> Policy {
    Policy::exponential(BASE).cap(CAP)
}

fn hyper<B>() -> Hyper<HttpConnector, B>
where
    B: hyper::body::Body<Data: Send> + Send,
{
    let mut http = HttpConnector::new();
    http.set_nodelay(true);
    let mut builder = Hyper::builder(TokioExecutor::new());
    builder.retry_canceled_requests(false).build(http)
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

/// Answers at once.
#[derive(Clone)]
pub struct AtOnce;

impl<B> Service<Request<B>> for AtOnce {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok(Response::default()))
    }
}
