//! Which messages of a connection may not have left? Those that it was given since all was written.

use std::collections::VecDeque;

use tokio_tungstenite::tungstenite::Message;

/// The least that a frame of a client takes besides its payload (RFC 6455 section 5.2).
const FRAME: usize = 6;

/// Messages that a connection without a session was given and may still hold. Where it breaks, each of them has arrived or not.
#[derive(Debug)]
pub(crate) struct Unflushed {
    messages: VecDeque<Message>,
    bytes: usize,
    /// Beyond so many bytes tungstenite writes all that it holds.
    most: usize,
}

impl Unflushed {
    pub fn new(most: usize) -> Self {
        Self {
            messages: VecDeque::new(),
            bytes: 0,
            most,
        }
    }

    /// The connection was given this. Control frames are its own.
    pub fn given(&mut self, message: Message) {
        if message.is_text() || message.is_binary() {
            self.bytes = self.bytes.saturating_add(cost(&message));
            self.messages.push_back(message);
        }
    }

    /// The connection takes more: what was too much to be held has been written, and what came before as much as may be held.
    pub fn is_ready(&mut self) {
        let is_long = |last| cost(last) > self.most;
        if self.messages.back().is_some_and(is_long) {
            self.is_written();
        }
        while let Some(first) = self.messages.front() {
            let after = self.bytes.saturating_sub(cost(first));
            if after < self.most {
                break;
            }
            self.bytes = after;
            self.messages.pop_front();
        }
    }

    /// All has been written.
    pub fn is_written(&mut self) {
        self.bytes = 0;
        self.messages.clear();
        // An idle connection holds no room for many.
        self.messages.shrink_to(1);
    }

    pub fn take(&mut self) -> VecDeque<Message> {
        self.bytes = 0;
        std::mem::take(&mut self.messages)
    }
}

fn cost(message: &Message) -> usize {
    FRAME.saturating_add(message.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside the buffer of tungstenite, which is written once it holds more than so much, and into which pings go as well.
    #[test]
    fn all_that_the_buffer_holds_is_known() {
        const MOST: usize = 1_000;
        for length in 0..2_000_usize {
            let mut unflushed = Unflushed::new(MOST);
            let (mut buffer, mut held) = (0, Vec::new());
            for number in 0..100_usize {
                let length = if number % 7 == 6 {
                    length
                } else {
                    length % 300
                };
                let text = format!("{number:length$}");
                let is_ping = number % 5 == 4;
                buffer += text.len() + if text.len() < 126 { 6 } else { 8 };
                if is_ping {
                    unflushed.given(Message::Ping(text.into()));
                } else {
                    held.push(Message::text(text));
                    unflushed.given(held[held.len() - 1].clone());
                }
                if buffer > MOST {
                    (buffer, held) = (0, Vec::new());
                }
                unflushed.is_ready();
                let known = unflushed.messages.iter();
                let known: Vec<_> = known
                    .skip(unflushed.messages.len().saturating_sub(held.len()))
                    .collect();
                assert_eq!(known, held.iter().collect::<Vec<_>>(), "{length} {number}");
                assert!(unflushed.bytes < 2 * MOST, "{}", unflushed.bytes);
            }
        }
    }

    #[test]
    fn what_is_held_is_bounded_and_nothing_that_may_not_have_left_is_forgotten() {
        let mut unflushed = Unflushed::new(100);
        for _ in 0..10 {
            unflushed.given("1234".into());
            unflushed.is_ready();
        }
        // 100 bytes may all be in the buffer, and what came before them is not.
        assert_eq!(unflushed.messages.len(), 10);
        unflushed.given("last".into());
        unflushed.given(Message::Ping(Vec::new().into()));
        assert_eq!(unflushed.messages.len(), 11);
        unflushed.is_ready();
        assert_eq!((unflushed.messages.len(), unflushed.bytes), (10, 100));
        assert_eq!(unflushed.messages.back(), Some(&"last".into()));
        // Longer than the buffer: it and all before it was written.
        unflushed.given(Message::binary(vec![0; 100]));
        unflushed.is_ready();
        assert!(unflushed.take().is_empty());
        unflushed.given("1234".into());
        assert_eq!(unflushed.take(), ["1234".into()]);
    }
}
