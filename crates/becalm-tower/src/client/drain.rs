//! What is done with a response that is not handed on? It is read to its end if that is near, so that
//! its connection serves the next request.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use becalm::time::{Sleep, Sleeper};
use bytes::Buf;
use http_body::Body;

/// At most as much is read: about what a new connection may send before its first acknowledgement
/// (RFC 6928: ten segments), so that to read on is not slower than to connect.
const LENGTH: u64 = 16 * 1024;

/// At most for so long: a server that is slow with the rest holds a connection during a wait.
const TIME: Duration = Duration::from_millis(100);

pin_project_lite::pin_project! {
    /// The body of a response, on its way to its end.
    pub(super) struct Drain<D> {
        #[pin]
        body: D,
        left: u64,
        timer: Sleep,
    }
}

impl<D: Body> Drain<D> {
    /// `None` where the body is at its end, or too far from it.
    pub fn new(body: D, sleeper: &dyn Sleeper) -> Option<Self> {
        let is_worth_it = !body.is_end_stream() && body.size_hint().lower() <= LENGTH;
        is_worth_it.then(|| Self {
            body,
            left: LENGTH,
            timer: sleeper.sleep_until(sleeper.now().after(TIME)),
        })
    }
}

/// Ready where the body is to be dropped.
impl<D: Body> Future for Drain<D> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        while let Poll::Ready(next) = this.body.as_mut().poll_frame(context) {
            let Some(Ok(frame)) = next else {
                return Poll::Ready(());
            };
            let length = frame.data_ref().map_or(0, |data| data.remaining() as u64);
            match this.left.checked_sub(length) {
                Some(left) => *this.left = left,
                None => return Poll::Ready(()),
            }
        }
        this.timer.as_mut().poll(context)
    }
}
