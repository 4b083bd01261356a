//! How is a body read up to a limit, and handed on all the same?

use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use becalm::time::{Instant, Sleep, Sleeper};
use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::fields::bytes_of;
use super::waiting::Hold;

/// A body of which a beginning, or all, may have been read: what the service inside an
/// [`IdempotencyLayer`](super::IdempotencyLayer) gets, and what the layer answers.
///
/// Of requests that are none of the layer's business it is the body that came, frame by frame.
#[derive(Debug)]
pub struct BufferedBody<B: Body> {
    read: Bytes,
    /// A piece that was not to be held, after those that are.
    last: Bytes,
    trailers: Option<HeaderMap>,
    error: Option<B::Error>,
    /// `None` where all has been read.
    rest: Option<B>,
    /// What is counted of `read` and `trailers` among all that wait.
    hold: Option<Hold>,
}

/// How far a body is read.
pub(super) struct Limits<'a> {
    pub bytes: usize,
    pub time: Duration,
    pub clock: &'a dyn Sleeper,
    pub hold: Hold,
}

/// Why a body was read no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It is over, or has failed.
    Over,
    TooLong,
    Late,
    /// All that wait hold as much as they may.
    NoRoom,
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
            last: Bytes::new(),
            trailers,
            error: None,
            rest: None,
            hold: None,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> BufferedBody<B> {
    /// Reads the body until it is over, has failed, or has come to a limit. Where nobody waits for a body without a known
    /// length any more, which `is_left` tells, it is read for a second at most.
    pub(super) async fn read(
        mut body: B,
        limits: Limits<'_>,
        mut is_left: impl FnMut(&mut Context<'_>) -> bool,
    ) -> (Self, End) {
        // What is announced to be too long need not be held.
        if body.size_hint().lower() > limits.bytes as u64 {
            return (Self::untouched(body), End::TooLong);
        }
        let mut hold = limits.hold;
        if !hold.begin() {
            return (Self::untouched(body), End::NoRoom);
        }
        let mut read = Self::whole(Bytes::new(), None);
        let mut pieces = Pieces {
            announced: usize::try_from(body.size_hint().upper().unwrap_or(u64::MAX)).ok(),
            ..Pieces::default()
        };
        let mut clock = Limit::new(limits.clock, limits.time);
        let end = poll_fn(|context| {
            loop {
                if pieces.length > limits.bytes {
                    return Poll::Ready(End::TooLong);
                }
                let Poll::Ready(frame) = clock.poll(context, &mut body, &mut is_left) else {
                    return Poll::Pending;
                };
                let frame = match frame {
                    None => return Poll::Ready(End::Late),
                    Some(None) => return Poll::Ready(End::Over),
                    Some(Some(Err(error))) => {
                        read.error = Some(error);
                        return Poll::Ready(End::Over);
                    }
                    Some(Some(Ok(frame))) => frame,
                };
                match frame.into_data() {
                    Ok(data) => {
                        if !pieces.push(&data, &mut hold) {
                            // It goes on to who reads the rest.
                            pieces.last = data;
                            return Poll::Ready(End::NoRoom);
                        }
                    }
                    Err(frame) => {
                        read.trailers = frame.into_trailers().ok();
                        let bytes = read.trailers.as_ref().map_or(0, bytes_of);
                        let has_room = hold.grow(bytes);
                        return Poll::Ready(if has_room { End::Over } else { End::NoRoom });
                    }
                }
            }
        })
        .await;
        if end != End::Over {
            read.rest = Some(body);
        }
        pieces.read.shrink_to_fit();
        (read.read, read.last) = (Bytes::from(pieces.read), pieces.last);
        read.hold = Some(hold);
        (read, end)
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
        this.hold = None;
        for piece in [&mut this.read, &mut this.last] {
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(mem::take(piece)))));
            }
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
        let nothing_is_held = self.read.is_empty()
            && self.last.is_empty()
            && self.trailers.is_none()
            && self.error.is_none();
        nothing_is_held && self.rest.as_ref().is_none_or(B::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let held = (self.read.len() + self.last.len()) as u64;
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

/// What has come, in a buffer of its own: a piece is a slice of its connection's buffer, and would keep all of that.
#[derive(Default)]
struct Pieces {
    read: Vec<u8>,
    length: usize,
    last: Bytes,
    /// How long it will be at most.
    announced: Option<usize>,
}

impl Pieces {
    /// False where there is no room for it.
    fn push(&mut self, data: &[u8], hold: &mut Hold) -> bool {
        let (length, capacity) = (self.read.len() + data.len(), self.read.capacity());
        self.length = length;
        if length > capacity {
            // As it comes, and not as it was announced: announcing costs a client nothing.
            let most = self.announced.unwrap_or(usize::MAX);
            let next = (2 * capacity).min(most).max(length);
            if !hold.grow(next - capacity) {
                return false;
            }
            self.read.reserve_exact(next - self.read.len());
        }
        self.read.extend_from_slice(data);
        true
    }
}

/// The time in which a body is to be there.
struct Limit<'a> {
    clock: &'a dyn Sleeper,
    until: Instant,
    timer: Option<Sleep>,
    is_left: bool,
    frames: u32,
}

/// How long a body without a known length is read for nobody.
const LEFT: Duration = Duration::from_secs(1);

impl<'a> Limit<'a> {
    fn new(clock: &'a dyn Sleeper, time: Duration) -> Self {
        Self {
            clock,
            until: clock.now().after(time),
            timer: None,
            is_left: false,
            frames: 0,
        }
    }

    /// The next frame of the body; `None` where the time is over.
    #[expect(
        clippy::type_complexity,
        reason = "what a body says, or that it is late"
    )]
    fn poll<B: Body + Unpin>(
        &mut self,
        context: &mut Context<'_>,
        body: &mut B,
        is_left: &mut impl FnMut(&mut Context<'_>) -> bool,
    ) -> Poll<Option<Option<Result<Frame<B::Data>, B::Error>>>> {
        // A body that is always ready lets other tasks go on, too, and has its time.
        self.frames += 1;
        if self.frames % 64 == 0 {
            if self.clock.now() >= self.until {
                return Poll::Ready(None);
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(context) {
            return Poll::Ready(Some(frame));
        }
        if !self.is_left && body.size_hint().upper().is_none() && is_left(context) {
            self.is_left = true;
            self.until = self.until.min(self.clock.now().after(LEFT));
            self.timer = None;
        }
        let timer = || self.clock.sleep_until(self.until);
        ready!(self.timer.get_or_insert_with(timer).as_mut().poll(context));
        Poll::Ready(None)
    }
}
