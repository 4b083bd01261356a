//! What can a socket do at once? Where a connection is open and nothing else is to be done, a message goes to it and comes
//! from it without a lock and, mostly, without a look at the clock.

use std::task::{Context, Poll};

use tokio_tungstenite::tungstenite::{Error, Message};

use crate::open::{Came, NotTaken, Open, broken};
use crate::socket::{Link, Socket};

impl Socket {
    /// A message that is there.
    pub fn read_at_once(&mut self) -> Option<Message> {
        if !self.is_calm() {
            return None;
        }
        let (Link::Open(open), Some(waker)) = (&mut self.link, &self.waker) else {
            return None;
        };
        let was_woken = self.shared.is_woken() && self.shared.was_woken();
        if was_woken {
            open.wake();
        }
        if open.is_drained() {
            return None;
        }
        let context = &mut Context::from_waker(waker);
        let read = open.poll_wire(context);
        let Poll::Ready(read) = read else {
            if let (true, Some(timer)) = (was_woken, &mut self.timer) {
                timer.is_set = false;
            }
            return None;
        };
        let now = self.client.sleeper.now();
        if let (true, Some(timer)) = (was_woken, &mut self.timer) {
            // Before its time it was what has come that woke the socket.
            timer.is_set &= now < timer.at;
        }
        let id = open.id;
        match open.came(read, &self.client, now)? {
            Came::Message(message) => {
                self.machine.message(id);
                message
            }
            Came::Ended(ended) => {
                self.lost(id, ended, now);
                None
            }
            Came::Nothing(_) => None,
        }
    }

    /// Whether the connection takes a message now.
    pub fn is_ready_at_once(&mut self) -> bool {
        self.with_free(|open, context| match open.poll_ready(context) {
            Poll::Ready(ready) => ready.map(|()| true),
            Poll::Pending => Ok(false),
        })
    }

    /// Gives the connection a message, or gives it back.
    pub fn send_at_once(&mut self, message: Message) -> Result<(), Message> {
        let length = message.len();
        let has_room = self.with_free(|open, context| match open.poll_room(|| length, context) {
            Poll::Ready(ready) => ready.map(|()| open.takes(length)),
            Poll::Pending => Ok(false),
        });
        if !has_room {
            return Err(message);
        }
        let mut message = Some(message);
        self.with_free(|open, _| {
            let sent = message.take().map(|message| open.start_send(message));
            match sent.unwrap_or(Ok(())) {
                Ok(()) => Ok(true),
                Err(NotTaken(error, back)) => {
                    message = back;
                    Err(error)
                }
            }
        });
        message.map_or(Ok(()), Err)
    }

    /// Whether the connection has written all that it was given.
    pub fn is_flushed_at_once(&mut self) -> bool {
        self.with_free(|open, context| {
            open.flush(context)?;
            Ok(open.is_flushed())
        })
    }

    /// Asks the connection, if whatever is given to it now is the next that it sends, and nothing has woken the socket.
    fn with_free(
        &mut self,
        ask: impl FnOnce(&mut Open, &mut Context<'_>) -> Result<bool, Error>,
    ) -> bool {
        let is_set = self.timer.as_ref().is_some_and(|timer| timer.is_set);
        if !is_set || self.shared.is_woken() || !self.is_calm() {
            return false;
        }
        let (Link::Open(open), Some(waker)) = (&mut self.link, &self.waker) else {
            return false;
        };
        match ask(open, &mut Context::from_waker(waker)) {
            Ok(answer) => answer,
            Err(error) => {
                let (id, now) = (open.id, self.client.sleeper.now());
                self.lost(id, broken(error), now);
                // It dials anew.
                self.shared.wake_all();
                false
            }
        }
    }

    /// Whether there is nothing to do but to send and to read.
    fn is_calm(&self) -> bool {
        self.session.is_none()
            && !self.shared.is_asked()
            && matches!(&self.link, Link::Open(open) if open.is_abreast())
    }
}
