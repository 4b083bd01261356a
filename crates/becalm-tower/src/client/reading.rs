//! What comes next of a body that several attempts read? First what is kept of it, then what the body itself has,
//! which is kept from then on.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::body_error::BodyError;
use super::kept::{Kept, length as length_of};
use super::waiting::Waiting;

/// What comes next of a body.
pub(super) type Next<D, E> = Option<Result<Frame<D>, E>>;

/// What is left of the body, and what is kept of it.
pub(super) struct Reading<B> {
    body: B,
    limit: usize,
    /// How much has been read of the body.
    taken: u64,
    /// All of it, while that is within the limit.
    kept: Option<Kept>,
    end: Option<End>,
    /// Attempts up to this number read no further.
    pub given_up_to: u32,
    /// All who read wait.
    pub is_held: bool,
    /// Those that wait for more of the body, beside the one that asked last.
    waiting: Option<Arc<Waiting>>,
}

impl<B> fmt::Debug for Reading<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading({} bytes)", self.taken)
    }
}

#[derive(Debug)]
enum End {
    Good(Option<HeaderMap>),
    /// It has failed, or its trailers were not kept.
    Gone,
}

impl<B: Body + Unpin> Reading<B> {
    /// Of a body of which up to `limit` bytes are kept. With `length` a header has announced how long it is.
    pub fn new(body: B, limit: usize, length: Option<u64>) -> Self {
        let least = body.size_hint().lower().max(length.unwrap_or(0));
        let kept = (least <= limit as u64).then(Kept::nothing);
        Self {
            body,
            limit,
            taken: 0,
            kept,
            end: None,
            given_up_to: 0,
            is_held: false,
            waiting: None,
        }
    }

    pub fn is_repeatable(&self) -> bool {
        let is_untouched = self.taken == 0 && self.end.is_none();
        (self.kept.is_some() || is_untouched) && !matches!(self.end, Some(End::Gone))
    }

    pub fn is_certain(&self) -> bool {
        let upper = match &self.end {
            Some(End::Good(_)) => Some(0),
            Some(End::Gone) => None,
            None => self.body.size_hint().upper(),
        };
        let total = upper.and_then(|upper| upper.checked_add(self.taken));
        self.kept.is_some() && total.is_some_and(|total| total <= self.limit as u64)
    }

    pub fn poll_from(
        &mut self,
        at: u64,
        attempt: u32,
        context: &mut Context<'_>,
    ) -> Poll<Next<Bytes, BodyError<B::Error>>> {
        if attempt <= self.given_up_to {
            return Poll::Ready(Some(Err(BodyError::GivenUp)));
        }
        if self.is_held {
            self.waiting.get_or_insert_default().add(context.waker());
            return Poll::Pending;
        }
        if at < self.taken {
            let kept = self.kept.as_ref().and_then(|kept| kept.from(at));
            return Poll::Ready(Some(kept.map(Frame::data).ok_or(BodyError::GivenUp)));
        }
        match &self.end {
            None => (),
            Some(End::Good(trailers)) => {
                return Poll::Ready(trailers.clone().map(|it| Ok(Frame::trailers(it))));
            }
            Some(End::Gone) => return Poll::Ready(Some(Err(BodyError::GivenUp))),
        }
        let next = ready!(self.poll_body(context));
        self.wake_all();
        Poll::Ready(self.keep(next))
    }

    pub fn wake_all(&self) {
        if let Some(waiting) = &self.waiting {
            waiting.wake_all();
        }
    }

    /// Asks the body for more, for all that wait.
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Next<B::Data, B::Error>> {
        let body = Pin::new(&mut self.body);
        if self.waiting.is_none() {
            let polled = body.poll_frame(context);
            if polled.is_ready() {
                return polled;
            }
        }
        // It wakes the one that asked last; others may be waiting as well.
        let waiting = self.waiting.get_or_insert_default();
        waiting.add(context.waker());
        let waker = Waker::from(Arc::clone(waiting));
        Pin::new(&mut self.body).poll_frame(&mut Context::from_waker(&waker))
    }

    fn keep(&mut self, next: Next<B::Data, B::Error>) -> Next<Bytes, BodyError<B::Error>> {
        let frame = match next {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                (self.end, self.kept) = (Some(End::Gone), None);
                return Some(Err(BodyError::Body(error)));
            }
            None => {
                self.end = Some(End::Good(None));
                return None;
            }
        };
        match frame.into_data() {
            Ok(mut data) => {
                let data = data.copy_to_bytes(data.remaining());
                self.taken += data.len() as u64;
                if self.taken > self.limit as u64 {
                    self.kept = None;
                } else if let Some(kept) = &mut self.kept {
                    kept.add(&data, self.body.is_end_stream());
                }
                Some(Ok(Frame::data(data)))
            }
            Err(frame) => {
                let trailers = frame.into_trailers().unwrap_or_default();
                if self.taken + length_of(&trailers) > self.limit as u64 {
                    self.kept = None;
                }
                self.end = Some(match self.kept {
                    Some(_) => End::Good(Some(trailers.clone())),
                    None => End::Gone,
                });
                Some(Ok(Frame::trailers(trailers)))
            }
        }
    }

    pub fn is_end(&self, at: u64) -> bool {
        at == self.taken
            && match &self.end {
                None => self.body.is_end_stream(),
                Some(End::Good(trailers)) => trailers.is_none(),
                Some(End::Gone) => false,
            }
    }

    pub fn size_hint(&self, at: u64) -> SizeHint {
        let mut hint = match self.end {
            None => self.body.size_hint(),
            Some(_) => SizeHint::with_exact(0),
        };
        let ahead = self.taken - at;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(ahead));
        }
        hint.set_lower(hint.lower().saturating_add(ahead));
        hint
    }
}
