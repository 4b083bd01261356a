//! Which retrier has this request? One for all, or one for each host.

use std::borrow::Cow;
use std::fmt;
use std::string::String;
use std::sync::Arc;

use crate::classify::ByTrait;
use crate::keyed::Keyed;
use crate::run::Retrier;

/// The retriers of an HTTP client, for drivers.
#[derive(Clone)]
pub enum Retriers<C = ByTrait> {
    /// One for all requests.
    One(Retrier<C>),
    /// One for each host and port.
    PerHost(Arc<Keyed<String, Retrier<C>>>),
}

impl<C: Clone> Retriers<C> {
    /// The retrier of a request to this authority (RFC 3986 section 3.2), such as `orders.example:8080`: by host and port in
    /// small letters, without user and password. The empty text where none is known.
    pub fn of(&self, authority: &str) -> Retrier<C> {
        match self {
            Self::One(retrier) => retrier.clone(),
            Self::PerHost(hosts) => Retrier::clone(&hosts.get(&*host(authority))),
        }
    }
}

fn host(authority: &str) -> Cow<'_, str> {
    let host = authority.rsplit('@').next().unwrap_or(authority);
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        host.to_ascii_lowercase().into()
    } else {
        host.into()
    }
}

impl<C> fmt::Debug for Retriers<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(retrier) => write!(f, "One({retrier:?})"),
            Self::PerHost(hosts) => write!(f, "PerHost({})", hosts.len()),
        }
    }
}
