//! What do the halves of a WebSocket, its stream and its sink, ask of the socket that they share?

use std::task::{Context, Poll};

use tokio_tungstenite::tungstenite::Message;

use crate::Refused;
use crate::wakers::Half;

use super::{Link, Socket};

impl Socket {
    /// Whether something has come in a session that is over, and the stream was not given it.
    pub(super) fn holds_rest(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.holds_rest())
    }

    pub fn has_message(&self) -> bool {
        let session = self.session.as_ref();
        self.inbox.is_some() || session.is_some_and(|session| session.has_arrived())
    }

    /// What waits for the stream.
    pub fn fetch(&mut self) -> Option<Message> {
        let Some(session) = &mut self.session else {
            return self.inbox.take();
        };
        session.hand_over(self.client.sleeper.now())
    }

    /// Drives it for the sink: that it gave up is for the stream to say.
    pub fn drive_to_send(&mut self, context: &mut Context<'_>) {
        if self.has_ended {
            return;
        }
        let driven = self.drive(Half::Sink, context.waker());
        let is_for_stream = driven.is_ready() || self.has_message();
        if let Poll::Ready(Some(gave_up)) = driven {
            self.ended = Some(gave_up.ended);
        }
        if is_for_stream {
            self.shared.wake_stream();
        }
    }

    /// Whether a connection has taken all that it was given.
    pub fn is_flushed(&self) -> bool {
        let session = self.session.as_ref();
        matches!(&self.link, Link::Open(open) if open.is_flushed())
            && session.is_none_or(|session| session.is_given())
    }

    /// What the outbox could not take waits for nothing where it gave up.
    pub fn give_back(&mut self) -> Result<(), Refused> {
        let beyond = self.shared.lock().outbox.beyond.take();
        beyond.map_or(Ok(()), |message| Err(Refused::Full(message)))
    }

    /// Whether the outbox has taken what the sink was given.
    pub fn is_taken(&mut self) -> Result<bool, Refused> {
        let beyond = self.shared.lock().outbox.beyond.take();
        let Some(message) = beyond else {
            return Ok(true);
        };
        match self.shared.put(message) {
            Err(Refused::Full(message)) => {
                self.shared.lock().outbox.beyond = Some(message);
                Ok(false)
            }
            taken => taken.map(|()| true),
        }
    }
}
