//! What does an application have of a connection? A stream and a sink of messages, which leaves by itself when the server
//! drains.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use becalm::time::Sleep;
use futures_core::{FusedStream, Stream};
use futures_sink::Sink;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::Connection;
use crate::{Broken, Watched};

/// A WebSocket of a [`Server`](super::Server).
///
/// It is a `Stream` and a `Sink` of messages as tokio-tungstenite's, and counts as a connection until it is
/// dropped. When the server [drains](super::Server::drain), it closes with 1012 while it is read, after what was sent before;
/// what the peer has sent still comes; then it ends, at the drain's deadline whatever the peer does. Sending fails from then
/// on.
///
/// It asks a client from which nothing comes whether it is there, while it is read and while something waits to be sent: the
/// [heartbeat](super::Settings::heartbeat). One that does not answer is lost: an [`Error::Io`] of
/// [`TimedOut`](std::io::ErrorKind::TimedOut), once, and whenever something is sent.
#[derive(Debug)]
pub struct Socket<IO> {
    wire: Watched<WebSocketStream<IO>, Message, Error>,
    connection: Connection,
    leaves: Option<Until>,
    has_ended: bool,
}

struct Until(Sleep);

impl<IO> Socket<IO> {
    pub(crate) fn new(wire: WebSocketStream<IO>, mut connection: Connection) -> Self {
        connection.has_come();
        let settings = connection.server().settings();
        let (heartbeat, sleeper) = (settings.heartbeat, Arc::clone(&settings.sleeper));
        let ping = || Message::Ping(Vec::new().into());
        Self {
            wire: Watched::new(wire, ping, heartbeat, sleeper),
            connection,
            leaves: None,
            has_ended: false,
        }
    }

    /// Says that the client is ready, the login and all that is costly done: its permit is another's. One that is dropped
    /// before counts as gone. Under a [session](crate::session), `SessionSocket::get_ref` leads here.
    pub fn ready(&self) {
        self.connection.ready();
    }

    /// Both parts, for a library that has its own way with a stream. The connection tells when to leave; whether the client is there is
    /// yours to ask.
    pub fn into_parts(self) -> (WebSocketStream<IO>, Connection) {
        (self.wire.into_inner(), self.connection)
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
            self.wire.interject(close);
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
        let read = Pin::new(&mut this.wire).poll_next(context);
        let read = read.map(|read| read.map(|read| read.map_err(error)));
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
        Pin::new(&mut self.wire).poll_ready(context).map_err(error)
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Error> {
        self.note(&message);
        Pin::new(&mut self.wire).start_send(message).map_err(error)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.wire).poll_flush(context).map_err(error)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.wire).poll_close(context).map_err(error)
    }
}

fn error(broken: Broken<Error>) -> Error {
    match broken {
        Broken::Wire(error) => error,
        Broken::Silent => io::Error::new(io::ErrorKind::TimedOut, broken.to_string()).into(),
    }
}

impl std::fmt::Debug for Until {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Until")
    }
}
