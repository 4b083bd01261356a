//! hyper's pooled client, whose first connections go where nobody listens.

use std::future::{Ready, ready};
use std::io;
use std::iter::{Once, once};
use std::net::SocketAddr;
use std::task::{Context, Poll};

use becalm::Retrier;
use becalm_http_faults::{Addresses, Version};
use becalm_tower::client::ReplayBody;
use hyper::body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use tower::Service;

pub type Hyper<B> = Client<HttpConnector<Resolver>, ReplayBody<B>>;

pub fn hyper<B: Body + Send + Unpin>(version: Version, refused: usize) -> Hyper<B> {
    let mut http = HttpConnector::new_with_resolver(Resolver(Addresses::refusing(refused)));
    http.set_nodelay(true);
    Client::builder(TokioExecutor::new())
        .retry_canceled_requests(false)
        .http2_only(version == Version::Http2)
        .build(http)
}

#[derive(Clone)]
pub struct Resolver(Addresses);

impl Service<Name> for Resolver {
    type Response = Once<SocketAddr>;
    type Error = io::Error;
    type Future = Ready<io::Result<Once<SocketAddr>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        ready(self.0.of(name.as_str()).map(once))
    }
}

/// Its waits are short.
pub fn retrier() -> Retrier {
    becalm_http_faults::retrier(&becalm_http_faults::quick())
}
