//! What happens on one connection, from its handshake to its end?

use std::pin::Pin;
use std::task::{Context, Poll};

use becalm::reconnect::DialId;
use becalm::time::Instant;
use futures_core::Stream;
use futures_sink::Sink;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::handle::Shared;
use crate::heartbeat::{Beat, Pulse};
use crate::{Client, Ended, Event, Heartbeat};

pub(crate) type Wire = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Open {
    pub id: DialId,
    wire: Wire,
    pulse: Pulse,
    closing: Option<Closing>,
    /// Something was written that the wire may still hold.
    is_unflushed: bool,
}

/// A close that has begun: by whom, and when it is over at the latest.
#[derive(Debug)]
enum Closing {
    ByUs(Instant),
    ByPeer(Option<CloseFrame>, Instant),
}

/// What an open connection has come to.
pub(crate) enum Came {
    Message(Message),
    Ended(Ended),
    /// Nothing before this moment, unless the wire wakes the task.
    Nothing(Instant),
}

impl Open {
    pub fn new(id: DialId, wire: Wire, heartbeat: Heartbeat, now: Instant) -> Self {
        Self {
            id,
            wire,
            pulse: Pulse::new(heartbeat, now),
            closing: None,
            is_unflushed: false,
        }
    }

    /// Begins to close: what waits is sent first, the frame after it.
    pub fn close(&mut self, frame: Option<CloseFrame>, until: Instant, shared: &Shared) {
        if self.closing.is_none() {
            while let Some(message) = shared.lock().outbox.pop() {
                let _ = Pin::new(&mut self.wire).start_send(message);
            }
            let _ = Pin::new(&mut self.wire).start_send(Message::Close(frame));
            self.is_unflushed = true;
            self.closing = Some(Closing::ByUs(until));
        }
    }

    /// Asks the peer whether it is there.
    pub fn probe(&mut self, now: Instant) {
        if self.pulse.probe(now) {
            self.ping();
        }
    }

    /// Sends what waits; reads unless there is a message already that nobody has fetched.
    pub fn poll(
        &mut self,
        client: &Client,
        shared: &Shared,
        is_to_read: bool,
        now: Instant,
        context: &mut Context<'_>,
    ) -> Came {
        if let Err(error) = self.send(client, shared, context) {
            return Came::Ended(broken(error));
        }
        if is_to_read {
            if let Some(came) = self.read(client, now, context) {
                return came;
            }
        }
        if let Err(error) = self.flush(context) {
            return Came::Ended(self.ended_with(Some(error)));
        }
        if !is_to_read {
            // What has come and is not read says that it is alive, and nobody has looked.
            self.pulse.heard(now);
        }
        self.wait(now, context)
    }

    /// Whether all that was given to it has been written.
    pub fn is_flushed(&self) -> bool {
        !self.is_unflushed
    }

    fn read(&mut self, client: &Client, now: Instant, context: &mut Context<'_>) -> Option<Came> {
        loop {
            let read = match Pin::new(&mut self.wire).poll_next(context) {
                Poll::Ready(Some(Ok(read))) => read,
                Poll::Ready(Some(Err(error))) => {
                    return Some(Came::Ended(self.ended_with(Some(error))));
                }
                Poll::Ready(None) => return Some(Came::Ended(self.ended_with(None))),
                Poll::Pending => return None,
            };
            self.pulse.heard(now);
            match read {
                Message::Text(_) | Message::Binary(_) => return Some(Came::Message(read)),
                Message::Close(frame) => {
                    let until = now.after(client.close_patience);
                    let closing = Closing::ByPeer(frame, until);
                    self.closing.get_or_insert(closing);
                }
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => (),
            }
            // tungstenite has written an answer, which waits to be flushed.
            self.is_unflushed = true;
        }
    }

    fn wait(&mut self, now: Instant, context: &mut Context<'_>) -> Came {
        if let Some(Closing::ByUs(until) | Closing::ByPeer(_, until)) = &self.closing {
            return if now < *until {
                Came::Nothing(*until)
            } else {
                Came::Ended(self.ended_with(None))
            };
        }
        match self.pulse.beat(now) {
            Beat::Wait(until) => Came::Nothing(until),
            Beat::Dead => Came::Ended(Ended::Silent),
            Beat::Ping => {
                self.ping();
                match self.flush(context) {
                    Ok(()) => self.wait(now, context),
                    Err(error) => Came::Ended(broken(error)),
                }
            }
        }
    }

    fn ping(&mut self) {
        // What fails here fails again when it is flushed.
        let _ = Pin::new(&mut self.wire).start_send(Message::Ping(Vec::new().into()));
        self.is_unflushed = true;
    }

    fn send(
        &mut self,
        client: &Client,
        shared: &Shared,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let mut has_room = false;
        while self.closing.is_none() && !shared.lock().outbox.is_empty() {
            match Pin::new(&mut self.wire).poll_ready(context) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => break,
            }
            let Some(message) = shared.lock().outbox.pop() else {
                break;
            };
            has_room = true;
            self.is_unflushed = true;
            // It would be too long for every connection.
            if client
                .limits
                .max_message_size
                .is_some_and(|most| message.len() > most)
            {
                client.tell(Event::Dropped(&message));
                continue;
            }
            Pin::new(&mut self.wire).start_send(message)?;
        }
        if has_room {
            shared.has_room();
        }
        Ok(())
    }

    fn flush(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        if self.is_unflushed {
            match Pin::new(&mut self.wire).poll_flush(context) {
                Poll::Ready(flushed) => {
                    self.is_unflushed = false;
                    flushed?;
                }
                Poll::Pending => (),
            }
        }
        Ok(())
    }

    /// The end of a connection that was being closed is its close.
    fn ended_with(&mut self, error: Option<Error>) -> Ended {
        match (self.closing.take(), error) {
            (Some(Closing::ByPeer(frame, _)), _) => Ended::Closed(frame),
            (Some(Closing::ByUs(_)), _) => Ended::Closed(None),
            (None, Some(error)) => broken(error),
            (None, None) => Ended::Broken(None),
        }
    }
}

fn broken(error: Error) -> Ended {
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => Ended::Broken(None),
        error => Ended::Broken(Some(Box::new(error))),
    }
}
