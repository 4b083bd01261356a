//! Where may a redirect lead, and what does it prove? Not to another server with what is meant for
//! this one; a server that redirects has had the request; and what was not done must not look done.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Method, Response, ResponseBuilderExt, StatusCode, Url};

tokio::task_local! {
    static ATTEMPT: Redirects;
}

/// What the redirects of one attempt have to know, and what is known of them.
struct Redirects {
    request: Redirected,
    /// It has become a GET, after which there is nothing to do.
    is_done: Cell<bool>,
    followed: Cell<Followed>,
    /// The address whose redirect a policy has judged last.
    judged: RefCell<Option<Url>>,
}

/// A request that may be redirected.
pub(super) struct Redirected {
    pub method: Method,
    pub has_key: bool,
    pub has_scope: bool,
    /// The client hands on every redirect.
    pub follows_none: bool,
}

/// Which redirects of an attempt were followed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Followed {
    /// At least one.
    pub any: bool,
    /// One to another server that has led on from there: reqwest sends no `Authorization` after that, not even to the
    /// first.
    pub elsewhere: bool,
}

/// A redirect that was not followed, so that nothing was done.
#[derive(Debug, Clone, Copy)]
enum NotDone {
    /// It leads to another server.
    Elsewhere,
    /// It makes a GET of a POST.
    AsGet,
    /// reqwest had no body to send again, or no address to send it to.
    Unfollowed(StatusCode),
}

impl Redirects {
    /// Whether the redirect is followed (`Ok(true)`), is the answer, or is an error.
    fn judge(&self, redirect: &Attempt<'_>) -> Result<bool, NotDone> {
        let from = redirect.previous().last();
        let stays = from.is_some_and(|from| from.origin() == redirect.url().origin());
        let Redirected {
            method,
            has_key,
            has_scope,
            ..
        } = &self.request;
        let sees_other = redirect.status() == StatusCode::SEE_OTHER;
        let is_done = self.is_done.get() || method.is_safe() || sees_other;
        let is_moved = [StatusCode::MOVED_PERMANENTLY, StatusCode::FOUND];
        let becomes_get = *method == Method::POST && is_moved.contains(&redirect.status());
        match (stays, is_done) {
            (false, _) if !has_key && !has_scope => (),
            (false, true) => return Ok(false),
            (false, false) => return Err(NotDone::Elsewhere),
            (true, false) if *has_key && becomes_get => return Err(NotDone::AsGet),
            (true, _) => (),
        }
        self.is_done.set(is_done || becomes_get);
        Ok(true)
    }
}

/// Whether the caller has every redirect as an answer, and follows it alone.
pub(super) fn follows_none(policy: &Policy) -> bool {
    format!("{policy:?}") == "Policy(None)" // reqwest has no getter for it
}

/// The policy for a client, which keeps a request that is bound to its server.
pub(super) fn guarded(policy: Arc<Policy>) -> Policy {
    if follows_none(&policy) {
        return Policy::none();
    }
    Policy::custom(move |redirect| {
        let judged = ATTEMPT.try_with(|attempt| {
            let all = redirect.previous();
            *attempt.judged.borrow_mut() = all.last().cloned();
            let judged = attempt.judge(&redirect);
            // A policy that stops here ends the attempt with the redirect itself, which is no failure.
            let mut followed = attempt.followed.get();
            followed.any |= matches!(judged, Ok(true));
            followed.elsewhere |= all.first().map(Url::origin) != all.last().map(Url::origin);
            attempt.followed.set(followed);
            judged
        });
        match judged.unwrap_or(Ok(true)) {
            Ok(true) => policy.redirect(redirect),
            Ok(false) => redirect.stop(),
            Err(not_done) => redirect.error(not_done),
        }
    })
}

/// Runs an attempt, and tells which of its redirects were followed.
pub(super) fn watched<E: From<reqwest::Error>>(
    request: Redirected,
    attempt: impl Future<Output = Result<Response, E>>,
) -> impl Future<Output = (Result<Response, E>, Followed)> {
    let redirects = Redirects {
        is_done: Cell::new(request.method.is_safe()),
        request,
        followed: Cell::default(),
        judged: RefCell::default(),
    };
    let watched = Watched {
        attempt,
        unfollowed: None,
    };
    ATTEMPT.scope(redirects, watched)
}

pin_project_lite::pin_project! {
    // By hand: an `async` block holds the attempt twice, as what it captures and as what it awaits.
    struct Watched<F> {
        #[pin]
        attempt: F,
        // The attempt has ended with a redirect that was not followed.
        unfollowed: Option<(Followed, Unfollowed)>,
    }
}

type Unfollowed = Pin<Box<dyn Future<Output = reqwest::Error> + Send>>;

impl<F, E> Future for Watched<F>
where
    F: Future<Output = Result<Response, E>>,
    E: From<reqwest::Error>,
{
    type Output = (Result<Response, E>, Followed);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.unfollowed.is_none() {
            let ended = ready!(this.attempt.poll(context));
            let (followed, is_unfollowed) = ATTEMPT.with(|attempt| {
                let is_unfollowed = |answer: &Response| attempt.has_left(answer);
                let is_unfollowed = ended.as_ref().is_ok_and(is_unfollowed);
                (attempt.followed.get(), is_unfollowed)
            });
            match ended {
                Ok(answer) if is_unfollowed => {
                    *this.unfollowed = Some((followed, Box::pin(unfollowed(answer))));
                }
                ended => return Poll::Ready((ended, followed)),
            }
        }
        let Some((followed, error)) = this.unfollowed else {
            return Poll::Pending;
        };
        let error = ready!(error.as_mut().poll(context));
        Poll::Ready((Err(error.into()), *followed))
    }
}

impl Redirects {
    /// Whether this redirects what was not done, and no policy was asked.
    fn has_left(&self, answer: &Response) -> bool {
        let redirects = matches!(answer.status().as_u16(), 301 | 302 | 307 | 308);
        let is_asked = !self.request.follows_none;
        redirects
            && is_asked
            && !self.is_done.get()
            && self.judged.borrow().as_ref() != Some(answer.url())
    }
}

/// reqwest makes no error of it, and none can be made but by a body.
async fn unfollowed(answer: Response) -> reqwest::Error {
    let not_done = NotDone::Unfollowed(answer.status());
    let broken = http::Response::builder().url(answer.url().clone());
    let broken = broken.body(reqwest::Body::wrap(Broken(not_done)));
    let broken = Response::from(broken.expect("without headers"));
    broken.bytes().await.expect_err("it always fails")
}

/// A body that says what was not done.
struct Broken(NotDone);

impl Body for Broken {
    type Data = &'static [u8];
    type Error = NotDone;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<&'static [u8]>, NotDone>>> {
        Poll::Ready(Some(Err(self.0)))
    }
}

impl fmt::Display for NotDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere => f.write_str(
                "the request was not done: its server redirects it to another, to which neither an Idempotency-Key nor \
                 a scope is sent",
            ),
            Self::AsGet => f.write_str(
                "the request was not done: its server redirects it, and a POST becomes a GET by that (301, 302)",
            ),
            Self::Unfollowed(status) => write!(
                f,
                "the request was not done: its server redirects it ({status}), and it cannot be sent again, since its \
                 body is a stream or the redirect has no address"
            ),
        }
    }
}

impl Error for NotDone {}
