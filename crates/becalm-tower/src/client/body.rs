//! What does the service below get as the body of an attempt?

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use becalm::Attempt;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::body_error::BodyError;
use super::source::Source;

/// The body of one attempt: what the service below [`Retry`](super::Retry) gets.
///
/// Its length is that of the body that it stands for, so that the client below sends the same
/// `Content-Length`. An empty body costs nothing.
#[derive(Debug)]
pub struct ReplayBody<B> {
    /// `None` for an empty body.
    source: Option<Arc<Source<B>>>,
    attempt: Attempt,
    /// How much of it has been handed out.
    at: u64,
    is_over: bool,
}

impl<B> ReplayBody<B> {
    /// The body of this attempt, from the beginning.
    pub(super) fn of(source: Option<Arc<Source<B>>>, attempt: Attempt) -> Self {
        Self {
            source,
            attempt,
            at: 0,
            is_over: false,
        }
    }

    /// The attempt that this is the body of: its number, and by [`timeout`](Attempt::timeout) how long it may take.
    pub const fn attempt(&self) -> Attempt {
        self.attempt
    }
}

impl<B: Body + Unpin> Body for ReplayBody<B> {
    type Data = Bytes;
    type Error = BodyError<B::Error>;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let Some(source) = this.source.as_deref().filter(|_| !this.is_over) else {
            return Poll::Ready(None);
        };
        let next = ready!(
            source
                .lock()
                .poll_from(this.at, this.attempt.number(), context)
        );
        match &next {
            Some(Ok(frame)) => match frame.data_ref() {
                Some(data) => this.at += data.len() as u64,
                None => this.is_over = true, // nothing follows the trailers
            },
            Some(Err(_)) | None => this.is_over = true,
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        let source = self.source.as_deref().filter(|_| !self.is_over);
        source.is_none_or(|source| source.lock().is_end(self.at))
    }

    fn size_hint(&self) -> SizeHint {
        let source = self.source.as_deref().filter(|_| !self.is_over);
        source.map_or(SizeHint::with_exact(0), |source| {
            source.lock().size_hint(self.at)
        })
    }
}
