//! What may one request set? What reqwest's may, and how it is repeated.

use std::fmt;
use std::time::Duration;

use becalm::call::CallOptions;
use becalm::http::declare;
use becalm::throttle::Priority;
use becalm::{IdempotencyKey, Operation};
use http::{HeaderName, HeaderValue};
use reqwest::header::HeaderMap;
use reqwest::{Body, Response};

use super::body::{Factory, Outgoing};
use super::failed::NoAnswer;
use super::send::{refuse, send};
use super::shared::Shared;

/// A request that is repeated: set what it is, then [`send`](Self::send) it.
#[must_use = "a request does nothing until `send`"]
pub struct RequestBuilder {
    shared: Shared,
    request: reqwest::RequestBuilder,
    body: Option<Factory>,
    operation: Option<Operation>,
    options: CallOptions,
    is_whole: bool,
}

/// What the request is, as in reqwest.
impl RequestBuilder {
    pub(super) fn new(shared: Shared, request: reqwest::RequestBuilder) -> Self {
        Self {
            shared,
            request,
            body: None,
            operation: None,
            options: CallOptions::new(),
            is_whole: false,
        }
    }

    /// Sets anything that reqwest's builder sets.
    ///
    /// ```
    /// # fn run(client: &becalm_reqwest::Client) {
    /// let request = client.get("http://shop.example/orders").with(|it| it.version(http::Version::HTTP_11));
    /// # drop(request);
    /// # }
    /// ```
    pub fn with(
        mut self,
        set: impl FnOnce(reqwest::RequestBuilder) -> reqwest::RequestBuilder,
    ) -> Self {
        self.request = set(self.request);
        self
    }

    /// Adds a header: [`reqwest::RequestBuilder::header`].
    pub fn header<K, V>(self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K, Error: Into<http::Error>>,
        HeaderValue: TryFrom<V, Error: Into<http::Error>>,
    {
        self.with(|request| request.header(name, value))
    }

    /// Adds headers: [`reqwest::RequestBuilder::headers`].
    pub fn headers(self, headers: HeaderMap) -> Self {
        self.with(|request| request.headers(headers))
    }

    /// Sets user and password: [`reqwest::RequestBuilder::basic_auth`].
    pub fn basic_auth(self, user: impl fmt::Display, password: Option<impl fmt::Display>) -> Self {
        self.with(|request| request.basic_auth(user, password))
    }

    /// Sets a bearer token: [`reqwest::RequestBuilder::bearer_auth`].
    pub fn bearer_auth(self, token: impl fmt::Display) -> Self {
        self.with(|request| request.bearer_auth(token))
    }

    /// Adds to the query: [`reqwest::RequestBuilder::query`].
    #[cfg(feature = "query")]
    pub fn query<T: serde::Serialize + ?Sized>(self, query: &T) -> Self {
        self.with(|request| request.query(query))
    }

    /// Sets the body to a form: [`reqwest::RequestBuilder::form`].
    #[cfg(feature = "form")]
    pub fn form<T: serde::Serialize + ?Sized>(self, form: &T) -> Self {
        self.with(|request| request.form(form))
    }

    /// Sets the body to JSON: [`reqwest::RequestBuilder::json`].
    #[cfg(feature = "json")]
    pub fn json<T: serde::Serialize + ?Sized>(self, json: &T) -> Self {
        self.with(|request| request.json(json))
    }

    /// Sets the body. Bytes and texts are sent again at no cost.
    ///
    /// A body that streams is sent once: if that attempt fails, the call ends with
    /// [`BodyNotReplayable`](becalm::StopReason::BodyNotReplayable). To repeat it, see
    /// [`body_with`](Self::body_with).
    pub fn body(self, body: impl Into<Body>) -> Self {
        self.with(|request| request.body(body))
    }

    /// Sets what makes the body, anew for each attempt: for a body that streams.
    ///
    /// ```
    /// # fn run(client: &becalm_reqwest::Client) {
    /// let lines = || Body::wrap(String::from("many\nlines\n")); // a stream, such as a file
    /// # use reqwest::Body;
    /// let request = client.put("http://shop.example/stock").body_with(lines);
    /// # drop(request);
    /// # }
    /// ```
    pub fn body_with<B: Into<Body>>(
        mut self,
        make: impl Fn() -> B + Send + Sync + 'static,
    ) -> Self {
        self.body = Some(Box::new(move || make().into()));
        self
    }

    /// Sets how long one attempt may take, with the body of its answer, in place of the time-out of reqwest's
    /// client: [`reqwest::RequestBuilder::timeout`]. If the policy allows an attempt less, that
    /// holds up to the head of the answer.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|request| request.timeout(timeout))
    }
}

/// How it is repeated. What is not set is the policy's.
impl RequestBuilder {
    /// Declares whether the request may be repeated, and how. Default: as the policy's list of
    /// [methods](becalm::retry_on::RetryOn::methods) says, or else its method and its `Idempotency-Key` (RFC 9110
    /// section 9.2.2; see [`becalm::http::operation`]).
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Gives all attempts one new key, in an `Idempotency-Key` header
    /// (draft-ietf-httpapi-idempotency-key-header-07), by which the server recognises a repetition.
    /// For servers that know it: to others the header says nothing, and a POST is done twice.
    ///
    /// A request that has such a header already keeps its own.
    pub fn keyed(self) -> Self {
        self.operation(Operation::Keyed(IdempotencyKey::random()))
    }

    /// Sets how many attempts the request may make, the first included. 1 means no repetition.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.options.attempts = Some(attempts);
        self
    }

    /// Sets the longest time of the request up to the head of its answer, with all attempts and waits.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// Sets how soon an adaptive throttle may shed this request. Default
    /// [`Critical`](Priority::Critical).
    pub fn priority(mut self, priority: Priority) -> Self {
        self.options.priority = priority;
        self
    }

    /// Takes the body of a good answer (2xx) for a part of the attempt: one that breaks off is a failure like any other, which
    /// is repeated where that is safe, and the time limits of the policy hold up to its end. The answer comes with
    /// all of its body, in memory. Default: what happens after the head is the caller's.
    ///
    /// ```
    /// # async fn run(client: &becalm_reqwest::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let orders = client.get("http://shop.example/orders").whole().send().await?.text().await?;
    /// # drop(orders);
    /// # Ok(())
    /// # }
    /// ```
    pub fn whole(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// Sends the request, again where that is safe and affordable, until an answer is no failure or becalm stops.
    ///
    /// The last answer comes back as it came, be it a 503, with the [`Stopped`](becalm::run::Stopped) of
    /// the call in its [extensions](Response::extensions). A success by a later attempt has its [`Attempt`](becalm::Attempt) there; without
    /// one it is the first attempt's.
    ///
    /// Dropping the future cancels the call and returns what it held.
    ///
    /// # Errors
    ///
    /// The last attempt brought no answer, or one that means failure where the client
    /// [makes those errors](super::ClientBuilder::answers_are_errors).
    pub fn send(self) -> impl Future<Output = Result<Response, NoAnswer>> + Send {
        let Self {
            shared,
            request,
            body,
            operation,
            mut options,
            is_whole,
        } = self;
        let outgoing = request.build().map(|mut request| {
            let retrier = shared.retriers.of(request.url().authority());
            let method = request.method().clone();
            options.operation =
                declare(operation, retrier.as_ref(), &method, request.headers_mut());
            (retrier, Outgoing::new(request, body))
        });
        async move {
            match outgoing {
                // Where they lie, and the other in a box: the future is moved, and each byte of it costs.
                Ok((ref retrier, ref outgoing)) => {
                    send(&shared, retrier, outgoing, options, is_whole).await
                }
                Err(error) => Box::pin(refuse(&shared, error)).await,
            }
        }
    }
}

impl fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBuilder")
            .field("request", &self.request)
            .field("operation", &self.operation)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
