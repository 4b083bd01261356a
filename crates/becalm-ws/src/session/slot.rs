//! What does a server keep of one session, and who sends to it?

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use becalm::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use super::directory::Shared;
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
    pub fn confirms_at(&self, shared: &Shared) -> Option<Instant> {
        let window = self.peer.window(shared.settings.window);
        self.ledger.confirms_at(shared.confirm_after(), window)
    }

    /// Whether there is something to write now.
    pub fn has_word(&self, shared: &Shared, now: Instant) -> bool {
        !self.ledger.is_given() || self.confirms_at(shared).is_some_and(|at| at <= now)
    }

    /// The next to write.
    pub fn next_word(&mut self, shared: &Shared, now: Instant) -> Option<Message> {
        if !self.has_word(shared, now) {
            return None;
        }
        let Some(next) = self.ledger.next() else {
            return Some(self.ledger.confirm());
        };
        self.unconfirmed_since.get_or_insert(now);
        Some(next)
    }

    /// The message, if the session takes it now; or this task knows when there is room.
    fn admit(
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

/// A session from elsewhere: another task, another connection's task. It outlives connections; clones are one handle.
#[derive(Clone)]
pub struct SessionHandle {
    pub(super) shared: Arc<Shared>,
    pub(super) slot: Arc<Slot>,
}

impl SessionHandle {
    /// The name of the session.
    pub fn id(&self) -> SessionId {
        self.slot.id
    }

    /// The user that it is bound to.
    pub fn user(&self) -> &str {
        &self.slot.user
    }

    /// Whether it has a connection now, as far as anybody knows.
    pub fn is_attached(&self) -> bool {
        let inner = self.slot.lock();
        inner.over.is_none() && inner.ticket.is_none()
    }

    /// Why it is over; `None` while it is not.
    pub fn over(&self) -> Option<Cold> {
        self.slot.lock().over
    }

    /// How many bytes of messages it keeps that the client has not confirmed.
    pub fn unconfirmed_bytes(&self) -> usize {
        self.slot.lock().ledger.bytes()
    }

    /// Sends a message, over this connection or a later one, and waits for room in the window. Pings, pongs and closes are
    /// a connection's, and are left out.
    ///
    /// # Errors
    ///
    /// The message was not taken, and comes back: it is longer than the window or than the client accepts, or the session is over.
    pub async fn send(&self, message: impl Into<Message>) -> Result<(), Refused> {
        let mut message = Some(message.into());
        poll_fn(|context| {
            let Some(next) = message.take() else {
                return Poll::Ready(Ok(()));
            };
            match self.push(next, Some(context.waker())) {
                Err(Refused::Full(back)) => {
                    message = Some(back);
                    Poll::Pending
                }
                ended => Poll::Ready(ended),
            }
        })
        .await
    }

    /// Sends a message, and waits for nothing.
    ///
    /// # Errors
    ///
    /// The message was not taken, and comes back.
    pub fn try_send(&self, message: impl Into<Message>) -> Result<(), Refused> {
        self.push(message.into(), None)
    }

    /// Ends the session for good, as at a logout: the client is told, and begins cold if it comes back.
    pub fn end(&self) {
        self.shared.end(&self.slot, Cold::Ended);
    }

    /// Takes a message, or lets this task know when there is room.
    pub(super) fn push(&self, message: Message, waker: Option<&Waker>) -> Result<(), Refused> {
        if !message.is_text() && !message.is_binary() {
            return Ok(());
        }
        let settings = &self.shared.settings;
        let bytes = cost(&message);
        let message = self.slot.lock().admit(message, settings, waker)?;
        if !self.shared.reserve(bytes, waker) {
            return Err(Refused::Full(message));
        }
        let mut inner = self.slot.lock();
        // Others may have sent meanwhile.
        let admitted = inner.admit(message, settings, waker);
        let admitted = admitted.map(|message| inner.ledger.push(message));
        let wakers = inner.wakers.clone();
        drop(inner);
        match &admitted {
            Ok(()) => {
                wakers.inspect(|wakers| wakers.wake_all());
            }
            Err(_) => self.shared.free(bytes),
        }
        admitted
    }
}

impl fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionHandle")
            .field("id", &self.id())
            .field("user", &self.user())
            .finish_non_exhaustive()
    }
}
