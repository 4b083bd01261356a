//! How long does a request keep its place?

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use becalm::bulkhead::{Outcome, Sample, Semaphore};
use becalm::http::grpc_code;
use becalm::time::Instant;
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame, SizeHint};

/// The place of a request, which falls free when this is dropped.
pub(super) struct Place {
    places: Semaphore,
    began: Instant,
    sample: Option<Sample>,
}

impl Place {
    pub fn taken(places: Semaphore, began: Instant) -> Self {
        Self {
            places,
            began,
            sample: None,
        }
    }

    /// The answer is there, with this head, or none comes; its body is not counted to the work.
    pub fn ended(&mut self, now: Instant, head: Option<(StatusCode, &HeaderMap)>) {
        let is_overload = head.is_some_and(|(status, headers)| {
            matches!(status.as_u16(), 429 | 503 | 504) || is_overload(headers)
        });
        self.sample = Some(Sample {
            took: now.since(self.began),
            now,
            outcome: if is_overload {
                Outcome::Dropped
            } else {
                Outcome::Completed
            },
        });
    }
}

impl Place {
    /// The answer is over, with these trailers.
    fn trailed(&mut self, trailers: &HeaderMap) {
        if let Some(sample) = self.sample.as_mut().filter(|_| is_overload(trailers)) {
            sample.outcome = Outcome::Dropped;
        }
    }
}

/// Whether gRPC says here what 429, 503 and 504 are in HTTP.
fn is_overload(trailers: &HeaderMap) -> bool {
    matches!(grpc_code(trailers), Some(4 | 8 | 14))
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.release(self.sample);
    }
}

pin_project_lite::pin_project! {
    /// The body of an answer, with the place of its request. Empty where that was shed.
    pub struct AdmittedBody<D> {
        #[pin]
        body: Option<D>,
        place: Option<Place>,
    }
}

impl<D> AdmittedBody<D> {
    pub(super) fn new(body: D, place: Option<Place>) -> Self {
        Self {
            body: Some(body),
            place,
        }
    }

    pub(super) fn empty() -> Self {
        Self {
            body: None,
            place: None,
        }
    }
}

impl<D> fmt::Debug for AdmittedBody<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdmittedBody").finish_non_exhaustive()
    }
}

impl<D: Body> Body for AdmittedBody<D> {
    type Data = D::Data;
    type Error = D::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<D::Data>, D::Error>>> {
        let this = self.project();
        let Some(body) = this.body.as_pin_mut() else {
            return Poll::Ready(None);
        };
        let frame = ready!(body.poll_frame(context));
        let trailers = match &frame {
            Some(Ok(frame)) => frame.trailers_ref(),
            _ => None,
        };
        if let (Some(place), Some(trailers)) = (&mut *this.place, trailers) {
            place.trailed(trailers);
        }
        if frame.is_none() {
            *this.place = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(D::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.as_ref();
        body.map_or(SizeHint::with_exact(0), D::size_hint)
    }
}
