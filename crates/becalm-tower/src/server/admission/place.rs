//! How long does a request keep its place?

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use becalm::bulkhead::{Outcome, Sample, Semaphore};
use becalm::http::{grpc_code, is_grpc};
use becalm::time::Instant;
use http::{HeaderMap, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};

/// The place of a request, which falls free when this is dropped.
pub(super) struct Place {
    places: Semaphore,
    began: Instant,
}

/// What a request teaches an adaptive limit when this is dropped: how long it took to the head of its answer.
struct Lesson {
    places: Semaphore,
    sample: Sample,
}

impl Place {
    pub fn taken(places: Semaphore, began: Instant) -> Self {
        Self { places, began }
    }

    /// The answer is there, with this head, or none comes; its body is not counted to the work.
    fn lesson(&self, now: Instant, head: Option<(StatusCode, &HeaderMap)>) -> Lesson {
        let is_overload = head.is_some_and(|(status, headers)| {
            matches!(status.as_u16(), 429 | 503 | 504) || is_overload(headers)
        });
        let outcome = if is_overload {
            Outcome::Dropped
        } else {
            Outcome::Completed
        };
        let took = now.since(self.began);
        Lesson {
            places: self.places.clone(),
            sample: Sample { took, now, outcome },
        }
    }

    /// No answer comes.
    pub fn failed(self, now: Instant) {
        drop(self.lesson(now, None));
    }
}

/// Whether gRPC says here what 429, 503 and 504 are in HTTP.
fn is_overload(trailers: &HeaderMap) -> bool {
    matches!(grpc_code(trailers), Some(4 | 8 | 14))
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.release(None);
    }
}

impl Drop for Lesson {
    fn drop(&mut self) {
        self.places.learn(self.sample);
    }
}

pin_project_lite::pin_project! {
    /// The body of an answer, with the place of its request where that is [held so long](super::AdmissionLayer::hold_bodies). Empty where
    /// that was shed.
    pub struct AdmittedBody<D> {
        #[pin]
        body: Option<D>,
        // Before the place: the request counts among those that run.
        lesson: Option<Lesson>,
        place: Option<Place>,
    }
}

impl<D> AdmittedBody<D> {
    pub(super) fn empty() -> Self {
        Self {
            body: None,
            lesson: None,
            place: None,
        }
    }

    /// The answer, from which on others have the place, unless it is to be held. gRPC may say in trailers that it was too much.
    pub(super) fn answer(
        response: Response<D>,
        now: Instant,
        place: Option<Place>,
        (was_lent, holds): (bool, bool),
    ) -> Response<Self> {
        let head = (response.status(), response.headers());
        let lesson = place.as_ref().filter(|_| !was_lent);
        let lesson = lesson.map(|place| place.lesson(now, Some(head)));
        let lasts = holds || is_grpc(head.1) && grpc_code(head.1).is_none();
        let lesson = lesson.filter(|_| lasts);
        let place = place.filter(|_| holds);
        response.map(|body| Self {
            body: Some(body),
            lesson,
            place,
        })
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
        if let (Some(lesson), Some(trailers)) = (&mut *this.lesson, trailers) {
            if is_overload(trailers) {
                lesson.sample.outcome = Outcome::Dropped;
            }
        }
        if frame.is_none() {
            *this.lesson = None;
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
