//! What does `Authorization` say to one server, and which answers judge it?

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use becalm::http::Origin;
use becalm::login::{self, Login};
use http::{HeaderValue, StatusCode};

pub(super) type Latest = login::Latest<HeaderValue>;

/// What `Authorization` says to one server, and how it is renewed.
pub(super) struct Credentials {
    pub origin: Origin,
    pub login: Login<HeaderValue>,
    fetch: Arc<Fetch>,
}

type Fetch = dyn Fn() -> Fetched + Send + Sync;
type Fetched = Pin<Box<dyn Future<Output = Result<HeaderValue, &'static str>> + Send>>;

impl Credentials {
    pub fn new<F>(origin: Origin, fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<HeaderValue>> + Send + 'static,
    {
        Self {
            origin,
            login: Login::new(),
            fetch: Arc::new(move || {
                let fetched = fetch();
                Box::pin(async {
                    let mut value = fetched.await.ok_or("it has brought none")?;
                    value.set_sensitive(true);
                    Ok(value)
                })
            }),
        }
    }

    pub fn time_limit(&self, limit: Duration) {
        self.login.set_time_limit(limit);
    }

    /// A login.
    pub fn fetch(&self) -> impl Fn(bool) -> Fetched + Clone + Send + 'static {
        let fetch = Arc::clone(&self.fetch);
        move |_| fetch()
    }

    /// The server has answered a request with these, and not by a 401.
    pub fn answered(&self, these: &Latest, status: StatusCode) {
        if tells_of_credentials(status) {
            self.login.accepted(these);
        }
    }
}

/// Whether who answers so has read the credentials: a server that fails, or turns away a load, and a proxy may not have.
fn tells_of_credentials(status: StatusCode) -> bool {
    let unread = [
        StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    !status.is_server_error() && !unread.contains(&status)
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({:?})", self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_proxy_or_a_server_in_trouble_answers_says_nothing_of_credentials() {
        let tells = |status| tells_of_credentials(StatusCode::from_u16(status).expect("a status"));
        assert!([200, 304, 400, 403, 404].into_iter().all(tells));
        assert!(![407, 408, 429, 500, 503].into_iter().any(tells));
    }
}
