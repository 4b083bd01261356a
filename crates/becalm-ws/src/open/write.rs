//! What does a connection write, in which order, and what may it not have written?

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use becalm::time::Instant;
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::error::ProtocolError as ProtocolFault;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::Event;
use crate::carried::is_data;
use crate::handle::Shared;
use crate::session::{HEAD, Resuming};
use crate::teller::Teller;

use super::{NotTaken, Open};

impl Open {
    /// Whether the wire takes a message now.
    pub fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let ready = Pin::new(&mut self.wire).poll_ready(context);
        if matches!(ready, Poll::Ready(Ok(()))) {
            self.unflushed.is_ready();
        }
        ready
    }

    /// Gives the wire a message, for which it is ready.
    pub fn start_send(&mut self, message: Message) -> Result<(), NotTaken> {
        let kept = message.clone();
        self.is_unflushed = true;
        let sent = Pin::new(&mut self.wire).start_send(message);
        match sent {
            Err(error) if is_untouched(&error) => Err(NotTaken(error, Some(kept))),
            sent => {
                self.unflushed.given(kept);
                sent.map_err(|error| NotTaken(error, None))
            }
        }
    }

    /// What the connection was given, and may not have written: for one that is over.
    pub fn take_unflushed(&mut self) -> VecDeque<Message> {
        self.unflushed.take()
    }

    pub(super) fn ping(&mut self) {
        // What fails here fails again when it is flushed.
        let _ = Pin::new(&mut self.wire).start_send(Message::Ping(Vec::new().into()));
        self.is_unflushed = true;
    }

    pub(super) fn send(
        &mut self,
        client: &mut Teller,
        shared: &Shared,
        has_room: &mut bool,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        self.is_behind = true;
        while self.closing.is_none() && self.is_behind {
            match self.poll_ready(context) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => break,
            }
            let Some((message, is_now_empty)) = shared.pop() else {
                self.is_behind = false;
                break;
            };
            self.is_behind = !is_now_empty;
            // It would be too long for every connection.
            if !self.room.takes(message.len()) {
                client.tell(Event::Dropped(&message));
                *has_room = true;
                continue;
            }
            let given = match self.poll_room(|| message.len(), context) {
                Poll::Ready(Ok(())) => self.start_send(message),
                Poll::Ready(Err(error)) => Err(NotTaken(error, Some(message))),
                Poll::Pending => {
                    shared.lock().outbox.put_first(message);
                    self.is_behind = true;
                    break;
                }
            };
            if let Err(NotTaken(error, back)) = given {
                if let Some(message) = back {
                    // It goes first over the next connection.
                    shared.lock().outbox.put_first(message);
                }
                return Err(error);
            }
            *has_room = true;
        }
        Ok(())
    }

    /// Sends what the session has to send, and gives it what waits as far as its window goes.
    pub(super) fn send_for(
        &mut self,
        session: &mut Resuming,
        client: &mut Teller,
        (shared, has_room): (&Shared, &mut bool),
        now: Instant,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        while self.closing.is_none() {
            let mut fits = usize::MAX;
            let longest = || {
                let waiting = shared.lock().outbox.first_length();
                fits = waiting.max(session.next_length());
                HEAD + fits
            };
            match self.poll_room(longest, context) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => break,
            }
            // Another may be the oldest by now: it has driven the other out.
            let has_room_for =
                |message: &Message| message.len() <= fits && session.has_room(message);
            let waiting = shared.lock().outbox.pop_if(has_room_for);
            *has_room |= waiting.is_some();
            let next = match waiting {
                Some(message) if is_data(&message) => {
                    // It would be too long for every connection.
                    if !session.is_accepted(&message)
                        || !self.room.takes(message.len().saturating_add(HEAD))
                    {
                        client.tell(Event::Dropped(&message));
                        continue;
                    }
                    session.push(message);
                    session.next(now)
                }
                // A ping is the connection's.
                Some(message) => Some(message),
                None => session.next(now),
            };
            let Some(next) = next else {
                break;
            };
            self.is_unflushed = true;
            Pin::new(&mut self.wire).start_send(next)?;
        }
        Ok(())
    }

    /// Writes what the wire holds, as far as it goes.
    pub fn flush(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        if !self.is_unflushed {
            return Ok(());
        }
        if let Poll::Ready(flushed) = Pin::new(&mut self.wire).poll_flush(context) {
            flushed?;
            self.is_unflushed = false;
            self.unflushed.is_written();
        }
        Ok(())
    }
}

/// Whether an error says that nothing was written.
fn is_untouched(error: &Error) -> bool {
    matches!(
        error,
        Error::ConnectionClosed
            | Error::AlreadyClosed
            | Error::WriteBufferFull(_)
            | Error::Protocol(ProtocolFault::SendAfterClosing)
    )
}
