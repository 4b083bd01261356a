//! What happens on one connection, from its handshake to its end?

mod close;
mod room;
mod write;

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use becalm::reconnect::DialId;
use becalm::time::Instant;
use futures_core::Stream;
use futures_sink::Sink;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::carried::begins_anew;
use crate::handle::Shared;
use crate::heartbeat::{Beat, Pulse};
use crate::session::{ProtocolError, Resuming, Taken};
use crate::settings::Settings;
use crate::teller::Teller;
use crate::unflushed::Unflushed;
use crate::{Ended, Event};

use room::Room;

pub(crate) type Wire = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Open {
    pub id: DialId,
    wire: Wire,
    pulse: Pulse,
    closing: Option<Closing>,
    /// When a session has its answer at the latest.
    answer_by: Instant,
    /// Something was written that the wire may still hold.
    is_unflushed: bool,
    /// Without a session: what of the application that may be.
    unflushed: Unflushed,
    /// What the buffer of the wire takes.
    room: Room,
    /// In a close of ours: what goes out before the wire is closed, and the frame that closes it.
    last: VecDeque<Message>,
    /// The outbox holds messages for which the wire had no room.
    is_behind: bool,
    /// Nothing was left to read, and nothing has woken it since.
    is_drained: bool,
}

/// A close that has begun: by whom, and when it is over at the latest.
#[derive(Debug)]
enum Closing {
    ByUs(Instant),
    ByPeer(Option<CloseFrame>, Instant),
}

/// What an open connection has come to.
pub(crate) enum Came {
    /// A message; one of a session is with the session.
    Message(Option<Message>),
    Ended(Ended),
    /// Nothing before this moment, unless the wire wakes the task.
    Nothing(Instant),
}

/// What the wire has not taken, and, where it is certain that nothing of it was written, the message.
pub(crate) struct NotTaken(pub Error, pub Option<Message>);

/// What was read.
enum Read {
    Came(Came),
    /// Something of the session, which may have more to send now.
    Session,
}

impl Open {
    pub fn new(id: DialId, wire: Wire, client: &Settings, now: Instant) -> Self {
        Self {
            id,
            wire,
            pulse: Pulse::new(client.heartbeat, now),
            closing: None,
            answer_by: now.after(client.dial_patience),
            is_unflushed: false,
            unflushed: Unflushed::new(client.limits.write_buffer_size),
            room: Room::of(&client.limits),
            last: VecDeque::new(),
            is_behind: false,
            is_drained: false,
        }
    }

    pub fn is_drained(&self) -> bool {
        self.is_drained
    }

    /// Something may have come.
    pub fn wake(&mut self) {
        self.is_drained = false;
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
        client: &mut Teller,
        shared: &Shared,
        mut session: Option<&mut Resuming>,
        (has_waiting, is_to_read): (bool, bool),
        now: Instant,
        context: &mut Context<'_>,
    ) -> Came {
        loop {
            // A connection that has ended is given nothing more.
            let read = if is_to_read && !self.is_drained {
                self.read(client, shared, session.as_deref_mut(), now, context)
            } else {
                None
            };
            if let Some(Read::Came(ended @ Came::Ended(_))) = read {
                return ended;
            }
            let has_session = session.is_some();
            let mut has_room = false;
            let sent = match session.as_deref_mut() {
                None if has_waiting => self.send(client, shared, &mut has_room, context),
                None => Ok(()),
                Some(session) => {
                    let outbox = (shared, &mut has_room);
                    self.send_for(session, client, outbox, now, context)
                }
            };
            // Also where the connection has broken: who waits for room is not to wait for the next.
            if has_room {
                shared.has_room();
            }
            self.send_last(has_session, context);
            match (read, sent) {
                (Some(Read::Came(came)), _) => {
                    // What was sent does not wait until the message has been dealt with. What fails here fails again.
                    let _ = self.flush(context);
                    return came;
                }
                (_, Err(error)) => return Came::Ended(broken(error)),
                // It may be time to send.
                (Some(Read::Session), Ok(())) => (),
                (None, Ok(())) => break,
            }
        }
        if let Err(error) = self.flush(context) {
            return Came::Ended(self.ended_with(Some(error)));
        }
        if !is_to_read {
            // What has come and is not read says that it is alive, and nobody has looked.
            self.pulse.heard(now);
        }
        match (self.wait(now, context), session) {
            (Came::Nothing(until), Some(session)) => self.wait_for(session, until, now),
            (came, _) => came,
        }
    }

    /// Whether all that was given to it has been written.
    pub fn is_flushed(&self) -> bool {
        !self.is_unflushed && self.last.is_empty()
    }

    /// Whether it goes on, and has been given all that waits.
    pub fn is_abreast(&self) -> bool {
        self.closing.is_none() && !self.is_behind
    }

    /// What the wire has: nothing when it is pending, until it wakes the task.
    pub fn poll_wire(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Message, Error>>> {
        let read = Pin::new(&mut self.wire).poll_next(context);
        self.is_drained = read.is_pending();
        read
    }

    fn read(
        &mut self,
        client: &mut Teller,
        shared: &Shared,
        mut session: Option<&mut Resuming>,
        now: Instant,
        context: &mut Context<'_>,
    ) -> Option<Read> {
        loop {
            let Poll::Ready(read) = self.poll_wire(context) else {
                return None;
            };
            match self.came(read, client, now) {
                Some(Came::Message(Some(message))) => {
                    let Some(session) = session.as_deref_mut() else {
                        return Some(Read::Came(Came::Message(Some(message))));
                    };
                    let taken = session.take(&message);
                    return Some(self.taken(taken, client, shared, now, context));
                }
                Some(came) => return Some(Read::Came(came)),
                None => (),
            }
        }
    }

    /// What the wire has had: nothing where it was a control frame.
    pub fn came(
        &mut self,
        read: Option<Result<Message, Error>>,
        client: &Settings,
        now: Instant,
    ) -> Option<Came> {
        let read = match read.transpose() {
            Ok(Some(read)) => read,
            over => return Some(Came::Ended(self.ended_with(over.err()))),
        };
        self.pulse.heard(now);
        match read {
            Message::Text(_) | Message::Binary(_) => return Some(Came::Message(Some(read))),
            Message::Close(frame) => {
                let until = now.after(client.close_patience);
                if !matches!(self.closing, Some(Closing::ByUs(_))) {
                    self.closing = Some(Closing::ByPeer(frame, until));
                }
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => (),
        }
        // tungstenite has written an answer, which waits to be flushed.
        self.is_unflushed = true;
        None
    }

    /// Does what a message of the session asks for.
    fn taken(
        &mut self,
        taken: Result<Taken, ProtocolError>,
        client: &mut Teller,
        shared: &Shared,
        now: Instant,
        context: &mut Context<'_>,
    ) -> Read {
        match taken {
            Ok(Taken::Arrived) => return Read::Came(Came::Message(None)),
            Ok(Taken::Confirmed) => (),
            Ok(Taken::Resumed) => client.tell(Event::Resumed),
            Ok(Taken::Cold { why, is_first, .. }) if is_first => client.tell(Event::Cold(why)),
            Ok(Taken::Cold {
                why,
                unconfirmed,
                unsent,
                ..
            }) => {
                begins_anew(client, shared, why, &unconfirmed, unsent);
            }
            Ok(Taken::Ended) => {
                let until = now.after(client.close_patience);
                self.closing.get_or_insert(Closing::ByPeer(None, until));
            }
            Err(error) => {
                let frame = CloseFrame {
                    code: CloseCode::Protocol,
                    reason: "the rules of the session are broken".into(),
                };
                let _ = Pin::new(&mut self.wire).start_send(Message::Close(Some(frame)));
                let _ = Pin::new(&mut self.wire).poll_flush(context);
                return Read::Came(Came::Ended(Ended::Session(error)));
            }
        }
        Read::Session
    }

    /// What the session waits for, besides the connection.
    fn wait_for(&mut self, session: &Resuming, until: Instant, now: Instant) -> Came {
        if self.closing.is_some() {
            return Came::Nothing(until);
        }
        if session.awaits_answer() {
            return if now < self.answer_by {
                Came::Nothing(until.min(self.answer_by))
            } else {
                Came::Ended(Ended::TooLate)
            };
        }
        // What is due and was not written waits for the wire.
        let wakes_at = session.wakes_at().filter(|at| now < *at);
        Came::Nothing(wakes_at.map_or(until, |at| at.min(until)))
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

pub(crate) fn broken(error: Error) -> Ended {
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => Ended::Broken(None),
        error => Ended::Broken(Some(Box::new(error))),
    }
}
