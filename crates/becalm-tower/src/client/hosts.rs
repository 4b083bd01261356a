//! Which retrier has this request? One for all, or one for each host.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use becalm::{Keyed, Retrier};
use http::header::HOST;
use http::request::Parts;

/// The retriers of a layer.
#[derive(Clone)]
pub(super) enum Retriers<C> {
    One(Retrier<C>),
    PerHost(Arc<Keyed<String, Retrier<C>>>),
}

impl<C: Clone> Retriers<C> {
    pub fn of(&self, head: &Parts) -> Retrier<C> {
        match self {
            Self::One(retrier) => retrier.clone(),
            Self::PerHost(hosts) => Retrier::clone(&hosts.get(&*host(head))),
        }
    }
}

/// Host and port in small letters, without user and password; the empty text where none is named.
fn host(head: &Parts) -> Cow<'_, str> {
    let of_uri = head.uri.authority().map(http::uri::Authority::as_str);
    let of_header = || head.headers.get(HOST)?.to_str().ok();
    let named = of_uri.or_else(of_header).unwrap_or_default();
    let host = named.rsplit('@').next().unwrap_or(named);
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        host.to_ascii_lowercase().into()
    } else {
        host.into()
    }
}

impl<C> fmt::Debug for Retriers<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(retrier) => write!(f, "One({retrier})"),
            Self::PerHost(hosts) => write!(f, "PerHost({})", hosts.len()),
        }
    }
}
