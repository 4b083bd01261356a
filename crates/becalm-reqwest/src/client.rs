//! What is a client that retries made of? A reqwest client that does not, and a retrier.

use std::sync::Arc;
use std::time::Duration;

use becalm::classify::Verdict;
use becalm::http::{Answer, InvalidOrigin, Judge, Origin, Retriers};
use becalm::{Keyed, Retrier};
use reqwest::header::HeaderValue;
use reqwest::redirect::Policy as Redirects;
use reqwest::{IntoUrl, Method, Request, Response};

use super::below::{Below, Builders, Source, limit};
use super::build_error::BuildError;
use super::credentials::Credentials;
use super::failed::NoAnswer;
use super::redirect;
use super::request::RequestBuilder;
use super::shared::{Settings, Shared};

/// A reqwest client whose requests are repeated: see the [crate](crate).
///
/// Cheap to clone; clones share connections, budget and breaker. Make one for each service that you call.
#[derive(Debug, Clone)]
pub struct Client {
    shared: Shared,
}

/// Methods begin a request.
macro_rules! methods {
    ($($name:ident $method:ident)+) => {$(
        #[doc = concat!("Begins a ", stringify!($method), " request to this URL.")]
        pub fn $name(&self, url: impl IntoUrl) -> RequestBuilder {
            self.request(Method::$method, url)
        }
    )+};
}

impl Client {
    /// Builds a client that repeats as this retrier says: one dependency, one budget. For more settings,
    /// [`ClientBuilder`]. reqwest's clients are built by a function, or one by a builder: see [`Builders`].
    ///
    /// # Errors
    ///
    /// See [`BuildError`].
    ///
    /// ```
    /// use becalm::Policy;
    /// let builder = || reqwest::Client::builder().user_agent("shop/1.0");
    /// let client = becalm_reqwest::Client::new(builder, &Policy::default().retrier()?)?;
    /// # let _ = client;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(client: impl Builders, retrier: &Retrier) -> Result<Self, BuildError> {
        ClientBuilder::new(client, retrier).build()
    }

    methods! {
        get GET
        post POST
        put PUT
        patch PATCH
        delete DELETE
        head HEAD
    }

    /// Begins a request of any method to this URL.
    pub fn request(&self, method: Method, url: impl IntoUrl) -> RequestBuilder {
        let request = self.shared.below.first.request(method, url);
        RequestBuilder::new(self.shared.clone(), request)
    }

    /// Sends a request that is built already: [`RequestBuilder::send`].
    ///
    /// # Errors
    ///
    /// The last attempt brought no answer: see [`RequestBuilder::send`].
    pub async fn execute(&self, request: Request) -> Result<Response, NoAnswer> {
        let request = reqwest::RequestBuilder::from_parts(self.shared.below.first.clone(), request);
        RequestBuilder::new(self.shared.clone(), request)
            .send()
            .await
    }
}

/// Builds a [`Client`].
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct ClientBuilder {
    client: Source,
    retriers: Retriers,
    redirects: Option<Redirects>,
    settings: Settings,
    login_timeout: Option<Duration>,
    /// The first text that is none.
    invalid_origin: Option<InvalidOrigin>,
}

impl ClientBuilder {
    /// A builder of a client that repeats as this retrier says.
    ///
    /// reqwest's own retries are switched off, whatever its builder says of them
    /// ([`reqwest::ClientBuilder::retry`]).
    pub fn new(client: impl Builders, retrier: &Retrier) -> Self {
        Self::with(client, Retriers::One(retrier.clone()))
    }

    /// A builder of a client with a retrier for each host and port: a host that is down spends no
    /// other's budget, and opens no other's breaker. The port is part of the key where it is not the scheme's own.
    ///
    /// ```
    /// use becalm::{Keyed, Policy};
    /// use becalm_reqwest::ClientBuilder;
    ///
    /// let policy = Policy::default();
    /// policy.validate()?;
    /// let hosts = Keyed::new(1000, move |_: Option<&String>| {
    ///     policy.clone().retrier().expect("it was validated")
    /// });
    /// let client = ClientBuilder::per_host(reqwest::Client::builder, hosts).build()?;
    /// # let _ = client;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn per_host(client: impl Builders, hosts: Keyed<String, Retrier>) -> Self {
        Self::with(client, Retriers::PerHost(Arc::new(hosts)))
    }

    fn with(client: impl Builders, retriers: Retriers) -> Self {
        Self {
            client: client.source(),
            retriers,
            redirects: None,
            settings: Settings::default(),
            login_timeout: None,
            invalid_origin: None,
        }
    }

    /// The origin that this text names, if it names one.
    fn read(&mut self, origin: &str) -> Option<Origin> {
        let read = origin.parse();
        read.map_err(|error| self.invalid_origin.get_or_insert(error))
            .ok()
    }

    /// Sets which redirects are followed. Default: reqwest's, up to ten. Set it here, not in reqwest's own
    /// builder.
    ///
    /// A request with a key, or with a scope ([`scope_to`](Self::scope_to)), is not redirected to another
    /// scheme, host or port, because reqwest would send both there. What was not done does not look done. Such a POST, PUT,
    /// PATCH or DELETE ends with an error, and so does a POST with a key that a 301 or 302 would make a GET: of both,
    /// [`is_redirect`](reqwest::Error::is_redirect) is true. An error too is a redirect that reqwest cannot follow, because
    /// the body streams and cannot be sent again, or because there is no `Location`: of that,
    /// [`is_decode`](reqwest::Error::is_decode) is true, since reqwest lets no other be made. All of them are
    /// [`Permanent`](becalm::StopReason::Permanent). A GET, and a 303 (the request was done), have the redirect as the
    /// answer. So has every request under [`Policy::none`](Redirects::none).
    pub fn redirect(mut self, policy: Redirects) -> Self {
        self.redirects = Some(policy);
        self
    }

    /// Tells these servers, such as `https://orders.internal:8443`, of the attempt that a request belongs to and
    /// of the time that it has left (`becalm-scope`), so that layers in different processes do not
    /// multiply their attempts. Default: none. To any other server a `becalm-scope` is never sent.
    pub fn scope_to<'a>(mut self, origins: impl IntoIterator<Item = &'a str>) -> Self {
        for origin in origins {
            let read = self.read(origin);
            self.settings.origins.extend(read);
        }
        self
    }

    /// Sends credentials to this server, and to no other: what `fetch` brings is the `Authorization` of each request that
    /// has none of its own. `None` means that there are none: the request goes with those that the server has refused last, or without.
    ///
    /// A 401 has them fetched anew, and the request is sent again. That is safe for every method, because it was refused. After a
    /// redirect the 401 proves nothing: the server that redirects may have done the request. Then it is sent again only if its
    /// method is idempotent or it has a key. It is a retry: it counts as one of the policy's attempts, and the budget pays it.
    /// A second 401 is the answer, and so is a 403. So is a 401 after redirects that led to another server and back, since
    /// reqwest has removed the credentials.
    ///
    /// `fetch` runs once for all requests that wait for it, as a task of its own: outside of every attempt and of the call that
    /// asked first, with its own [time limit](Self::login_timeout). Calls wait for it before and between their attempts, up to their
    /// deadline. If it brings nothing, or what the server refuses, the next ones come at growing distances (up to 30 s, and never
    /// more than ten in ten seconds), until the server answers a request with them by anything but a 401, 407, 408, 429 or 5xx. Calls in
    /// between are sent with what there is.
    ///
    /// ```
    /// # use becalm::Policy;
    /// use becalm_reqwest::ClientBuilder;
    /// use reqwest::header::HeaderValue;
    ///
    /// async fn log_in() -> Option<HeaderValue> {
    ///     HeaderValue::try_from("Bearer token").ok()
    /// }
    /// # let retrier = Policy::default().retrier()?;
    /// let client = ClientBuilder::new(reqwest::Client::builder, &retrier)
    ///     .credentials("https://shop.example", log_in)
    ///     .build()?;
    /// # let _ = client;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn credentials<F>(
        mut self,
        origin: &str,
        fetch: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Option<HeaderValue>> + Send + 'static,
    {
        if let Some(origin) = self.read(origin) {
            let credentials = Credentials::new(origin, fetch);
            self.settings.credentials.push(credentials);
        }
        self
    }

    /// Sets how long one login ([`credentials`](Self::credentials)) may take. Default 30 s.
    pub fn login_timeout(mut self, limit: Duration) -> Self {
        self.login_timeout = Some(limit);
        self
    }

    /// Judges answers: `Some` is what an answer means, whatever HTTP says of it, and `None` leaves it to
    /// [`becalm::http::verdict`]. The body is there of a success, of a request with [`whole`](RequestBuilder::whole). A 401 after
    /// which [credentials](Self::credentials) are renewed is not judged.
    ///
    /// ```
    /// # use becalm::Policy;
    /// use becalm::Failure;
    /// use becalm_reqwest::ClientBuilder;
    /// # let retrier = Policy::default().retrier()?;
    /// let client = ClientBuilder::new(reqwest::Client::builder, &retrier)
    ///     .judge(|answer| {
    ///         let is_busy = answer.body?.starts_with(b"{\"error\":\"busy\"");
    ///         is_busy.then(|| Failure::throttled().into())
    ///     })
    ///     .build()?;
    /// # let _ = client;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn judge(
        mut self,
        judge: impl Fn(&Answer<'_>) -> Option<Verdict> + Send + Sync + 'static,
    ) -> Self {
        self.settings.judge = Some(Judge::new(judge));
        self
    }

    /// Makes a last answer that means failure an error, as
    /// [`error_for_status`](reqwest::Response::error_for_status) does. Default: it is handed on as it came.
    pub fn answers_are_errors(mut self) -> Self {
        self.settings.answers_are_errors = true;
        self
    }

    /// Makes a client span of each request that is sent, as OpenTelemetry has it ([`becalm::http::ClientSpan`]), with
    /// `http.request.resend_count`: one for each attempt, and none for redirects. It ends with the head of the answer. Default: none.
    #[cfg(feature = "tracing")]
    pub fn spans(mut self) -> Self {
        self.settings.has_spans = true;
        self
    }

    /// Builds the client.
    ///
    /// # Errors
    ///
    /// See [`BuildError`].
    pub fn build(mut self) -> Result<Client, BuildError> {
        if let Some(error) = self.invalid_origin {
            return Err(BuildError::InvalidOrigin(error));
        }
        if let Some(limit) = self.login_timeout {
            let all = self.settings.credentials.iter();
            all.for_each(|credentials| credentials.time_limit(limit));
        }
        let redirects = self.redirects.unwrap_or_default();
        self.settings.follows_no_redirects = redirect::follows_none(&redirects);
        let redirects = Arc::new(redirects);
        let limit = limit(&self.retriers);
        let finish = move |client| below(client, &redirects);
        let shared = Shared {
            below: Below::new(self.client, limit, finish)?,
            retriers: self.retriers,
            settings: Arc::new(self.settings),
        };
        Ok(Client { shared })
    }
}

/// The client that sends: it repeats nothing, and keeps on its server what is meant for that.
pub(super) fn below(
    client: reqwest::ClientBuilder,
    redirects: &Arc<Redirects>,
) -> Result<reqwest::Client, BuildError> {
    // reqwest has no getter for it, and one that is lost in silence may let requests go where
    // they must not.
    if format!("{client:?}").contains(" redirect_policy: Policy(") {
        return Err(BuildError::RedirectPolicy);
    }
    let client = client
        .retry(reqwest::retry::never())
        .redirect(redirect::guarded(Arc::clone(redirects)));
    client.build().map_err(BuildError::Reqwest)
}
