//! What does a request's body wait in while the request is held?

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

/// How much of a body is kept. Where there is more the rest stays with the client, of which nobody hears that it leaves.
const KEPT: u64 = 1 << 20;

/// A body that is passed on as it comes, what was kept of it first.
pub struct Kept {
    frames: VecDeque<Frame<Bytes>>,
    bytes: u64,
    rest: Incoming,
}

impl Kept {
    pub fn new(rest: Incoming) -> Self {
        Self {
            frames: VecDeque::new(),
            bytes: 0,
            rest,
        }
    }

    /// Keeps all of it, or as much as there is room for.
    ///
    /// # Errors
    ///
    /// The client has left before it had sent it.
    pub async fn keep(&mut self) -> Result<(), hyper::Error> {
        while self.bytes < KEPT {
            let Some(frame) = self.rest.frame().await.transpose()? else {
                break;
            };
            self.bytes += frame.data_ref().map_or(0, |it| it.len() as u64);
            self.frames.push_back(frame);
        }
        Ok(())
    }
}

impl Body for Kept {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(frame) = self.frames.pop_front() {
            self.bytes -= frame.data_ref().map_or(0, |it| it.len() as u64);
            return Poll::Ready(Some(Ok(frame)));
        }
        Pin::new(&mut self.rest).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.rest.size_hint();
        // The upper bound first: it is never below the lower.
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + self.bytes);
        }
        hint.set_lower(hint.lower() + self.bytes);
        hint
    }
}
