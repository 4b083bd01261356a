//! How does a chain of `reqwest-middleware` repeat its requests? As the client of this crate does, with what a middleware can see.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use becalm::classify::{ByTrait, Effect, Verdict};
use becalm::http::{self as semantics, Answer, Exchange, InvalidOrigin, Judge, Origin, Retriers};
use becalm::{Attempt, Failure, GaveUp, Keyed, Operation, Retrier, call::CallOptions};
use http::Extensions;
use reqwest::{Request, Response, Url};
use reqwest_middleware::{Error, Middleware, Next, Result};

use super::below::{limit, pinging};
use super::body::Outgoing;
use super::build_error::BuildError;
use super::client::below;
use super::drain::drained;
use super::failed::Failed;
use super::redirect::{self, Redirected};
use super::send::{as_it_came, attempts, poll};
use super::shared::{IDEMPOTENCY_KEY, write_scope};
use super::transport;

/// A middleware that repeats what comes below it in the chain: by the same budget, hints, idempotency and time limits as
/// [`Client`](super::Client).
///
/// ```
/// use becalm_reqwest::{Policy, RetryMiddleware, reqwest_middleware};
/// use std::time::Duration;
///
/// let http = reqwest::Client::builder().timeout(Duration::from_secs(10));
/// let mut retries = RetryMiddleware::new(&Policy::default().retrier()?);
/// let http = retries.client(http)?;
/// let client = reqwest_middleware::ClientBuilder::new(http).with(retries).build();
/// # let _ = client;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// - **One request** may set its own with `with_extension`: an [`Operation`], such as
///   `Operation::Keyed(IdempotencyKey::random())` for an `Idempotency-Key` on each attempt, and [`CallOptions`] (attempts, deadline,
///   priority).
/// - **Middlewares below** run once for each attempt, and find its [`Attempt`] in their extensions; those above run once for all. One
///   below may put a [`Verdict`] into the extensions of an answer, which then counts.
/// - **At the end** comes the last answer as it came, with the [`Stopped`](becalm::run::Stopped) of the call in its extensions; or an
///   [`Error::Middleware`] whose `downcast_ref` to `GaveUp<reqwest_middleware::Error>` is the record of the call. An error of another
///   middleware is permanent, unless one of reqwest lies below it.
/// - **A body that streams** cannot be cloned, and is sent once.
///
/// # What a middleware cannot do
///
/// - Redirects are followed, and refused streams of HTTP/2 repeated, inside of reqwest. [`client`](Self::client) builds one that keeps a key and a
///   scope on their server, makes an error of what a redirect has left undone, and repeats nothing by itself. Over a reqwest client
///   that was built otherwise, a redirect takes `Idempotency-Key` and `becalm-scope` along to other servers; and a connection that was
///   refused may be that of a redirect, so that a POST without a key is never repeated.
/// - It neither renews credentials nor reads bodies of answers, and its attempts share one client, so that after a time-out the next may be on the same
///   connection until a ping finds that dead: for these there is [`ClientBuilder`](super::ClientBuilder). A
///   middleware below that logs in does so within an attempt, and its login is in the attempt's time.
/// - Another middleware that repeats, below or above, multiplies the attempts.
#[derive(Debug)]
pub struct RetryMiddleware {
    retriers: Retriers,
    origins: Vec<Origin>,
    judge: Option<Judge>,
    /// The client at the end of the chain tells of its redirects.
    knows_redirects: bool,
}

impl RetryMiddleware {
    /// A middleware that repeats as this retrier says: one dependency, one budget.
    pub fn new(retrier: &Retrier) -> Self {
        Self::with(Retriers::One(retrier.clone()))
    }

    /// A middleware with a retrier for each host and port, as
    /// [`ClientBuilder::per_host`](super::ClientBuilder::per_host) has it.
    pub fn per_host(hosts: Keyed<String, Retrier>) -> Self {
        Self::with(Retriers::PerHost(Arc::new(hosts)))
    }

    fn with(retriers: Retriers) -> Self {
        Self {
            retriers,
            origins: Vec::new(),
            judge: None,
            knows_redirects: false,
        }
    }

    /// Tells these servers, and no other, of the attempt and of the time that it has left, as
    /// [`ClientBuilder::scope_to`](super::ClientBuilder::scope_to) does.
    ///
    /// # Errors
    ///
    /// A text is no origin, such as `https://orders.internal:8443`.
    pub fn scope_to<'a>(
        mut self,
        origins: impl IntoIterator<Item = &'a str>,
    ) -> std::result::Result<Self, InvalidOrigin> {
        for origin in origins {
            self.origins.push(origin.parse()?);
        }
        Ok(self)
    }

    /// Judges answers by status and headers: `Some` is what an answer means, whatever HTTP says of it, and `None` leaves it to
    /// [`becalm::http::verdict`]. Its body is not there: who judges by that puts a [`Verdict`] into the extensions, or takes
    /// [`ClientBuilder::judge`](super::ClientBuilder::judge).
    ///
    /// ```
    /// # use becalm_reqwest::{Policy, RetryMiddleware};
    /// use becalm::Failure;
    ///
    /// # let retrier = Policy::default().retrier()?;
    /// let retries = RetryMiddleware::new(&retrier).judge(|answer| {
    ///     let is_busy = answer.headers.contains_key("x-busy");
    ///     is_busy.then(|| Failure::throttled().into())
    /// });
    /// # let _ = retries;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn judge(
        mut self,
        judge: impl Fn(&Answer<'_>) -> Option<Verdict> + Send + Sync + 'static,
    ) -> Self {
        self.judge = Some(Judge::new(judge));
        self
    }

    /// Builds the reqwest client for the end of the chain with this middleware: without retries of its own, with redirects (up to ten) that keep a
    /// key and a scope on their server, and over HTTP/2 with pings, as a [builder](super::Builders) has them.
    ///
    /// # Errors
    ///
    /// reqwest could not build it, or it has a redirect policy, which would be lost.
    pub fn client(
        &mut self,
        client: reqwest::ClientBuilder,
    ) -> std::result::Result<reqwest::Client, BuildError> {
        self.knows_redirects = true;
        let client = pinging(client, limit(&self.retriers));
        below(client, &Arc::default())
    }
}

#[async_trait::async_trait]
impl Middleware for RetryMiddleware {
    async fn handle(
        &self,
        mut request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let retrier = self.retriers.of(request.url().authority());
        let method = request.method().clone();
        let headers = request.headers_mut();
        let declared = extensions.get().copied();
        let operation = semantics::declare(declared, retrier.as_ref(), &method, headers);
        let options = extensions.get::<CallOptions>().copied();
        let options = options.unwrap_or_default().operation(operation);
        let chain = Chain {
            settings: self,
            retrier: &retrier,
            outgoing: Outgoing::new(request, None),
            operation,
            extensions: extensions.clone(),
            next,
        };
        let (answer, left) = chain.send(options).await?;
        extensions.extend(left);
        Ok(answer)
    }
}

/// What lies below, and the request that goes there.
struct Chain<'a> {
    settings: &'a RetryMiddleware,
    retrier: &'a Retrier,
    outgoing: Outgoing,
    operation: Operation,
    extensions: Extensions,
    next: Next<'a>,
}

impl Chain<'_> {
    async fn send(&self, options: CallOptions) -> Result<(Response, Extensions)> {
        // The first of these: what is held is back before anybody is told of the end.
        let mut attempts = pin!(attempts(self.retrier, options));
        let mut drain: Option<Pin<Box<dyn Future<Output = ()> + Send + '_>>> = None;
        let ended = poll_fn(|context| {
            let start = |attempt| self.attempt(attempt);
            let polled = attempts.as_mut().poll_call(&ByTrait, context, start, poll);
            if let (Poll::Pending, Some(engine)) = (&polled, attempts.engine()) {
                let stays = engine.has_failed_for_good();
                let last = attempts.as_mut().last().filter(|_| !stays);
                if let Some(answer) = last.and_then(|(_, failed)| Failed::let_go(failed)) {
                    drain = Some(Box::pin(drained(answer, self.retrier.sleeper())));
                }
                drain.take_if(|drain| drain.as_mut().poll(context).is_ready());
            }
            polled
        });
        let as_it_came = |gave_up: GaveUp<Failed<Error>>| as_it_came(gave_up, false);
        ended.await.or_else(|gave_up| {
            let answer = as_it_came(gave_up).map_err(Error::middleware)?;
            Ok((answer, Extensions::new()))
        })
    }

    async fn attempt(
        &self,
        attempt: Attempt,
    ) -> std::result::Result<(Response, Extensions), (Failure, Failed<Error>)> {
        let Some(mut request) = self.outgoing.next() else {
            return Err((Failure::transient().unsent(), Failed::BodyGone));
        };
        let sleeper = self.retrier.sleeper();
        let has_key = self.operation.is_keyed() || request.headers().contains_key(&IDEMPOTENCY_KEY);
        let redirected = Redirected {
            method: request.method().clone(),
            has_scope: write_scope(&self.settings.origins, sleeper, &mut request),
            has_key,
            // Without a key, a redirect that was not followed may be what the caller asked for.
            follows_none: !has_key,
        };
        let mut extensions = self.extensions.clone();
        extensions.insert(attempt);
        let below = self.next.clone().run(request, &mut extensions);
        let (result, followed) = redirect::watched(redirected, below).await;
        let knows = self.settings.knows_redirects && !followed.any;
        let is_proved = |url: Option<&Url>| knows && url == Some(self.outgoing.request().url());
        match result {
            Ok(mut answer) => {
                let exchange = Exchange::new(self.operation, attempt.number());
                let (status, headers) = (answer.status(), answer.headers());
                let by_head = || semantics::verdict(status, headers, exchange, || sleeper.wall());
                let judge = self.settings.judge.as_ref();
                let by_judge = || judge?.judge(&Answer::new(status, headers));
                let judged = answer.extensions().get().copied().or_else(by_judge);
                if let Verdict::Failure(failure) = judged.unwrap_or_else(by_head) {
                    let failure = proved(failure, is_proved(Some(answer.url())));
                    return Err((failure, Failed::Answer(answer)));
                }
                if attempt.number() > 1 {
                    answer.extensions_mut().insert(attempt);
                }
                Ok((answer, extensions))
            }
            Err(error) => {
                let failure = proved(classify(&error), is_proved(error.url()));
                Err((failure, Failed::Error(error)))
            }
        }
    }
}

/// Something else in the chain, or the server that redirects, may have had the request.
fn proved(mut failure: Failure, is_proved: bool) -> Failure {
    if !is_proved {
        failure.effect = Effect::Unknown;
    }
    failure
}

fn classify(error: &Error) -> Failure {
    let below = match error {
        Error::Reqwest(error) => Some(error),
        Error::Middleware(error) => error.chain().find_map(|error| error.downcast_ref()),
    };
    below.map_or(Failure::permanent(), transport::classify)
}
