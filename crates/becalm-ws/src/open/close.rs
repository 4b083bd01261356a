//! What does a connection send last, when its client closes it?

use std::collections::VecDeque;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use becalm::time::Instant;
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::{Closing, NotTaken, Open};
use crate::Event;
use crate::carried::is_data;
use crate::handle::Shared;
use crate::session::{HEAD, Resuming};
use crate::teller::Teller;

impl Open {
    /// Begins to close: what waits is sent first, the frame after it.
    pub fn close(
        &mut self,
        frame: Option<CloseFrame>,
        until: Instant,
        client: &mut Teller,
        shared: &Shared,
        session: Option<&mut Resuming>,
    ) {
        if self.closing.is_some() {
            return;
        }
        let room = self.room;
        let is_sent = |message: &Message| match &session {
            None => room.takes(message.len()),
            Some(session) => {
                is_data(message)
                    && session.is_accepted(message)
                    && room.takes(message.len().saturating_add(HEAD))
            }
        };
        // What a session that is not open never sends is told of.
        let is_open = session.as_ref().is_none_or(|session| session.is_open());
        let take = || is_open.then(|| shared.lock().outbox.pop()).flatten();
        let (sent, dropped): (Vec<_>, Vec<_>) = std::iter::from_fn(take).partition(is_sent);
        for message in dropped.iter().filter(|message| is_data(message)) {
            client.tell(Event::Dropped(message));
        }
        match session {
            None => self.last.extend(sent),
            Some(session) => {
                for message in sent {
                    session.push(message);
                }
                self.last.extend(session.end());
            }
        }
        self.last.push_back(Message::Close(frame));
        self.is_unflushed = true;
        self.closing = Some(Closing::ByUs(until));
    }

    /// Gives the wire what goes out last, as far as it has room. What fails here fails again when it is flushed or read.
    pub(super) fn send_last(&mut self, is_of_session: bool, context: &mut Context<'_>) {
        while let Some(message) = self.last.pop_front() {
            let length = message.len();
            if !matches!(self.poll_room(|| length, context), Poll::Ready(Ok(()))) {
                self.last.push_front(message);
                return;
            }
            self.is_unflushed = true;
            if is_of_session {
                let _ = Pin::new(&mut self.wire).start_send(message);
            } else if let Err(NotTaken(_, Some(message))) = self.start_send(message) {
                self.last.push_front(message);
                return;
            }
        }
    }

    /// What no wire was given of what was to go out last: for a connection that is over.
    pub fn take_last(&mut self) -> VecDeque<Message> {
        mem::take(&mut self.last)
    }
}
