//! What is sent as an attempt, and what does its answer mean? The service between becalm-tower's driver and the
//! channel.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use becalm::Retrier;
use becalm::classify::Verdict;
use becalm::scope::body_is_consumed;
use becalm_tower::client::ReplayBody;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Empty, Full};
use tonic::body::Body;
use tower_service::Service;

use super::transport::ByStatus;
use super::whole::{Messages, Unmeasured};
use super::{answer, headers};

/// What a call is for becalm-tower's driver, which does not need to keep what is kept here.
pub(super) type NoBody = Empty<Bytes>;

/// A channel that sends the messages of a call and judges the answers.
#[derive(Debug, Clone)]
pub(super) struct Attempts<S> {
    pub channel: S,
    pub messages: Messages,
    pub retrier: Retrier<ByStatus>,
}

impl<S, D> Service<Request<ReplayBody<NoBody>>> for Attempts<S>
where
    S: Service<Request<Body>, Response = Response<D>>,
{
    type Response = Response<D>;
    type Error = S::Error;
    type Future = Judged<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.channel.poll_ready(context)
    }

    fn call(&mut self, request: Request<ReplayBody<NoBody>>) -> Judged<S::Future> {
        let (mut head, body) = request.into_parts();
        headers::write(&mut head.headers, body.attempt());
        let body = Body::new(Unmeasured {
            body: Full::new(self.messages.bytes.clone()),
        });
        Judged {
            future: self.channel.call(Request::from_parts(head, body)),
            retrier: self.retrier.clone(),
            is_sent_once: self.messages.are_too_long,
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of an attempt, whose answer carries its verdict if it means failure.
    pub struct Judged<F> {
        #[pin]
        future: F,
        retrier: Retrier<ByStatus>,
        is_sent_once: bool,
    }
}

impl<F, D, E> Future for Judged<F>
where
    F: Future<Output = Result<Response<D>, E>>,
{
    type Output = Result<Response<D>, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if *this.is_sent_once {
            body_is_consumed();
        }
        let mut ended = ready!(this.future.poll(context));
        if let Ok(answer) = &mut ended {
            let wall = || this.retrier.sleeper().wall();
            if let Some(failure) = answer::failure(answer, wall) {
                answer.extensions_mut().insert(Verdict::from(failure));
            }
        }
        Poll::Ready(ended)
    }
}
