//! What is a socket to the program that owns it? A stream, and a sink.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use becalm::policy::InvalidPolicy;
use futures_core::{FusedStream, Stream};
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;

use crate::settings::Settings;
use crate::socket::Socket;
use crate::wakers::Half;
use crate::{Event, GaveUp, Handle, Refused, State};

/// A WebSocket that outlives its connections.
///
/// As a `Stream` it gives the texts and binaries that come; pings and pongs are its own. It ends when it is
/// [closed](Handle::close). An error says that it [gave up](GaveUp); after that it waits for [`Handle::dial_now`].
///
/// As a `Sink` it puts messages into the outbox; a flush is over when the connection has taken all of them, and waits for a
/// connection where there is none, unless it gave up: its stream says so. [`Handle::send`] only puts them there.
///
/// It is one word: what it holds is on the heap.
pub struct WebSocket(Box<Socket>);

impl WebSocket {
    pub(crate) fn new(client: Arc<Settings>) -> Result<Self, InvalidPolicy> {
        Socket::new(client).map(|socket| Self(Box::new(socket)))
    }

    /// A handle on it, for other tasks.
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.0.shared))
    }
}

impl Stream for WebSocket {
    type Item = Result<Message, GaveUp>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Message, GaveUp>>> {
        let this = &mut *self.0;
        if !this.has_message() && !this.has_ended {
            if let Some(message) = this.read_at_once() {
                return Poll::Ready(Some(Ok(message)));
            }
            if let Poll::Ready(Some(gave_up)) = this.drive(Half::Stream, context.waker()) {
                this.client.tell(Event::GaveUp(gave_up.reason));
                this.shared.wake_sink();
                return Poll::Ready(Some(Err(gave_up)));
            }
            if this.sink_waits && (this.is_flushed() || this.has_ended) {
                this.sink_waits = false;
                this.shared.wake_sink();
            }
        }
        match this.fetch() {
            Some(message) => Poll::Ready(Some(Ok(message))),
            None if this.has_ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl FusedStream for WebSocket {
    fn is_terminated(&self) -> bool {
        self.0.has_ended && !self.0.has_message()
    }
}

impl Sink<Message> for WebSocket {
    type Error = Refused;

    fn poll_ready(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        let this = &mut *self.0;
        if this.is_ready_at_once() {
            return Poll::Ready(Ok(()));
        }
        while !this.is_taken()? {
            let before = this.shared.left(false).0;
            this.drive_to_send(context);
            let (left, gave_up) = this.shared.left(false);
            if gave_up {
                return Poll::Ready(this.give_back());
            }
            if left == before {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Refused> {
        let this = &mut *self.0;
        let Err(message) = this.send_at_once(message) else {
            return Ok(());
        };
        match this.shared.put(message) {
            Err(Refused::Full(message)) if this.shared.lock().outbox.waits_when_full() => {
                this.shared.lock().outbox.beyond = Some(message);
                Ok(())
            }
            taken => taken,
        }
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        let this = &mut *self.0;
        if this.is_flushed_at_once() {
            return Poll::Ready(Ok(()));
        }
        loop {
            let is_taken = this.is_taken()?;
            let before = (!is_taken).then(|| this.shared.left(false).0);
            this.drive_to_send(context);
            let is_flushed = is_taken && this.is_flushed();
            let (left, gave_up) = this.shared.left(is_flushed);
            if this.has_ended || (is_flushed && left == 0) {
                return Poll::Ready(Ok(()));
            }
            if gave_up {
                return Poll::Ready(this.give_back());
            }
            if before.is_none_or(|before| before == left) {
                this.sink_waits = true;
                return Poll::Pending;
            }
        }
    }

    /// Closes it, as [`Handle::close`] does.
    fn poll_close(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        let this = &mut *self.0;
        if this.shared.lock().state != State::Closed {
            Handle::new(Arc::clone(&this.shared)).close(None);
        }
        this.drive_to_send(context);
        // What comes on the way to the end nobody wants any more.
        while this.fetch().is_some() {
            this.drive_to_send(context);
        }
        if this.has_ended {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }
}

impl fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.shared.lock().state;
        f.debug_struct("WebSocket")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
