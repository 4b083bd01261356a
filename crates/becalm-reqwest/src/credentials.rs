//! How does a client get new credentials? Once for all of its requests that wait for them.

use std::fmt;
use std::pin::Pin;
use std::sync::{PoisonError, RwLock};

use becalm::detached;
use becalm::http::Origin;
use http::HeaderValue;
use tokio::sync::Mutex;

/// What `Authorization` says to one server, and how it is renewed.
pub(super) struct Credentials {
    pub origin: Origin,
    fetch: Box<Fetch>,
    latest: RwLock<Latest>,
    /// Held by who fetches.
    flight: Mutex<()>,
}

type Fetch = dyn Fn() -> Pin<Box<dyn Future<Output = Option<HeaderValue>> + Send>> + Send + Sync;

/// What the last fetch has brought.
#[derive(Clone, Default)]
pub(super) struct Latest {
    /// How many fetches there were.
    round: u64,
    pub value: Option<HeaderValue>,
}

impl Credentials {
    pub fn new<F>(origin: Origin, fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<HeaderValue>> + Send + 'static,
    {
        Self {
            origin,
            fetch: Box::new(move || Box::pin(fetch())),
            latest: RwLock::default(),
            flight: Mutex::new(()),
        }
    }

    /// For a request that is to be sent: fetched only where there is none.
    pub async fn get(&self) -> Latest {
        let latest = self.latest();
        match latest.value {
            Some(_) => latest,
            None => self.renew(&latest).await,
        }
    }

    /// In place of these, which the server has refused, or of none. If others have waited for the same,
    /// they get what the first of them has fetched, even if that is nothing. If that one is cancelled, the
    /// next fetches.
    pub async fn renew(&self, refused: &Latest) -> Latest {
        let _flight = self.flight.lock().await;
        let latest = self.latest();
        if latest.round != refused.round {
            return latest;
        }
        let mut value = detached((self.fetch)()).await;
        if let Some(value) = &mut value {
            value.set_sensitive(true);
        }
        let round = latest.round + 1;
        let latest = Latest { round, value };
        *self.latest.write().unwrap_or_else(PoisonError::into_inner) = latest.clone();
        latest
    }

    fn latest(&self) -> Latest {
        let latest = self.latest.read().unwrap_or_else(PoisonError::into_inner);
        latest.clone()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({:?})", self.origin)
    }
}
