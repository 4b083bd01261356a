//! Which of reqwest's clients sends an attempt? After a time-out one with connections of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becalm::Attempt;
use becalm::http::Retriers;
use becalm::support::{Lanes, Trip};
use reqwest::{Client, ClientBuilder, Url};

use super::build_error::BuildError;

/// No pings at shorter distances.
#[cfg(feature = "h2")]
const LEAST: Duration = Duration::from_millis(100);
/// More servers than these are no longer told apart: what is known of all of them is forgotten.
const SERVERS: usize = 1000;

/// What reqwest's clients are built by: a builder, for one client, or a function that makes a builder for each, so that an attempt
/// that follows a time-out can go elsewhere.
///
/// ```
/// # use becalm_reqwest::{Client, Policy, reqwest};
/// # let retrier = Policy::default().retrier()?;
/// let client = Client::new(|| reqwest::Client::builder().user_agent("shop/1.0"), &retrier)?;
/// # let _ = client;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// **Over HTTP/2 all requests to a server share a connection.** It may be dead without a word, where a proxy forwards nothing any more
/// and nobody closes; all attempts on it time out then, and reqwest cannot be told to leave it. With a function
///
/// - the attempt after a time-out of a call goes to a second client, which is built for the first that needs it. It stays
///   where it was if a request that was sent later than the one that timed out has been answered there: then the connection lives, and the
///   request alone is slow. After a second time-out it goes elsewhere in any case;
/// - other calls go on as they did, until the first client is proved silent: the second has answered, or of two requests,
///   the second sent after the first had timed out, neither was answered. From then on calls to this server go to the second. What runs on
///   the first runs on: nothing is cancelled;
/// - each server has two clients at most, beside one that is left and ends what it has begun, and changes no more than once in
///   ten seconds. So a slow request costs one dial, and a server that hangs two in ten seconds.
///
/// The function builds all of them alike. What they are to share goes into it and is cloned there, such as a jar of cookies
/// (`cookie_provider`); with `cookie_store` each has its own. To build one reads certificates, so it takes some milliseconds.
///
/// **With a builder** there is one client. HTTP/1 needs no other: a connection that was silent is closed. For HTTP/2 (feature `h2`) pings are
/// set, whatever the builder says of them: a connection on which requests wait and nothing has come for two fifths of the policy's attempt
/// time-out (of ten seconds, where it has none) is asked whether it lives, and is closed for all calls where it does not say so in as long. So the attempt fails
/// before its time is up, and the next has a new connection. Some servers do not like pings; a function leaves them to its builders.
pub trait Builders: sealed::Builders {}

impl Builders for ClientBuilder {}
impl<F: Fn() -> ClientBuilder + Send + Sync + 'static> Builders for F {}

mod sealed {
    use super::Source;

    pub trait Builders {
        fn source(self) -> Source;
    }
}

impl sealed::Builders for ClientBuilder {
    fn source(self) -> Source {
        Source::Builder(Box::new(self))
    }
}

impl<F: Fn() -> ClientBuilder + Send + Sync + 'static> sealed::Builders for F {
    fn source(self) -> Source {
        Source::Function(Box::new(self))
    }
}

/// Where clients come from.
pub enum Source {
    Builder(Box<ClientBuilder>),
    Function(Box<dyn Fn() -> ClientBuilder + Send + Sync>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builder(builder) => builder.fmt(f),
            Self::Function(make) => make().fmt(f),
        }
    }
}

/// The clients.
#[derive(Clone)]
pub(super) struct Below {
    /// What builds requests, and sends those that nothing is known of.
    pub first: Client,
    elsewhere: Option<Arc<Elsewhere>>,
}

struct Elsewhere {
    make: Arc<dyn Fn() -> Option<Client> + Send + Sync>,
    servers: Mutex<HashMap<String, Arc<Lanes<Client>>>>,
}

impl Below {
    /// With a builder alone, dead connections are found in less than this.
    pub fn new(
        source: Source,
        limit: Duration,
        finish: impl Fn(ClientBuilder) -> Result<Client, BuildError> + Send + Sync + 'static,
    ) -> Result<Self, BuildError> {
        Ok(match source {
            Source::Builder(builder) => Self {
                first: finish(pinging(*builder, limit))?,
                elsewhere: None,
            },
            Source::Function(make) => Self {
                first: finish(make())?,
                elsewhere: Some(Arc::new(Elsewhere {
                    make: Arc::new(move || finish(make()).ok()),
                    servers: Mutex::default(),
                })),
            },
        })
    }

    /// The client for this attempt of a request to this address.
    pub fn begin(&self, url: &Url, attempt: Attempt) -> (Option<Trip<Client>>, Client) {
        let Some(elsewhere) = &self.elsewhere else {
            return (None, self.first.clone());
        };
        let lanes = elsewhere.lanes(server(url), &self.first);
        let (trip, client) = lanes.begin(Some(&attempt));
        (Some(trip), client)
    }
}

impl Elsewhere {
    fn lanes(&self, server: &str, first: &Client) -> Arc<Lanes<Client>> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lanes) = servers.get(server) {
            return Arc::clone(lanes);
        }
        if servers.len() >= SERVERS {
            servers.clear();
        }
        let make = Arc::clone(&self.make);
        let lanes = Lanes::new(first.clone(), move || make());
        servers.insert(server.to_owned(), Arc::clone(&lanes));
        lanes
    }
}

impl fmt::Debug for Below {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)
    }
}

/// Asks connections of HTTP/2 whether they live, on which requests wait.
#[cfg(feature = "h2")]
pub(super) fn pinging(builder: ClientBuilder, limit: Duration) -> ClientBuilder {
    let part = (limit * 2 / 5).max(LEAST);
    let builder = builder.http2_keep_alive_interval(part);
    builder.http2_keep_alive_timeout(part)
}

#[cfg(not(feature = "h2"))]
pub(super) fn pinging(builder: ClientBuilder, _: Duration) -> ClientBuilder {
    builder
}

/// In which time a connection is to be found dead.
pub(super) fn limit(retriers: &Retriers) -> Duration {
    let limit = match retriers {
        Retriers::One(retrier) => retrier.policy().attempt_timeout,
        Retriers::PerHost(_) => None,
    };
    limit.unwrap_or(Duration::from_secs(10))
}

/// Scheme, host and port.
fn server(url: &Url) -> &str {
    let text = url.as_str();
    let host = text.find("://").map_or(0, |at| at + 3);
    let path = text[host..].find(['/', '?', '#']);
    path.map_or(text, |path| &text[..host + path])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_its_scheme_host_and_port() {
        for (url, expected) in [
            (
                "http://shop.example/orders/17?a=http://b/",
                "http://shop.example",
            ),
            ("https://shop.example:8443/", "https://shop.example:8443"),
            ("https://[::1]:8443?a", "https://[::1]:8443"),
            ("http://shop.example:80/", "http://shop.example"),
        ] {
            assert_eq!(server(&url.parse().expect("valid")), expected);
        }
    }
}
