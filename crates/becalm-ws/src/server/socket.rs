//! What does an application have of a connection? A stream and a sink of messages, which leaves by itself when the server
//! drains.

use std::pin::Pin;
use std::task::{Context, Poll};

use becalm::time::Sleep;
use futures_core::{FusedStream, Stream};
use futures_sink::Sink;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::Connection;

/// A WebSocket of a [`Server`](super::Server).
///
/// It is a `Stream` and a `Sink` of messages as tokio-tungstenite's, and counts as a connection until it is
/// dropped. When the server [drains](super::Server::drain), it closes with 1012 while it is read, after what was sent before;
/// what the peer has sent still comes; then it ends, at the drain's deadline whatever the peer does. Sending fails from then
/// on.
#[derive(Debug)]
pub struct Socket<IO> {
    wire: WebSocketStream<IO>,
    connection: Connection,
    leaves: Option<Until>,
    is_unflushed: bool,
    has_ended: bool,
}

struct Until(Sleep);

impl<IO> Socket<IO> {
    pub(crate) fn new(wire: WebSocketStream<IO>, mut connection: Connection) -> Self {
        connection.has_come();
        Self {
            wire,
            connection,
            leaves: None,
            is_unflushed: false,
            has_ended: false,
        }
    }

    /// Says that the client is ready, the login and all that is costly done: its permit is another's. One that is dropped
    /// before counts as gone. Under a [session](crate::session), `SessionSocket::get_ref` leads here.
    pub fn ready(&self) {
        self.connection.ready();
    }

    /// Both parts, for a library of sessions or another that has its own way with a stream. The connection tells when to leave.
    pub fn into_parts(self) -> (WebSocketStream<IO>, Connection) {
        (self.wire, self.connection)
    }

    fn note(&mut self, message: &Message) {
        if let Message::Close(frame) = message {
            let code = frame.as_ref().map_or(1005, |frame| frame.code.into());
            self.connection.closed_with(code);
        }
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Socket<IO> {
    /// Leaves if it is its turn; whether it must be gone.
    fn poll_leaving(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(Until(until)) = &mut self.leaves {
            return until.as_mut().poll(context);
        }
        if let Poll::Ready(farewell) = self.connection.poll_farewell(context) {
            let close = Message::Close(Some(farewell.frame()));
            self.note(&close);
            // What fails here fails again when it is read.
            let _ = Pin::new(&mut self.wire).start_send(close);
            self.is_unflushed = true;
            let sleeper = self.connection.server().sleeper();
            let mut until = sleeper.sleep_until(farewell.until);
            let must_go = until.as_mut().poll(context);
            self.leaves = Some(Until(until));
            return must_go;
        }
        Poll::Pending
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Stream for Socket<IO> {
    type Item = Result<Message, Error>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Message, Error>>> {
        let this = &mut *self;
        if this.has_ended {
            return Poll::Ready(None);
        }
        if this.poll_leaving(context).is_ready() {
            this.has_ended = true;
            return Poll::Ready(None);
        }
        if this.is_unflushed {
            this.is_unflushed = Pin::new(&mut this.wire).poll_flush(context).is_pending();
        }
        let read = Pin::new(&mut this.wire).poll_next(context);
        match &read {
            Poll::Ready(Some(Ok(message))) => this.note(message),
            Poll::Ready(_) => this.has_ended = true,
            Poll::Pending => (),
        }
        read
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> FusedStream for Socket<IO> {
    fn is_terminated(&self) -> bool {
        self.has_ended
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> Sink<Message> for Socket<IO> {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.wire).poll_ready(context)
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Error> {
        self.note(&message);
        Pin::new(&mut self.wire).start_send(message)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.wire).poll_close(context)
    }
}

impl std::fmt::Debug for Until {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Until")
    }
}
