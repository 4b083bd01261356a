//! Who sends to a session that is another task's?

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use tokio_tungstenite::tungstenite::Message;

use super::directory::Shared;
use super::ledger::cost;
use super::slot::Slot;
use super::{Cold, SessionId, Sessions};
use crate::Refused;

/// A session from elsewhere: another task, another connection's task. It outlives connections; clones are one handle.
#[derive(Clone)]
pub struct SessionHandle {
    pub(super) shared: Arc<Shared>,
    pub(super) slot: Arc<Slot>,
}

impl Sessions {
    /// A handle on a session.
    pub fn get(&self, id: SessionId) -> Option<SessionHandle> {
        let slot = self.shared.slot(id)?;
        Some(SessionHandle::of(&self.shared, slot))
    }
}

impl SessionHandle {
    pub(super) fn of(shared: &Arc<Shared>, slot: Arc<Slot>) -> Self {
        let shared = Arc::clone(shared);
        Self { shared, slot }
    }

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
