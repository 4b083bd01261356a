//! A body that comes in pieces.

use std::io;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// Long enough for what was sent to arrive, on most days.
const PAUSE: Duration = Duration::from_millis(10);

/// The bytes of a body of this length, up to 10 MiB.
pub fn bytes(length: usize) -> Bytes {
    LONGEST.slice(..length)
}

/// A cycle of a length that no piece has, so that what is left out or comes twice is seen.
static LONGEST: LazyLock<Bytes> = LazyLock::new(|| {
    let cycle: Vec<u8> = (0..251).collect();
    cycle.repeat((10 << 20) / 251 + 1).into()
});

/// The bytes of a body of some length, in pieces of another.
pub struct Pieces {
    left: Bytes,
    piece: usize,
    is_length_told: bool,
    pends: bool,
    /// How much is left when something happens, and what.
    event: Option<(usize, Event)>,
    _held: Option<Box<dyn Send + Sync>>,
}

enum Event {
    Stalls,
    Pauses(Pin<Box<Sleep>>),
    Breaks(Pin<Box<Sleep>>),
}

impl Pieces {
    /// A body that tells how long it is.
    pub fn new(length: usize, piece: usize) -> Self {
        Self {
            left: bytes(length),
            piece,
            is_length_told: true,
            pends: false,
            event: None,
            _held: None,
        }
    }

    /// Does not tell how long it is.
    #[must_use]
    pub fn of_unknown_length(mut self) -> Self {
        self.is_length_told = false;
        self
    }

    /// Keeps this as long as it lives.
    #[must_use]
    pub fn holding(self, held: impl Send + Sync + 'static) -> Self {
        Self {
            _held: Some(Box::new(held)),
            ..self
        }
    }

    /// Pauses in its middle for so long.
    #[must_use]
    pub fn pausing(mut self, pause: Duration) -> Self {
        self.event = Some((self.left.len() / 2, Event::Pauses(Box::pin(sleep(pause)))));
        self
    }

    /// Stalls in its middle.
    #[must_use]
    pub fn stalling(mut self) -> Self {
        self.event = Some((self.left.len() / 2, Event::Stalls));
        self
    }

    /// Breaks off after so many bytes.
    #[must_use]
    pub fn breaking_at(mut self, at: usize) -> Self {
        let left = self.left.len().saturating_sub(at);
        self.event = Some((left, Event::Breaks(Box::pin(sleep(PAUSE)))));
        self
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        // Every other time it makes its reader wait.
        self.pends = !self.pends;
        if self.pends {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut ahead = self.left.len();
        match &mut self.event {
            None => (),
            Some((left, event)) if ahead <= *left => {
                match event {
                    Event::Stalls => return Poll::Pending,
                    Event::Pauses(pause) => ready!(pause.as_mut().poll(context)),
                    Event::Breaks(pause) => {
                        ready!(pause.as_mut().poll(context));
                        return Poll::Ready(Some(Err(io::ErrorKind::Other.into())));
                    }
                }
                self.event = None;
            }
            Some((left, _)) => ahead -= *left,
        }
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let piece = self.piece.min(ahead);
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
