//! What is one attempt? The request is sent, and what came of it is judged. A 401 of credentials that may be
//! renewed is a failure like any other: the next attempt, which the budget pays, has new ones.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becalm::classify::{Cause, Effect, FailureKind, Verdict};
use becalm::http::{self as semantics, Answer, Exchange, Judge};
use becalm::support::Trip;
use becalm::time::Sleeper;
use becalm::{Attempt, Failure, Hint, Operation};
use reqwest::header::AUTHORIZATION;
use reqwest::{Client, Request, Response, StatusCode};

use super::body::Outgoing;
use super::credentials::Credentials;
use super::drain::drained;
use super::failed::Failed;
use super::redirect::{self, Followed, Redirected};
use super::shared::{IDEMPOTENCY_KEY, Shared, is_of, write_scope};
use super::transport;
use super::whole::whole;

/// Makes the attempts of one call.
pub(super) struct Exchanges<'a> {
    pub shared: &'a Shared,
    pub sleeper: &'a dyn Sleeper,
    pub outgoing: &'a Outgoing,
    pub operation: Operation,
    /// The body of the answer belongs to the attempt.
    pub is_whole: bool,
    /// How often the request was sent.
    #[cfg(feature = "tracing")]
    pub sent: std::sync::atomic::AtomicU32,
    pub renewal: Mutex<Renewal>,
}

/// What a call knows of credentials that were refused.
#[derive(Debug, Default)]
pub(super) struct Renewal {
    /// Of the credentials that the call has renewed, which it does once.
    round: Option<u64>,
    /// The answer that has refused them.
    answer: Option<Response>,
    /// The next attempt waits for a login.
    is_awaited: bool,
    /// Attempts that run.
    running: usize,
}

impl Exchanges<'_> {
    pub async fn attempt(&self, attempt: Attempt) -> Result<Response, (Failure, Failed)> {
        let exchange = Exchange::new(self.operation, attempt.number());
        let credentials = self.credentials();
        let _running = credentials.map(|_| Running::begin(&self.renewal));
        if let Some((credentials, refused)) =
            credentials.and_then(|it| Some((it, self.take_refused()?)))
        {
            if !credentials.login.has_some() {
                return self.judge(Ok(refused), exchange); // as it would be again
            }
            Box::pin(drained(refused, self.sleeper)).await;
        }
        let Some(request) = self.outgoing.next() else {
            return Err((Failure::transient().unsent(), Failed::BodyGone));
        };
        let (mut trip, client) = self.shared.below.begin(request.url(), attempt);
        let (result, followed) = match credentials {
            None => self.send(&client, request).await,
            // In a box, which no other call pays for.
            Some(credentials) => {
                match Box::pin(self.send_with(&client, credentials, request)).await {
                    Err(refused) => {
                        trip.iter_mut().for_each(Trip::answered);
                        return Err(refused);
                    }
                    Ok(sent) => sent,
                }
            }
        };
        let mut judged = self.judge(result, exchange);
        if self.is_whole {
            judged = match judged {
                Ok(answer) => Box::pin(self.with_body(answer)).await,
                failed => failed,
            };
        }
        if !matches!(judged, Err((_, Failed::Error(_) | Failed::BodyGone))) {
            trip.iter_mut().for_each(Trip::answered);
        }
        if let Ok(answer) = &mut judged {
            // A request that succeeds at once pays nothing for it.
            if attempt.number() > 1 {
                answer.extensions_mut().insert(attempt);
            }
        }
        judged.map_err(|(mut failure, failed)| {
            if followed.any {
                failure.effect = Effect::Unknown; // the server that redirects has had the request
            }
            (failure, failed)
        })
    }

    /// Sends it, and tells which of its redirects were followed.
    fn send(
        &self,
        client: &Client,
        mut request: Request,
    ) -> impl Future<Output = (reqwest::Result<Response>, Followed)> + use<> {
        let redirected = Redirected {
            method: request.method().clone(),
            has_scope: write_scope(&self.shared.settings.origins, self.sleeper, &mut request),
            has_key: self.operation.is_keyed() || request.headers().contains_key(&IDEMPOTENCY_KEY),
            follows_none: self.shared.settings.follows_no_redirects,
        };
        #[cfg(feature = "tracing")]
        let span = self.shared.settings.has_spans.then(|| self.span(&request));
        let sent = client.execute(request);
        #[cfg(feature = "tracing")]
        let sent = super::span::within(span, sent);
        redirect::watched(redirected, sent)
    }

    #[cfg(feature = "tracing")]
    fn span(&self, request: &Request) -> becalm::http::ClientSpan {
        let sent = &self.sent;
        super::span::of(
            request,
            sent.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
        )
    }

    /// Sends it with credentials. An error where the server refuses those and there may be others.
    async fn send_with(
        &self,
        client: &Client,
        credentials: &Credentials,
        mut request: Request,
    ) -> Result<(reqwest::Result<Response>, Followed), (Failure, Failed)> {
        let known = credentials.login.latest();
        if let Some(value) = known.value.clone() {
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        let (result, followed) = self.send(client, request).await;
        let answer = match result {
            Ok(answer)
                if known.value.is_some()
                    && !followed.elsewhere
                    && is_of(&credentials.origin, answer.url()) =>
            {
                answer
            }
            result => return Ok((result, followed)),
        };
        if answer.status() != StatusCode::UNAUTHORIZED {
            credentials.answered(&known, answer.status());
            return Ok((Ok(answer), followed));
        }
        let may_renew = credentials.login.refused(&known);
        let is_forbidden = semantics::should_retry(answer.headers()) == Some(false);
        let mut renewal = self.renewal();
        let is_first = renewal.round.is_none_or(|round| round == known.round());
        if !may_renew || !is_first || is_forbidden {
            return Ok((Ok(answer), followed));
        }
        renewal.round = Some(known.round());
        renewal.is_awaited = true;
        let status = answer.error_for_status_ref().err();
        renewal.answer = Some(answer);
        let failure = Failure::transient().healthy();
        let mut failure = failure.hint(Hint::Exactly(Duration::ZERO)); // the wait is the login's
        if !followed.any {
            failure = failure.unsent(); // it was refused, so that it is safe for every method
        }
        Err((failure, Failed::LetGo(status)))
    }

    /// The answer that has refused the credentials of the attempt before.
    pub fn take_refused(&self) -> Option<Response> {
        self.renewal().answer.take()
    }

    /// Whether the next attempt waits for a login, and no other attempt runs.
    pub fn awaits_login(&self) -> bool {
        let mut renewal = self.renewal();
        renewal.running == 0 && std::mem::take(&mut renewal.is_awaited)
    }

    fn renewal(&self) -> MutexGuard<'_, Renewal> {
        self.renewal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those for this server, unless the request brings its own.
    pub fn credentials(&self) -> Option<&Credentials> {
        let request = self.outgoing.request();
        let mut all = self.shared.settings.credentials.iter();
        let known = all.find(|known| is_of(&known.origin, request.url()))?;
        (!request.headers().contains_key(AUTHORIZATION)).then_some(known)
    }

    /// By its head, unless its body comes along and says more.
    #[expect(
        clippy::result_large_err,
        reason = "the error is the answer, and no larger than the success"
    )]
    fn judge(
        &self,
        result: reqwest::Result<Response>,
        exchange: Exchange,
    ) -> Result<Response, (Failure, Failed)> {
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => return Err((transport::classify(&error), Failed::Error(error))),
        };
        let (status, headers) = (answer.status(), answer.headers());
        let mut verdict = semantics::verdict(status, headers, exchange, || self.sleeper.wall());
        let has_more = self.is_whole && status.is_success() && verdict == Verdict::Success;
        if let Some(judge) = self.judges().filter(|_| !has_more) {
            verdict = judge
                .judge(&Answer::new(status, headers))
                .unwrap_or(verdict);
        }
        match verdict {
            Verdict::Failure(failure) => Err((failure, Failed::Answer(answer))),
            _ => Ok(answer),
        }
    }

    async fn with_body(&self, answer: Response) -> Result<Response, (Failure, Failed)> {
        let (answer, body) = whole(answer).await.map_err(broken_off)?;
        let head = Answer::new(answer.status(), answer.headers());
        let judged = self.judges().zip(body.as_deref());
        match judged.and_then(|(judge, body)| judge.judge(&head.body(body))) {
            Some(Verdict::Failure(failure)) => Err((failure, Failed::Answer(answer))),
            _ => Ok(answer),
        }
    }

    fn judges(&self) -> Option<&Judge> {
        self.shared.settings.judge.as_ref()
    }
}

/// An attempt that runs.
struct Running<'a>(&'a Mutex<Renewal>);

impl<'a> Running<'a> {
    fn begin(renewal: &'a Mutex<Renewal>) -> Self {
        renewal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .running += 1;
        Self(renewal)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .running -= 1;
    }
}

/// The server has answered, so that nothing in the error proves that it has not.
fn broken_off(error: reqwest::Error) -> (Failure, Failed) {
    let kind = if error.is_timeout() {
        FailureKind::TimedOut
    } else {
        FailureKind::Reset
    };
    let failure = Failure::transient().because(Cause::Kind(kind));
    (failure, Failed::Error(error))
}
