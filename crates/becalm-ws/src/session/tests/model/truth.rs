//! What has to come out?

use becalm::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use crate::session::Cold;

/// What a session must bring: by direction, what was sent in it and how much of that was given.
#[derive(Debug, Default)]
pub struct Truth {
    pub up: Way,
    pub down: Way,
    pub user: &'static str,
    /// The connection that came last, and when that was lost.
    pub connection: usize,
    pub dial: u32,
    pub detached: Option<(u64, Instant)>,
    pub is_known: bool,
    pub over: Option<Cold>,
}

impl Truth {
    pub fn is_new(&self) -> bool {
        self.connection == 0
    }
}

#[derive(Debug, Default)]
pub struct Way {
    pub sent: Vec<Message>,
    pub given: usize,
}

impl Way {
    pub fn gives(&mut self, message: &Message) {
        assert_eq!(
            self.sent.get(self.given),
            Some(message),
            "message {}",
            self.given + 1
        );
        self.given += 1;
    }

    /// What one side gives up is the end of what was sent, and all before it was given.
    pub fn gives_up(&self, messages: &[Message]) {
        assert!(
            self.sent.ends_with(messages),
            "{messages:?} of {:?}",
            self.sent
        );
        let confirmed = self.sent.len() - messages.len();
        assert!(
            confirmed <= self.given,
            "{confirmed} were confirmed and {} given",
            self.given
        );
    }
}
