//! How does a channel repeat its calls? As becalm-tower repeats requests, where all of a call's messages are there at
//! once; any other call passes untouched.

use std::error::Error;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use becalm::http::grpc_timeout;
use becalm::{Operation, Retrier};
use becalm_tower::client as tower;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body as HttpBody;
use tonic::Status;
use tonic::body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::RetryOptions;
use super::attempt::{Attempts, NoBody};
use super::methods::Methods;
use super::transport::ByStatus;
use super::{status, whole};

/// A channel whose calls are repeated: see [`RetryLayer`](super::RetryLayer).
#[derive(Debug, Clone)]
pub struct Retry<S> {
    channel: S,
    settings: Arc<Settings>,
    unready: tower::Unready,
}

/// What the layer sets for all calls.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub replay_limit: usize,
    pub methods: Methods<Method>,
    pub idempotent: Methods<()>,
}

/// How the calls of a method are repeated.
#[derive(Debug, Clone)]
pub(super) struct Method {
    pub retrier: Retrier<ByStatus>,
    pub layer: tower::RetryLayer<ByStatus>,
}

impl<S> Retry<S> {
    pub(super) fn new(channel: S, settings: Arc<Settings>) -> Self {
        Self {
            channel,
            settings,
            unready: tower::Unready::default(),
        }
    }
}

impl Settings {
    /// What this call sets for itself, its method, and its caller's time limit.
    fn options(&self, method: &Method, head: &Parts) -> RetryOptions {
        let own = head.extensions.get::<RetryOptions>().copied();
        let mut options = own.unwrap_or_default();
        if self.idempotent.get(head.uri.path()).is_some() {
            options = options.or_operation(Operation::Idempotent);
        }
        match grpc_timeout(&head.headers) {
            Some(limit) => options.within(limit, method.retrier.policy().deadline),
            None => options,
        }
    }
}

impl<S, D> Service<Request<Body>> for Retry<S>
where
    S: Service<Request<Body>, Response = Response<D>> + Clone,
    S::Error: Error + Send + Sync + 'static,
    D: HttpBody,
{
    type Response = Response<D>;
    type Error = Status;
    type Future = RetryFuture<S, D>;

    /// As soon as the channel is, so that what is above may shed: the first attempt takes that place, unless a guard of the
    /// policy makes it wait. If the channel cannot become ready, the first attempt has failed.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        if !self.unready.is_some() {
            if let Err(error) = ready!(self.channel.poll_ready(context)) {
                self.unready.set(error);
            }
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> RetryFuture<S, D> {
        let another = self.channel.clone();
        let channel = mem::replace(&mut self.channel, another);
        let unready = self.unready.take();
        let settings = &*self.settings;
        let untouched = |channel, unready, request| {
            let request = Some(request);
            let stage = Stage::Waits {
                channel,
                unready,
                request,
            };
            RetryFuture { stage }
        };
        let Some(method) = settings.methods.get(request.uri().path()) else {
            return untouched(channel, unready, request);
        };
        let (head, body) = request.into_parts();
        let messages = match whole::read(body, settings.replay_limit) {
            Ok(messages) => messages,
            Err(body) => return untouched(channel, unready, Request::from_parts(head, body)),
        };
        let options = settings.options(method, &head);
        let retrier = method.retrier.clone();
        let repeats = method.layer.layer(Attempts {
            channel,
            messages,
            retrier,
        });
        let request = Request::from_parts(head, NoBody::new());
        let future = repeats.send(request, unready, options);
        RetryFuture {
            stage: Stage::Repeated { future },
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of a call.
    #[must_use = "futures do nothing unless polled"]
    pub struct RetryFuture<S: Service<Request<Body>>, D>
    where
        Attempts<S>: Service<Request<tower::ReplayBody<NoBody>>>,
    {
        #[pin]
        stage: Stage<S, D>,
    }
}

pin_project_lite::pin_project! {
    #[project = StageProjection]
    enum Stage<S: Service<Request<Body>>, D>
    where
        Attempts<S>: Service<Request<tower::ReplayBody<NoBody>>>,
    {
        Repeated { #[pin] future: tower::RetryFuture<Attempts<S>, NoBody, D, ByStatus> },
        // Untouched, until the channel is ready.
        Waits { channel: S, unready: Option<S::Error>, request: Option<Request<Body>> },
        Called { #[pin] future: S::Future },
    }
}

impl<S, D> Future for RetryFuture<S, D>
where
    S: Service<Request<Body>, Response = Response<D>> + Clone,
    S::Error: Error + Send + Sync + 'static,
    D: HttpBody,
{
    type Output = Result<Response<D>, Status>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        let of_channel = |error: S::Error| Status::from_error(error.into());
        loop {
            let future = match stage.as_mut().project() {
                StageProjection::Repeated { future } => {
                    return future.poll(context).map_err(status::of);
                }
                StageProjection::Called { future } => {
                    return future.poll(context).map_err(of_channel);
                }
                StageProjection::Waits {
                    channel,
                    unready,
                    request,
                } => {
                    if let Some(error) = unready.take() {
                        return Poll::Ready(Err(of_channel(error)));
                    }
                    ready!(channel.poll_ready(context)).map_err(of_channel)?;
                    let Some(request) = request.take() else {
                        return Poll::Pending; // polled again after a panic
                    };
                    channel.call(request)
                }
            };
            stage.set(Stage::Called { future });
        }
    }
}
