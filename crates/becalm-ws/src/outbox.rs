//! What waits to be sent while there is no connection, and what happens when it is too much?

use std::collections::VecDeque;
use std::fmt;

use tokio_tungstenite::tungstenite::{Bytes, Message};

/// What happens to a message for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// Who sends it waits for room. The default.
    #[default]
    Wait,
    /// It comes back with an error.
    Refuse,
    /// The oldest that wait make room for it, and an [`Event::Dropped`](crate::Event::Dropped) tells of each.
    DropOldest,
}

/// A message that was not taken.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Refused {
    /// There is no room for it.
    Full(Message),
    /// It alone is more than the outbox, or the window of the session, may hold, or than the peer accepts.
    TooLong(Message),
    /// The socket is closed.
    Closed(Message),
}

impl Refused {
    /// The message.
    pub fn into_message(self) -> Message {
        let (Self::Full(message) | Self::TooLong(message) | Self::Closed(message)) = self;
        message
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the outbox is full: send later, or raise its bound",
            Self::TooLong(_) => "the message is longer than one may be: raise the bound of the outbox, or the window of the session",
            Self::Closed(_) => "the socket is closed",
        })
    }
}

impl std::error::Error for Refused {}

/// Messages that wait, oldest first, within a bound of bytes.
#[derive(Debug)]
pub(crate) struct Outbox {
    waiting: VecDeque<Message>,
    /// Given to a sink that waits for room for it.
    pub beyond: Option<Message>,
    /// Driven out by newer ones, and not told of yet.
    pub dropped: Vec<Message>,
    bytes: usize,
    /// How many are taken out, to be put back. Their bytes stay counted.
    away: usize,
    bound: usize,
    /// The longest message that can be sent at all.
    longest: usize,
    overflow: Overflow,
}

impl Outbox {
    pub fn new(bound: usize, longest: usize, overflow: Overflow) -> Self {
        Self {
            waiting: VecDeque::new(),
            beyond: None,
            dropped: Vec::new(),
            bytes: 0,
            away: 0,
            bound,
            longest: longest.min(bound),
            overflow,
        }
    }

    /// Takes a message.
    pub fn push(&mut self, message: Message) -> Result<(), Refused> {
        let length = cost(&message);
        if length > self.longest {
            return Err(Refused::TooLong(message));
        }
        let message = own(message);
        while self.bytes + length > self.bound || self.has_many() {
            match self.overflow {
                Overflow::DropOldest => {
                    let Some(oldest) = self.pop() else {
                        break;
                    };
                    self.dropped.push(oldest);
                }
                Overflow::Wait | Overflow::Refuse => return Err(Refused::Full(message)),
            }
        }
        self.bytes += length;
        self.waiting.push_back(message);
        Ok(())
    }

    /// Whether as many wait as take the bound by what each takes besides its payload.
    fn has_many(&self) -> bool {
        let more = (self.waiting.len() + self.away + 1).saturating_mul(EACH);
        more > self.bound.max(LEAST)
    }

    pub fn pop(&mut self) -> Option<Message> {
        let message = self.waiting.pop_front()?;
        self.bytes -= cost(&message);
        Some(message)
    }

    /// Puts a message before all others, which no connection has taken.
    pub fn put_first(&mut self, message: Message) {
        self.bytes += cost(&message);
        self.waiting.push_front(message);
    }

    /// Takes out what waits, and what is beyond the bound. Their room stays taken until they are [put back](Self::put_back).
    pub fn take_out(&mut self) -> (VecDeque<Message>, Option<Message>) {
        self.away = self.waiting.len();
        (std::mem::take(&mut self.waiting), self.beyond.take())
    }

    /// Puts these before all that has come meanwhile. They may be more than the bound, by what a session had taken: nothing is taken
    /// in beside them then.
    pub fn put_back(&mut self, first: Vec<Message>, beyond: Option<Message>) {
        let meanwhile = std::mem::replace(&mut self.waiting, first.into());
        self.waiting.extend(meanwhile);
        self.bytes = self.waiting.iter().map(cost).sum();
        (self.away, self.beyond) = (0, beyond);
    }

    /// All that waits, what is beyond the bound included.
    pub fn take_all(&mut self) -> Vec<Message> {
        self.bytes = 0;
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting.chain(self.beyond.take()).collect()
    }

    /// The oldest, if it can go now.
    pub fn pop_if(&mut self, can_go: impl FnOnce(&Message) -> bool) -> Option<Message> {
        self.waiting.front().filter(|oldest| can_go(oldest))?;
        self.pop()
    }

    /// How long the oldest is.
    pub fn first_length(&self) -> usize {
        self.waiting.front().map_or(0, Message::len)
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn waits_when_full(&self) -> bool {
        self.overflow == Overflow::Wait
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What the queue and the allocator take for each message.
const EACH: usize = 64;

/// So much they may take in any outbox.
const LEAST: usize = 64 * 1024;

/// Longer messages are shared with who sends them, as one that goes to many is.
const SHARED: usize = 4096;

/// The message in a buffer of its own: a short one may be a piece of a large one, such as that of the connection on which it
/// came.
pub(crate) fn own(message: Message) -> Message {
    match message {
        Message::Text(text) if text.len() <= SHARED => Message::text(text.as_str()),
        Message::Binary(bytes) if bytes.len() <= SHARED => {
            Message::Binary(Bytes::copy_from_slice(&bytes))
        }
        message => message,
    }
}

/// An empty message takes room, too.
fn cost(message: &Message) -> usize {
    message.len().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox(overflow: Overflow) -> Outbox {
        let mut outbox = Outbox::new(10, usize::MAX, overflow);
        for text in ["one", "two", "six"] {
            assert_eq!(outbox.push(text.into()), Ok(()));
        }
        outbox
    }

    #[test]
    fn the_bound_holds_and_nothing_goes_silently() {
        let refused = outbox(Overflow::Refuse).push("ten".into());
        assert_eq!(refused, Err(Refused::Full("ten".into())));
        let mut dropping = outbox(Overflow::DropOldest);
        assert_eq!(dropping.push("seven".into()), Ok(()));
        assert_eq!(dropping.dropped, ["one".into(), "two".into()]);
        assert_eq!(dropping.bytes(), 8);
        let long = dropping.push("twelve bytes".into());
        assert_eq!(long, Err(Refused::TooLong("twelve bytes".into())));
        assert_eq!(
            (dropping.pop(), dropping.pop()),
            (Some("six".into()), Some("seven".into()))
        );
        assert_eq!((dropping.pop(), dropping.bytes()), (None, 0));
    }

    #[test]
    fn what_is_taken_out_keeps_its_room_and_goes_first() {
        let mut outbox = outbox(Overflow::Refuse);
        let (mut out, _) = outbox.take_out();
        assert_eq!(outbox.push("ten".into()), Err(Refused::Full("ten".into())));
        assert_eq!(outbox.push("4".into()), Ok(()));
        out.push_front("sent late".into());
        out.pop_back();
        outbox.put_back(out.into(), None);
        assert_eq!(outbox.bytes(), 16);
        assert_eq!(outbox.push("5".into()), Err(Refused::Full("5".into())));
        outbox.put_first("0".into());
        let all = ["0", "sent late", "one", "two", "4"].map(Message::from);
        assert_eq!(outbox.take_all(), all);

        let mut outbox = Outbox::new(3, usize::MAX, Overflow::DropOldest);
        assert_eq!(outbox.push("one".into()), Ok(()));
        let (out, _) = outbox.take_out();
        assert_eq!(outbox.push("two".into()), Ok(()));
        outbox.put_back(out.into(), None);
        assert_eq!(outbox.push("six".into()), Ok(()));
        assert_eq!(outbox.dropped, ["one".into(), "two".into()]);
    }

    #[test]
    fn short_messages_are_counted_with_what_they_take_and_keep_no_buffer() {
        let mut outbox = Outbox::new(1 << 20, usize::MAX, Overflow::Refuse);
        let buffer = Bytes::from(vec![7; 1 << 20]);
        let mut taken = 0;
        while outbox.push(Message::Binary(buffer.slice(..1))).is_ok() {
            taken += 1;
        }
        assert_eq!(taken, (1 << 20) / EACH);
        assert!(buffer.is_unique());
        outbox.pop();
        assert_eq!(outbox.push("1".into()), Ok(()));
    }
}
