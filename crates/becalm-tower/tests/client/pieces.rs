//! A body that comes in pieces.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::servers::bytes;

/// The bytes of a body of some length, in pieces of another.
pub struct Pieces {
    left: Bytes,
    piece: usize,
    is_length_told: bool,
    pends: bool,
    /// From its middle on nothing comes.
    stalls: bool,
    /// In its middle nothing comes for so long.
    pause: Option<Pin<Box<Sleep>>>,
    length: usize,
    _held: Option<Box<dyn Send>>,
}

impl Pieces {
    pub fn new(length: usize, piece: usize) -> Self {
        Self {
            left: bytes(length),
            piece,
            is_length_told: true,
            pends: false,
            stalls: false,
            pause: None,
            length,
            _held: None,
        }
    }

    /// Does not tell how long it is.
    pub fn of_unknown_length(mut self) -> Self {
        self.is_length_told = false;
        self
    }

    /// Keeps this as long as it lives.
    pub fn holding(self, held: impl Send + 'static) -> Self {
        Self {
            _held: Some(Box::new(held)),
            ..self
        }
    }

    /// Pauses in its middle.
    pub fn pausing(mut self, pause: Duration) -> Self {
        self.pause = Some(Box::pin(sleep(pause)));
        self
    }

    /// Stalls in its middle.
    pub fn stalling(mut self) -> Self {
        self.stalls = true;
        self
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // Every other time it makes its reader wait.
        self.pends = !self.pends;
        if self.pends {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.left.len() * 2 <= self.length {
            if self.stalls {
                return Poll::Pending;
            }
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
        }
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let piece = self.piece.min(self.left.len());
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_length_told && self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_length_told {
            SizeHint::with_exact(self.left.len() as u64)
        } else {
            SizeHint::default()
        }
    }
}
