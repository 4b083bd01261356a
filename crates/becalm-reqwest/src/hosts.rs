//! Which retrier has this request? One for all, or one for each host.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use becalm::{Keyed, Retrier};
use reqwest::Url;

/// The retriers of a client.
#[derive(Clone)]
pub(super) enum Retriers {
    One(Retrier),
    PerHost(Arc<Keyed<String, Retrier>>),
}

impl Retriers {
    /// Without a URL, the one that others share.
    pub fn of(&self, url: Option<&Url>) -> Retrier {
        match (self, url) {
            (Self::One(retrier), _) => retrier.clone(),
            (Self::PerHost(hosts), Some(url)) => Retrier::clone(&hosts.get(&*host(url))),
            (Self::PerHost(hosts), None) => Retrier::clone(hosts.overflow()),
        }
    }
}

/// Host, which a URL has in small letters, and port.
fn host(url: &Url) -> Cow<'_, str> {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}").into(),
        None => host.into(),
    }
}

impl fmt::Debug for Retriers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(retrier) => write!(f, "One({retrier})"),
            Self::PerHost(hosts) => write!(f, "PerHost({})", hosts.len()),
        }
    }
}
