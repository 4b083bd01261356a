//! Clients of servers on loopback.

use std::sync::Arc;

use becalm::Policy;
use becalm_http_faults::{Addresses, Version, quick, retrier};
use becalm_reqwest::{Client, ClientBuilder};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

pub const VERSIONS: &[Version] = &[
    Version::Http1,
    #[cfg(feature = "h2")]
    Version::Http2,
];

struct Resolver(Addresses);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let address = self.0.of(name.as_str());
        let addresses = address.map(|address| Box::new(std::iter::once(address)) as Addrs);
        Box::pin(std::future::ready(addresses.map_err(Into::into)))
    }
}

/// What reqwest builds its client from, whose first connections are refused.
pub fn builder(version: Version, refused: usize) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        .no_proxy()
        .dns_resolver(Arc::new(Resolver(Addresses::refusing(refused))));
    match version {
        #[cfg(feature = "h2")]
        Version::Http2 => builder.http2_prior_knowledge(),
        _ => builder.http1_only(),
    }
}

pub fn client(version: Version, refused: usize) -> Client {
    Client::new(builder(version, refused), &retrier(&quick())).expect("a client")
}

/// Of a client for HTTP/1, with this policy.
pub fn client_builder(policy: &Policy) -> ClientBuilder {
    ClientBuilder::new(builder(Version::Http1, 0), &retrier(policy))
}
