//! Which messages of a connection may not have left? Those that it was given since all was written.

use tokio_tungstenite::tungstenite::Message;

/// The least that a frame of a client takes besides its payload (RFC 6455 section 5.2).
const FRAME: usize = 6;

/// Messages that a connection without a session was given and may still hold. Where it breaks, each of them has arrived or not.
#[derive(Debug)]
pub(crate) struct Unflushed {
    messages: Vec<Message>,
    bytes: usize,
    /// Beyond so many bytes tungstenite writes all that it holds.
    most: usize,
}

impl Unflushed {
    pub fn new(most: usize) -> Self {
        Self {
            messages: Vec::new(),
            bytes: 0,
            most,
        }
    }

    /// The connection was given this. Control frames are its own.
    pub fn given(&mut self, message: Message) {
        if message.is_text() || message.is_binary() {
            self.bytes = self.bytes.saturating_add(FRAME + message.len());
            self.messages.push(message);
        }
    }

    /// The connection takes more: what was too much to be held has been written.
    pub fn is_ready(&mut self) {
        if self.bytes > self.most {
            self.is_written();
        }
    }

    /// All has been written.
    pub fn is_written(&mut self) {
        self.bytes = 0;
        self.messages.clear();
        // An idle connection holds no room for many.
        self.messages.shrink_to(1);
    }

    pub fn take(&mut self) -> Vec<Message> {
        self.bytes = 0;
        std::mem::take(&mut self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_bounded_and_nothing_that_may_not_have_left_is_forgotten() {
        let mut unflushed = Unflushed::new(100);
        for _ in 0..10 {
            unflushed.given("1234".into());
            unflushed.is_ready();
        }
        // 100 bytes may all be in the buffer, 110 are not.
        assert_eq!(unflushed.messages.len(), 10);
        unflushed.given("1234".into());
        unflushed.given(Message::Ping(Vec::new().into()));
        assert_eq!(unflushed.messages.len(), 11);
        unflushed.is_ready();
        assert!(unflushed.take().is_empty());
        unflushed.given("1234".into());
        assert_eq!(unflushed.take(), ["1234".into()]);
    }
}
