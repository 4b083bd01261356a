//! What does a client know of its session, and what does it say on a new connection?

use becalm::time::Instant;
use tokio_tungstenite::tungstenite::{Message, protocol::WebSocketConfig};

use super::envelope::{Envelope, HEAD, Hello};
use super::ledger::{Ledger, Peer, cost};
use super::{Cold, ProtocolError, Resume, SessionId};

/// The session of a socket, which outlives its connections.
#[derive(Debug)]
pub(crate) struct Resuming {
    of: Resume,
    /// The longest message that may come.
    longest: u32,
    had: Option<Had>,
    ledger: Ledger,
    peer: Peer,
    stage: Stage,
    /// Why the last session was given up by this side.
    given_up: Option<Cold>,
    is_first: bool,
    /// The last number that was sent before it was ended for good.
    sent_before_end: u64,
}

#[derive(Debug, Clone, Copy)]
struct Had {
    id: SessionId,
    epoch: u64,
    dial: u32,
}

/// How far this connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was said.
    Silent,
    /// It has said hello.
    Asked,
    /// It has an answer, which is to be confirmed.
    Answered,
    Open,
    /// The session is over.
    Over,
}

/// What a message was.
#[derive(Debug, PartialEq)]
pub(crate) enum Taken {
    /// A message, for [`Resuming::hand_over`].
    Arrived,
    Resumed,
    Cold {
        why: Cold,
        /// No session was there before: what waits, waits for this one.
        is_first: bool,
        /// Sent, and never confirmed.
        unconfirmed: Vec<Message>,
        /// Taken, and never sent.
        unsent: Vec<Message>,
    },
    /// It has confirmed something.
    Confirmed,
    /// The peer has ended the session.
    Ended,
}

impl Resuming {
    pub fn new(of: Resume, limits: &WebSocketConfig) -> Self {
        let bounds = [limits.max_message_size, limits.max_frame_size];
        let longest = bounds.into_iter().flatten().min().unwrap_or(usize::MAX);
        Self {
            of,
            longest: u32::try_from(longest.saturating_sub(HEAD)).unwrap_or(u32::MAX),
            had: None,
            ledger: Ledger::default(),
            peer: Peer::default(),
            stage: Stage::Silent,
            given_up: None,
            is_first: true,
            sent_before_end: 0,
        }
    }

    /// The session that the next connection will ask for.
    pub fn id(&self) -> Option<SessionId> {
        self.had.map(|had| had.id)
    }

    pub fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Answered | Stage::Open)
    }

    /// Whether an answer is awaited.
    pub fn awaits_answer(&self) -> bool {
        matches!(self.stage, Stage::Silent | Stage::Asked)
    }

    /// A new connection: it will say hello.
    pub fn connected(&mut self) {
        self.stage = Stage::Silent;
    }

    /// The connection is gone. What the application was not given comes again, unless the session is over.
    pub fn disconnected(&mut self) {
        self.stage = Stage::Over;
        if self.had.is_some() {
            self.ledger.forget_arrived();
        }
    }

    /// Whether the application is to be given the rest of a session that is over before there can be another.
    pub fn holds_rest(&self) -> bool {
        self.had.is_none() && self.ledger.has_arrived()
    }

    /// Whether this message can be sent now: the session is open, and the window has room.
    pub fn has_room(&self, message: &Message) -> bool {
        self.is_open() && self.ledger.has_room(cost(message), self.window())
    }

    /// Whether the peer accepts messages of this length.
    pub fn is_accepted(&self, message: &Message) -> bool {
        self.peer.accepts(message)
    }

    /// Whether this connection was given all that the session has to send.
    pub fn is_given(&self) -> bool {
        self.is_open() && self.ledger.is_given()
    }

    /// Takes a message to send.
    pub fn push(&mut self, message: Message) {
        self.ledger.push(message);
    }

    /// The next to write on this connection.
    pub fn next(&mut self, now: Instant) -> Option<Message> {
        match self.stage {
            Stage::Silent => {
                self.stage = Stage::Asked;
                Some(Envelope::Hello(self.hello()).write())
            }
            Stage::Answered => {
                self.stage = Stage::Open;
                Some(self.ledger.confirm())
            }
            Stage::Open => {
                let is_due = self.wakes_at().is_some_and(|at| at <= now);
                let next = self.ledger.next();
                next.or_else(|| is_due.then(|| self.ledger.confirm()))
            }
            Stage::Asked | Stage::Over => None,
        }
    }

    /// When there is something to write, if nothing comes before.
    pub fn wakes_at(&self) -> Option<Instant> {
        let is_open = self.stage == Stage::Open;
        let at = self
            .ledger
            .confirms_at(self.of.confirm_after, self.window());
        at.filter(|_| is_open)
    }

    fn window(&self) -> usize {
        self.peer.window(self.of.window)
    }

    /// Whether to read on.
    pub fn reads(&self, is_ahead: bool) -> bool {
        self.ledger.reads(is_ahead, self.of.window)
    }

    /// Whether a message waits for the application.
    pub fn has_arrived(&self) -> bool {
        self.ledger.has_arrived()
    }

    /// The next message for the application.
    pub fn hand_over(&mut self, now: Instant) -> Option<Message> {
        self.ledger.hand_over(now)
    }

    fn hello(&mut self) -> Hello {
        let window = u32::try_from(self.of.window).unwrap_or(u32::MAX);
        let hello = Hello::new(self.longest, window);
        let Some(had) = &mut self.had else {
            return hello;
        };
        had.dial = had.dial.saturating_add(1);
        Hello {
            id: Some(had.id),
            epoch: had.epoch,
            dial: had.dial,
            received: self.ledger.received(),
            confirmed: self.ledger.confirmed(),
            sent: self.ledger.sent(),
            ..hello
        }
    }

    /// A message has come. After an error the session is over, and the next connection asks for a new one.
    pub fn take(&mut self, message: &Message) -> Result<Taken, ProtocolError> {
        let taken = Envelope::read(message).and_then(|read| self.take_read(read));
        if taken.is_err() {
            self.give_up(Cold::Protocol);
        }
        taken
    }

    fn take_read(&mut self, read: Envelope) -> Result<Taken, ProtocolError> {
        match (self.stage, read) {
            (
                Stage::Asked,
                Envelope::Resumed {
                    longest,
                    window,
                    received,
                },
            ) if self.had.is_some() => {
                let (confirmed, sent) = (self.ledger.confirmed(), self.ledger.sent());
                if !(confirmed..=sent).contains(&received) {
                    let came = received;
                    return Err(ProtocolError::Confirms { sent, came });
                }
                self.ledger.resume(received);
                self.answered(Peer { longest, window });
                Ok(Taken::Resumed)
            }
            (
                Stage::Asked,
                Envelope::Cold {
                    why,
                    longest,
                    window,
                    id,
                    epoch,
                },
            ) => {
                self.had = Some(Had { id, epoch, dial: 1 });
                self.answered(Peer { longest, window });
                let given_up = self.given_up.take().filter(|_| why == Cold::New);
                let (unconfirmed, unsent) = self.take_kept();
                Ok(Taken::Cold {
                    why: given_up.unwrap_or(why),
                    is_first: std::mem::take(&mut self.is_first),
                    unconfirmed,
                    unsent,
                })
            }
            (
                Stage::Answered | Stage::Open,
                Envelope::Data {
                    number,
                    received,
                    message,
                },
            ) => {
                let (length, longest) = (message.len(), self.longest);
                if length > longest as usize {
                    return Err(ProtocolError::TooLong { length, longest });
                }
                self.ledger.hear(received)?;
                self.ledger.arrive(number, message)?;
                Ok(Taken::Arrived)
            }
            (Stage::Answered | Stage::Open, Envelope::End) => {
                self.give_up(Cold::Ended);
                Ok(Taken::Ended)
            }
            (Stage::Answered | Stage::Open | Stage::Over, Envelope::Ack(received))
            // What was on its way when this side said that it is over.
            | (Stage::Over, Envelope::Data { received, .. }) => {
                self.ledger.hear(received)?;
                Ok(Taken::Confirmed)
            }
            (Stage::Over, Envelope::End) => Ok(Taken::Ended),
            _ => Err(ProtocolError::OutOfPlace),
        }
    }

    fn answered(&mut self, peer: Peer) {
        (self.peer, self.stage) = (peer, Stage::Answered);
    }

    fn give_up(&mut self, why: Cold) {
        (self.had, self.stage) = (None, Stage::Over);
        self.given_up.get_or_insert(why);
    }

    /// Ends the session for good: what is not sent yet goes first, and what has come is confirmed. What comes back is to be written.
    pub fn end(&mut self) -> Vec<Message> {
        self.sent_before_end = self.ledger.sent();
        let mut last = Vec::new();
        if self.is_open() {
            while let Some(message) = self.next(Instant::ZERO) {
                last.push(message);
            }
            if self.ledger.owes() {
                last.push(self.ledger.confirm());
            }
            last.push(Envelope::End.write());
        }
        self.give_up(Cold::Ended);
        last
    }

    /// This message, of those that were to be written at its [end](Self::end), was not.
    pub fn was_not_sent(&mut self, message: &Message) {
        if let Ok(Envelope::Data { number, .. }) = Envelope::read(message) {
            self.ledger.was_not_sent(number, self.sent_before_end);
        }
    }

    /// How long the payload of the next message is.
    pub fn next_length(&self) -> usize {
        self.ledger.next_length()
    }

    /// What was sent and never confirmed, and what was taken and never sent, where no connection will get it any more.
    pub fn take_kept(&mut self) -> (Vec<Message>, Vec<Message>) {
        self.ledger.take_kept()
    }
}
