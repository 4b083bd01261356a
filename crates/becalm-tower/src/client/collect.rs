//! What if the body of an answer breaks off? Where it is collected inside the attempt, the attempt has
//! failed, and is repeated like any other.

use std::error::Error;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use becalm::classify::Verdict;
use becalm::http::{self as semantics, Answer, Judge};
use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use tower_layer::Layer;
use tower_service::Service;

use super::boxed::Boxed;

/// Collects the body of an answer inside the attempt, so that one that breaks off is an attempt that has failed.
///
/// It goes below [`RetryLayer`](super::RetryLayer), and is for clients that want bodies whole: without it, what happens after the
/// head of an answer is the caller's.
///
/// - **A body that breaks off** within the limit is a transient failure that may have taken effect: a GET is repeated, a
///   POST without a key ends with the error ([`BrokenOff`] in its chain), and its caller does not see the head.
/// - **The time limits** of the policy hold up to the end of the body.
/// - **A body past the limit** is handed on as it comes, what has been read of it first. What breaks off then is the caller's. So
///   is one that says beforehand that it is longer, of which nothing is read.
/// - **Trailers of gRPC** that were collected say whether the attempt has failed.
/// - **An answer that is no success** (2xx) is handed on at once.
///
/// ```
/// use becalm::Policy;
/// use becalm_tower::client::{CollectLayer, RetryLayer};
/// use tower::ServiceBuilder;
/// let stack = ServiceBuilder::new()
///     .layer(RetryLayer::new(&Policy::default().retrier()?))
///     .layer(CollectLayer::new(1 << 20));
/// # let _ = stack;
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug, Clone)]
pub struct CollectLayer {
    limit: u64,
    judge: Option<Judge>,
}

impl CollectLayer {
    /// A layer that collects up to so many bytes of each answer.
    pub fn new(limit: usize) -> Self {
        Self {
            limit: limit as u64,
            judge: None,
        }
    }

    /// Judges answers: `Some` is what an answer means, whatever HTTP says of it, and `None` leaves it to
    /// [`becalm::http::verdict`]. The body is there of a success that was collected to its end.
    ///
    /// ```
    /// use becalm::Failure;
    /// use becalm_tower::client::CollectLayer;
    /// let layer = CollectLayer::new(1 << 20).judge(|answer| {
    ///     let is_busy = answer.body?.starts_with(b"{\"error\":\"busy\"");
    ///     is_busy.then(|| Failure::throttled().into())
    /// });
    /// # let _ = layer;
    /// ```
    #[must_use]
    pub fn judge(
        mut self,
        judge: impl Fn(&Answer<'_>) -> Option<Verdict> + Send + Sync + 'static,
    ) -> Self {
        self.judge = Some(Judge::new(judge));
        self
    }
}

impl<S> Layer<S> for CollectLayer {
    type Service = Collect<S>;

    fn layer(&self, service: S) -> Collect<S> {
        Collect {
            service,
            limit: self.limit,
            judge: self.judge.clone(),
        }
    }
}

/// An HTTP client whose answers come with their bodies: see [`CollectLayer`].
#[derive(Debug, Clone)]
pub struct Collect<S> {
    service: S,
    limit: u64,
    judge: Option<Judge>,
}

impl<S, B, D> Service<Request<B>> for Collect<S>
where
    S: Service<Request<B>, Response = Response<D>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    D: Body + Unpin,
    D::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<CollectedBody<D>>;
    type Error = Boxed;
    type Future = CollectFuture<S::Future, D>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Boxed>> {
        let ready = self.service.poll_ready(context);
        ready.map_err(Boxed::new)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        CollectFuture {
            future: self.service.call(request),
            answer: None,
            limit: self.limit,
            judge: self.judge.clone(),
        }
    }
}

pin_project_lite::pin_project! {
    /// The future of an answer whose body is collected.
    #[must_use = "futures do nothing unless polled"]
    pub struct CollectFuture<F, D> {
        #[pin]
        future: F,
        // From its head on.
        answer: Option<Response<CollectedBody<D>>>,
        limit: u64,
        judge: Option<Judge>,
    }
}

impl<F, D, E> Future for CollectFuture<F, D>
where
    F: Future<Output = Result<Response<D>, E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
    D: Body + Unpin,
    D::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Output = Result<Response<CollectedBody<D>>, Boxed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.answer.is_none() {
            let answer = ready!(this.future.poll(context));
            let answer = answer.map_err(Boxed::new)?;
            *this.answer = Some(answer.map(CollectedBody::new));
        }
        if let Some(answer) = this.answer.as_mut().filter(|it| it.status().is_success()) {
            let collected = ready!(answer.body_mut().poll_collect(*this.limit, context));
            collected.map_err(|error| Boxed::new(BrokenOff(error.into())))?;
        }
        match this.answer.take() {
            Some(mut answer) => {
                judged(this.judge.as_ref(), &mut answer);
                Poll::Ready(Ok(answer))
            }
            None => Poll::Pending, // polled again after its end
        }
    }
}

/// Puts what the judge says into the extensions, for [`RetryLayer`](super::RetryLayer), or else what the trailers of gRPC
/// say.
fn judged<D>(judge: Option<&Judge>, answer: &mut Response<CollectedBody<D>>) {
    let by_judge = judge.and_then(|judge| {
        let is_read = answer.status().is_success();
        let body = answer.body().whole().filter(|_| is_read);
        let mut known = Answer::new(answer.status(), answer.headers());
        if let Some(body) = body {
            known = known.body(body);
        }
        if let Some(trailers) = &answer.body().trailers {
            known = known.trailers(trailers);
        }
        judge.judge(&known)
    });
    let of_grpc = || {
        let trailers = answer.body().trailers.as_ref();
        let trailers = trailers.filter(|it| semantics::grpc_code(it).is_some())?;
        let is_grpc = answer.status().is_success() && semantics::is_grpc(answer.headers());
        is_grpc.then(|| semantics::grpc_verdict(trailers, SystemTime::now))
    };
    if let Some(verdict) = by_judge.or_else(of_grpc) {
        answer.extensions_mut().insert(verdict);
    }
}

/// The body of an answer, of which the beginning, or all, has been read.
#[derive(Debug)]
pub struct CollectedBody<D> {
    /// In one: a piece is a slice of its connection's buffer, and would keep all of that.
    read: BytesMut,
    trailers: Option<HeaderMap>,
    /// What is still to come.
    rest: Option<D>,
}

impl<D> CollectedBody<D> {
    /// All of it, if it was read to its end.
    fn whole(&self) -> Option<&[u8]> {
        self.rest.is_none().then_some(&self.read[..])
    }
}

impl<D: Body + Unpin> CollectedBody<D> {
    fn new(body: D) -> Self {
        Self {
            read: BytesMut::new(),
            trailers: None,
            rest: Some(body),
        }
    }

    /// Ready at the end of the body, or where it is longer than this.
    fn poll_collect(
        &mut self,
        limit: u64,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), D::Error>> {
        while let Some(rest) = &mut self.rest {
            let least = (self.read.len() as u64).saturating_add(rest.size_hint().lower());
            if least > limit {
                break;
            }
            match ready!(Pin::new(rest).poll_frame(context)).transpose()? {
                None => self.rest = None,
                Some(frame) => match read(frame).into_data() {
                    Ok(data) => self.read.extend_from_slice(&data),
                    Err(frame) => self.trailers = frame.into_trailers().ok(),
                },
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<D: Body + Unpin> Body for CollectedBody<D> {
    type Data = Bytes;
    type Error = D::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, D::Error>>> {
        if !self.read.is_empty() {
            let read = mem::take(&mut self.read).freeze();
            return Poll::Ready(Some(Ok(Frame::data(read))));
        }
        if let Some(trailers) = self.trailers.take() {
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        match &mut self.rest {
            Some(rest) => Pin::new(rest).poll_frame(context).map_ok(read),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        let is_read = self.read.is_empty() && self.trailers.is_none();
        is_read && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.as_ref().map(Body::size_hint);
        let mut hint = rest.unwrap_or_else(|| SizeHint::with_exact(0));
        let length = self.read.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(length));
        }
        hint.set_lower(hint.lower().saturating_add(length));
        hint
    }
}

fn read<D: Buf>(frame: Frame<D>) -> Frame<Bytes> {
    frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))
}

/// The body of an answer broke off while it was [collected](CollectLayer).
#[derive(Debug)]
pub struct BrokenOff(pub(super) Box<dyn Error + Send + Sync>);

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer broke off")
    }
}

impl Error for BrokenOff {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
