//! What has one side of a session sent, what of it is not confirmed, and what has it received?

use std::collections::VecDeque;
use std::time::Duration;

use becalm::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use super::envelope::data;
use super::{Envelope, ProtocolError};
use crate::outbox::own;

/// Counted for each message besides its payload: what the queue and the allocator take.
pub(crate) const EACH: usize = 64;

/// Confirmed alone after so many messages.
const MESSAGES: u64 = 64;

/// What a message takes of a window.
pub(crate) fn cost(message: &Message) -> usize {
    message.len() + EACH
}

/// What the other side says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The longest payload that it accepts.
    pub longest: u32,
    /// How many bytes of messages it holds.
    pub window: u32,
}

impl Peer {
    /// How many bytes go unconfirmed in each direction: what both sides can hold.
    pub fn window(self, own: usize) -> usize {
        own.min(usize::try_from(self.window).unwrap_or(usize::MAX))
    }

    pub fn accepts(self, message: &Message) -> bool {
        u32::try_from(message.len()).is_ok_and(|length| length <= self.longest)
    }
}

/// The numbers of one side.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    /// Not confirmed, from number `confirmed + 1` on.
    kept: VecDeque<Message>,
    bytes: usize,
    /// How many of the kept this connection was given.
    given: usize,
    confirmed: u64,
    /// The last number that any connection was given.
    sent: u64,
    /// Come, and not given to the application: if they never are, they come again with the next connection.
    inbox: VecDeque<Message>,
    inbox_bytes: usize,
    received: u64,
    /// The last `received` that the peer was told, what came after it, and when the first of that came.
    told: u64,
    owed_bytes: usize,
    owed_since: Option<Instant>,
}

impl Ledger {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn inbox_bytes(&self) -> usize {
        self.inbox_bytes
    }

    pub fn confirmed(&self) -> u64 {
        self.confirmed
    }

    pub fn sent(&self) -> u64 {
        self.sent
    }

    pub fn received(&self) -> u64 {
        self.received
    }

    /// Whether a message of this cost fits within this window. One alone always does.
    pub fn has_room(&self, cost: usize, window: usize) -> bool {
        self.kept.is_empty() || self.bytes.saturating_add(cost) <= window
    }

    /// Takes a message to send: it has a number now, and is kept until it is confirmed.
    pub fn push(&mut self, message: Message) {
        let message = own(message);
        self.bytes += cost(&message);
        self.kept.push_back(message);
    }

    /// The next to write on this connection, which confirms what has come.
    pub fn next(&mut self) -> Option<Message> {
        let message = self.kept.get(self.given)?;
        self.given += 1;
        let number = self.confirmed + self.given as u64;
        let written = data(number, self.received, message);
        self.sent = self.sent.max(number);
        self.has_told();
        Some(written)
    }

    /// How long the payload of the next is.
    pub fn next_length(&self) -> usize {
        self.kept.get(self.given).map_or(0, Message::len)
    }

    /// From this number on nothing has left, but what had left before, up to that number.
    pub fn was_not_sent(&mut self, number: u64, before: u64) {
        let sent = self.sent.min(number.saturating_sub(1));
        self.sent = sent.max(before).max(self.confirmed);
    }

    /// Whether this connection was given all that is kept.
    pub fn is_given(&self) -> bool {
        self.given == self.kept.len()
    }

    /// Whether this connection was given something that is not confirmed.
    pub fn awaits(&self) -> bool {
        self.given > 0
    }

    /// The peer has received all up to this; the bytes that it frees.
    pub fn hear(&mut self, received: u64) -> Result<usize, ProtocolError> {
        let sent = self.confirmed + self.given as u64;
        if received > sent {
            let came = received;
            return Err(ProtocolError::Confirms { sent, came });
        }
        Ok(self.drop_up_to(received))
    }

    fn drop_up_to(&mut self, received: u64) -> usize {
        let before = self.bytes;
        while self.confirmed < received {
            let Some(message) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= cost(&message);
            self.given = self.given.saturating_sub(1);
            self.confirmed += 1;
        }
        shrink(&mut self.kept);
        before - self.bytes
    }

    /// Whether to read on: one message is enough for who waits for messages. Who waits for room reads ahead up to a window, since what
    /// makes room may lie behind messages.
    pub fn reads(&self, is_ahead: bool, window: usize) -> bool {
        self.inbox.is_empty() || (is_ahead && self.inbox_bytes < window)
    }

    /// A message has come.
    pub fn arrive(&mut self, number: u64, message: Message) -> Result<(), ProtocolError> {
        let expected = self.received + self.inbox.len() as u64 + 1;
        if number != expected {
            let came = number;
            return Err(ProtocolError::Number { expected, came });
        }
        self.inbox_bytes += cost(&message);
        self.inbox.push_back(message);
        Ok(())
    }

    pub fn has_arrived(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// The next message for the application, which counts as received from now on.
    pub fn hand_over(&mut self, now: Instant) -> Option<Message> {
        let message = self.inbox.pop_front()?;
        let cost = cost(&message);
        self.inbox_bytes -= cost;
        self.received += 1;
        self.owed_bytes = self.owed_bytes.saturating_add(cost);
        self.owed_since.get_or_insert(now);
        shrink(&mut self.inbox);
        Some(message)
    }

    /// When to confirm alone what has come.
    pub fn confirms_at(&self, delay: Duration, window: usize) -> Option<Instant> {
        let since = self.owed_since?;
        let is_much = self.received - self.told >= MESSAGES || self.owed_bytes >= window / 4;
        Some(if is_much { since } else { since.after(delay) })
    }

    /// Whether something has come that was not confirmed.
    pub fn owes(&self) -> bool {
        self.owed_since.is_some()
    }

    /// Confirms what has come, alone.
    pub fn confirm(&mut self) -> Message {
        self.has_told();
        Envelope::Ack(self.received).write()
    }

    fn has_told(&mut self) {
        self.told = self.received;
        (self.owed_bytes, self.owed_since) = (0, None);
    }

    /// Whether the two sides meet: the peer has received up to `received`, and knows of ours from `from` to `to`.
    pub fn meets(&self, received: u64, from: u64, to: u64) -> bool {
        (self.confirmed..=self.sent).contains(&received) && (from..=to).contains(&self.received)
    }

    /// A new connection: the peer has received up to `received`, and is told what we have. What it lacks is given again.
    pub fn resume(&mut self, received: u64) -> usize {
        self.has_told();
        let freed = self.drop_up_to(received);
        self.given = 0;
        self.forget_arrived();
        freed
    }

    /// What the application was not given comes again.
    pub fn forget_arrived(&mut self) {
        self.inbox = VecDeque::new();
        self.inbox_bytes = 0;
    }

    /// What is not confirmed and was sent, oldest first; then what was never sent. Both sides count anew. What has come is left to the
    /// application.
    pub fn take_kept(&mut self) -> (Vec<Message>, Vec<Message>) {
        let mut old = std::mem::take(self);
        (self.inbox, self.inbox_bytes) = (old.inbox, old.inbox_bytes);
        let sent = usize::try_from(old.sent - old.confirmed).unwrap_or(usize::MAX);
        let never = old.kept.split_off(sent.min(old.kept.len()));
        (old.kept.into(), never.into())
    }
}

/// A session that has little holds no room for much.
fn shrink(messages: &mut VecDeque<Message>) {
    if messages.capacity() > 8 && messages.len() < messages.capacity() / 4 {
        messages.shrink_to(2 * messages.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;
    const DELAY: Duration = Duration::from_millis(500);

    fn ledger(messages: usize) -> Ledger {
        let mut ledger = Ledger::default();
        (0..messages).for_each(|number| ledger.push(number.to_string().into()));
        ledger
    }

    /// A message of this length comes and goes to the application.
    fn arrives(ledger: &mut Ledger, number: u64, length: usize) {
        ledger.arrive(number, "x".repeat(length).into()).unwrap();
        assert!(ledger.hand_over(NOW.after(DELAY * 2)).is_some());
    }

    fn number(message: Option<Message>) -> Option<u64> {
        match Envelope::read(&message?) {
            Ok(Envelope::Data { number, .. }) => Some(number),
            _ => None,
        }
    }

    #[test]
    fn what_is_not_confirmed_is_given_again_in_order_once() {
        let mut ledger = ledger(3);
        assert_eq!(
            [0; 3].map(|_| number(ledger.next())),
            [Some(1), Some(2), Some(3)]
        );
        assert_eq!((ledger.next(), ledger.bytes()), (None, 3 * 65));
        assert_eq!(ledger.hear(1), Ok(65));
        assert_eq!(ledger.hear(0), Ok(0));
        assert_eq!(ledger.resume(2), 65);
        ledger.push("new".into());
        assert_eq!(
            [0; 3].map(|_| number(ledger.next())),
            [Some(3), Some(4), None]
        );
        assert_eq!(ledger.hear(4), Ok(65 + 67));
        assert_eq!(ledger.bytes(), 0);
    }

    #[test]
    fn nobody_confirms_what_was_not_sent_nor_jumps() {
        let mut ledger = ledger(3);
        let _ = ledger.next();
        let confirms = ProtocolError::Confirms { sent: 1, came: 2 };
        assert_eq!(ledger.hear(2), Err(confirms));
        // Given to an earlier connection, and not yet to this one.
        let _ = (ledger.next(), ledger.resume(0));
        let confirms = ProtocolError::Confirms { sent: 0, came: 1 };
        assert_eq!(ledger.hear(1), Err(confirms));
        assert!(ledger.hear(u64::MAX).is_err());
        for came in [0, 2, u64::MAX] {
            let jump = ProtocolError::Number { expected: 1, came };
            assert_eq!(ledger.arrive(came, "x".into()), Err(jump));
        }
        assert_eq!(ledger.arrive(1, "x".into()), Ok(()));
        assert!(ledger.arrive(1, "x".into()).is_err());
        assert_eq!(ledger.hand_over(NOW), Some("x".into()));
        assert!(ledger.arrive(1, "x".into()).is_err());
    }

    #[test]
    fn two_sides_meet_only_where_nothing_is_missing() {
        let mut ledger = ledger(5);
        let _ = (ledger.next(), ledger.next(), ledger.next());
        ledger.hear(1).unwrap();
        arrives(&mut ledger, 1, 1);
        assert!(ledger.meets(1, 0, 1) && ledger.meets(3, 1, 9));
        // It has what was dropped not, what was not sent, has confirmed too much, has sent too little.
        for (received, from, to) in [
            (0, 0, 1),
            (4, 0, 1),
            (1, 2, 3),
            (1, 0, 0),
            (u64::MAX, 0, u64::MAX),
        ] {
            assert!(!ledger.meets(received, from, to), "{received} {from} {to}");
        }
    }

    #[test]
    fn it_confirms_with_a_message_or_alone_after_bytes_messages_or_a_delay() {
        let (window, since) = (4_000, NOW.after(DELAY * 2));
        let mut ledger = ledger(1);
        assert_eq!(ledger.confirms_at(DELAY, window), None);
        arrives(&mut ledger, 1, 1_000 - 2 * EACH - 2);
        assert_eq!(ledger.confirms_at(DELAY, window), Some(since.after(DELAY)));
        arrives(&mut ledger, 2, 2);
        assert_eq!(ledger.confirms_at(DELAY, window), Some(since));
        let with = ledger
            .next()
            .and_then(|message| Envelope::read(&message).ok());
        assert!(
            matches!(with, Some(Envelope::Data { received: 2, .. })),
            "{with:?}"
        );
        assert_eq!(ledger.confirms_at(DELAY, window), None);
        for number in 3..66 {
            arrives(&mut ledger, number, 1);
        }
        assert_eq!(ledger.confirms_at(DELAY, 40_000), Some(since.after(DELAY)));
        arrives(&mut ledger, 66, 1);
        assert_eq!(ledger.confirms_at(DELAY, 40_000), Some(since));
        assert_eq!(ledger.confirm(), Envelope::Ack(66).write());
    }

    #[test]
    fn what_the_application_was_not_given_comes_again() {
        let mut ledger = Ledger::default();
        for number in 1..4 {
            assert!(ledger.reads(true, 3 * 65));
            ledger.arrive(number, "x".into()).unwrap();
        }
        assert!(!ledger.reads(true, 3 * 65) && !ledger.reads(false, 9_999));
        assert!(ledger.hand_over(NOW).is_some());
        ledger.resume(0);
        assert_eq!((ledger.received(), ledger.has_arrived()), (1, false));
        assert_eq!(ledger.arrive(2, "x".into()), Ok(()));
    }

    #[test]
    fn what_is_left_is_told_apart() {
        let mut ledger = ledger(4);
        let _ = (ledger.next(), ledger.next());
        ledger.hear(1).unwrap();
        let texts = |messages: Vec<Message>| -> Vec<_> {
            messages.iter().map(ToString::to_string).collect()
        };
        let (sent, never) = ledger.take_kept();
        assert_eq!(
            (texts(sent), texts(never)),
            (
                vec!["1".to_string()],
                vec!["2".to_string(), "3".to_string()]
            )
        );
    }
}
