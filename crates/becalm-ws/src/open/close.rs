//! What does a connection send last, when its client closes it?

use std::pin::Pin;

use becalm::time::Instant;
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::{Closing, NotTaken, Open};
use crate::Event;
use crate::carried::is_data;
use crate::handle::Shared;
use crate::session::{HEAD, Resuming};
use crate::settings::Settings;

impl Open {
    /// Begins to close: what waits is sent first, the frame after it.
    pub fn close(
        &mut self,
        frame: Option<CloseFrame>,
        until: Instant,
        client: &Settings,
        shared: &Shared,
        session: Option<&mut Resuming>,
    ) {
        if self.closing.is_some() {
            return;
        }
        let longest = client.limits.max_message_size.unwrap_or(usize::MAX);
        let take = || shared.lock().outbox.pop();
        let last: Vec<Message> = match session {
            None => {
                while let Some(message) = take() {
                    if let Err(NotTaken(_, Some(message))) = self.start_send(message) {
                        client.tell(Event::Dropped(&message));
                    }
                }
                Vec::new()
            }
            Some(session) => {
                // What a session that is not open never sends is told of.
                if session.is_open() {
                    let is_sent = |message: &Message| {
                        is_data(message)
                            && session.is_accepted(message)
                            && message.len().saturating_add(HEAD) <= longest
                    };
                    let (sent, dropped): (Vec<_>, Vec<_>) =
                        std::iter::from_fn(take).partition(is_sent);
                    for message in dropped.iter().filter(|message| is_data(message)) {
                        client.tell(Event::Dropped(message));
                    }
                    for message in sent {
                        session.push(message);
                    }
                }
                session.end()
            }
        };
        for message in last.into_iter().chain([Message::Close(frame)]) {
            let _ = Pin::new(&mut self.wire).start_send(message);
        }
        self.is_unflushed = true;
        self.closing = Some(Closing::ByUs(until));
    }
}
