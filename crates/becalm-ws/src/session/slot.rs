//! What does a server keep of one session?

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use becalm::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use super::envelope::Hello;
use super::ledger::{Ledger, Peer, cost};
use super::settings::SessionSettings;
use super::{Cold, ProtocolError, SessionId};
use crate::Refused;
use crate::wakers::Wakers;

/// After so many connections on which nothing came through that was to come through, a session is stuck.
const MOST_FRUITLESS: u8 = 8;

/// A session, with a connection or without.
pub(super) struct Slot {
    pub id: SessionId,
    pub user: Arc<str>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(super) struct Inner {
    pub ledger: Ledger,
    pub peer: Peer,
    /// Which connection it has, or had last: what comes by another is not heard.
    pub connection: u64,
    /// The client's own number of that connection.
    pub dial: u32,
    /// Its place among those that wait for a connection.
    pub ticket: Option<u64>,
    /// The client knows of this session.
    pub is_known: bool,
    pub over: Option<Cold>,
    pub wakers: Option<Arc<Wakers>>,
    /// Those who wait for room.
    waiting: Vec<Waker>,
    /// Since when the connection has confirmed nothing of what it was given.
    unconfirmed_since: Option<Instant>,
    progress: Progress,
}

/// Why a connection may not go on with its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fenced {
    /// Another connection has it.
    TakenOver,
    Over(Cold),
}

/// When to confirm alone what has come: a quarter of the window at once, less after this time.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub window: usize,
    pub after: Duration,
}

/// Whether anything comes through, in each direction.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// The client has confirmed the connection, so that messages could come through.
    was_confirmed: bool,
    received: u64,
    confirmed: u64,
    fruitless_in: u8,
    fruitless_out: u8,
}

impl Slot {
    pub fn new(id: SessionId, user: Arc<str>, hello: &Hello, wakers: Arc<Wakers>) -> Self {
        let inner = Inner {
            peer: hello.peer(),
            dial: 1,
            wakers: Some(wakers),
            ..Inner::default()
        };
        let inner = Mutex::new(inner);
        Self { id, user, inner }
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For this connection, if the session is still its own.
    pub fn of(&self, connection: u64) -> Result<MutexGuard<'_, Inner>, Fenced> {
        let inner = self.lock();
        match inner.over {
            Some(why) => Err(Fenced::Over(why)),
            None if inner.connection != connection => Err(Fenced::TakenOver),
            None => Ok(inner),
        }
    }
}

impl Inner {
    /// Whether this connection may go on with the session, and why not.
    pub fn judge(&self, hello: &Hello) -> Result<(), Cold> {
        if hello.dial <= self.dial {
            return Err(Cold::Superseded);
        }
        if !self
            .ledger
            .meets(hello.received, hello.confirmed, hello.sent)
        {
            return Err(Cold::Gap);
        }
        let progress = self.progressed(hello);
        if progress.fruitless_in.max(progress.fruitless_out) >= MOST_FRUITLESS {
            return Err(Cold::Stuck);
        }
        Ok(())
    }

    /// Goes on with this connection: the bytes that are free now, and who has to know that it is not theirs any more.
    pub fn resume(&mut self, hello: &Hello, wakers: Arc<Wakers>) -> (usize, Option<Arc<Wakers>>) {
        self.progress = self.progressed(hello);
        self.is_known = true;
        self.connection += 1;
        self.dial = hello.dial;
        self.peer = hello.peer();
        self.unconfirmed_since = None;
        let freed = self.ledger.resume(hello.received);
        (freed, self.wakers.replace(wakers))
    }

    fn progressed(&self, hello: &Hello) -> Progress {
        let before = self.progress;
        let received = self.ledger.received();
        let count = |fruitless: u8, is_same: bool, lacks: bool| match (
            is_same && lacks,
            before.was_confirmed,
        ) {
            (true, true) => fruitless.saturating_add(1),
            (true, false) => fruitless,
            (false, _) => 0,
        };
        let is_same = before.received == received;
        let fruitless_in = count(before.fruitless_in, is_same, hello.sent > received);
        let is_same = before.confirmed == hello.received;
        let lacks = self.ledger.sent() > hello.received;
        Progress {
            was_confirmed: false,
            received,
            confirmed: hello.received,
            fruitless_in,
            fruitless_out: count(before.fruitless_out, is_same, lacks),
        }
    }

    /// The client has received up to this: the bytes that are free now.
    pub fn hear(&mut self, received: u64, now: Instant) -> Result<usize, ProtocolError> {
        (self.is_known, self.progress.was_confirmed) = (true, true);
        let freed = self.ledger.hear(received)?;
        if freed > 0 {
            self.unconfirmed_since = self.ledger.awaits().then_some(now);
        }
        Ok(freed)
    }

    /// When the client has confirmed something at the latest.
    pub fn hears_by(&self, settings: &SessionSettings) -> Option<Instant> {
        let since = self.unconfirmed_since?;
        Some(since.after(settings.confirm_within))
    }

    /// When to confirm alone what has come.
    pub fn confirms_at(&self, due: Due) -> Option<Instant> {
        let window = self.peer.window(due.window);
        self.ledger.confirms_at(due.after, window)
    }

    /// Whether there is something to write now.
    pub fn has_word(&self, due: Due, now: Instant) -> bool {
        !self.ledger.is_given() || self.confirms_at(due).is_some_and(|at| at <= now)
    }

    /// The next to write.
    pub fn next_word(&mut self, due: Due, now: Instant) -> Option<Message> {
        if !self.has_word(due, now) {
            return None;
        }
        let Some(next) = self.ledger.next() else {
            return Some(self.ledger.confirm());
        };
        self.unconfirmed_since.get_or_insert(now);
        Some(next)
    }

    /// The message, if the session takes it now; or this task knows when there is room.
    pub fn admit(
        &mut self,
        message: Message,
        settings: &SessionSettings,
        waker: Option<&Waker>,
    ) -> Result<Message, Refused> {
        let cost = cost(&message);
        if self.over.is_some() {
            return Err(Refused::Closed(message));
        }
        if cost > settings.window.min(settings.bytes) || !self.peer.accepts(&message) {
            return Err(Refused::TooLong(message));
        }
        if !self
            .ledger
            .has_room(cost, self.peer.window(settings.window))
        {
            self.wait(waker);
            return Err(Refused::Full(message));
        }
        Ok(message)
    }

    fn wait(&mut self, waker: Option<&Waker>) {
        let new = waker.filter(|waker| !self.waiting.iter().any(|waits| waits.will_wake(waker)));
        self.waiting.extend(new.cloned());
    }

    /// Those who wait for room.
    pub fn take_waiting(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.waiting)
    }
}

impl Hello {
    fn peer(&self) -> Peer {
        Peer {
            longest: self.longest,
            window: self.window,
        }
    }
}
