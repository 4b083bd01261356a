//! How is a body read up to a limit, and handed on all the same?

use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

/// A body of which a beginning, or all, may have been read: what the service inside an
/// [`IdempotencyLayer`](super::IdempotencyLayer) gets, and what the layer answers.
///
/// Of requests that are none of the layer's business it is the body that came, frame by frame.
#[derive(Debug)]
pub struct BufferedBody<B: Body> {
    read: Bytes,
    trailers: Option<HeaderMap>,
    error: Option<B::Error>,
    /// `None` where all has been read.
    rest: Option<B>,
}

impl<B: Body> BufferedBody<B> {
    /// The body as it comes.
    pub(super) fn untouched(body: B) -> Self {
        Self {
            rest: Some(body),
            ..Self::whole(Bytes::new(), None)
        }
    }

    /// The body that consists of this.
    pub(super) fn whole(read: Bytes, trailers: Option<HeaderMap>) -> Self {
        Self {
            read,
            trailers,
            error: None,
            rest: None,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> BufferedBody<B> {
    /// Reads the body until it is over, has failed, or is longer than `limit`.
    pub(super) async fn read(mut body: B, limit: usize) -> Self {
        // What is announced to be too long need not be held.
        if body.size_hint().lower() > limit as u64 {
            return Self::untouched(body);
        }
        let mut read = Pieces::default();
        loop {
            match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
                None => return Self::whole(read.join(), None),
                Some(Err(error)) => {
                    let mut whole = Self::whole(read.join(), None);
                    whole.error = Some(error);
                    return whole;
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => read.push(data),
                    Err(frame) => return Self::whole(read.join(), frame.into_trailers().ok()),
                },
            }
            if read.length() > limit {
                let mut rest = Self::untouched(body);
                rest.read = read.join();
                return rest;
            }
        }
    }

    /// All of it, with its trailers; `None` where it is not all there.
    pub(super) fn all(&self) -> Option<(&Bytes, Option<&HeaderMap>)> {
        let is_whole = self.rest.is_none() && self.error.is_none();
        is_whole.then_some((&self.read, self.trailers.as_ref()))
    }

    /// Whether it broke off.
    pub(super) fn is_broken(&self) -> bool {
        self.error.is_some()
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for BufferedBody<B>
where
    B::Error: Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        if !this.read.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(mem::take(&mut this.read)))));
        }
        if let Some(trailers) = this.trailers.take() {
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        if let Some(error) = this.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let Some(rest) = &mut this.rest else {
            return Poll::Ready(None);
        };
        Pin::new(rest).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        let nothing_is_held =
            self.read.is_empty() && self.trailers.is_none() && self.error.is_none();
        nothing_is_held && self.rest.as_ref().is_none_or(B::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let held = self.read.len() as u64;
        let Some(rest) = &self.rest else {
            // How long one is that broke off is not known.
            return match self.error {
                None => SizeHint::with_exact(held),
                Some(_) => SizeHint::default(),
            };
        };
        let rest = rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(held));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(held)) {
            hint.set_upper(upper);
        }
        hint
    }
}

/// What has come. One piece, the usual case, is not copied.
#[derive(Default)]
struct Pieces {
    first: Bytes,
    joined: BytesMut,
}

impl Pieces {
    fn length(&self) -> usize {
        self.first.len() + self.joined.len()
    }

    fn push(&mut self, data: Bytes) {
        if self.length() == 0 {
            self.first = data;
            return;
        }
        let first = mem::take(&mut self.first);
        self.joined.extend_from_slice(&first);
        self.joined.extend_from_slice(&data);
    }

    fn join(self) -> Bytes {
        if self.joined.is_empty() {
            self.first
        } else {
            self.joined.freeze()
        }
    }
}
