//! What stands between a server's WebSocket and its application? One connection of a session.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Waker, ready};

use becalm::time::{Instant, Sleep};
use futures_core::{FusedStream, Stream};
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;

use super::directory::Shared;
use super::envelope::{Envelope, Hello};
use super::first_and_last::{answer, say_goodbye};
use super::ledger::cost;
use super::slot::{Fenced, Inner};
use super::{Began, Cold, Lost, ProtocolError, SessionHandle, SessionId};
use crate::Refused;
use crate::wakers::{Half, Wakers};

/// A connection of a session, over `S`: any stream and sink of messages.
///
/// As a `Stream` it gives the texts and binaries of the client, each once. It ends with its connection; the session waits for
/// another then, unless it is over. As a `Sink` it takes messages as [`SessionHandle::send`] does, and a flush is over when the
/// connection has taken them; pings, pongs and closes go to the connection as they are. A message for which the window has no room waits in
/// the sink; where the connection ends before there is room, it comes back as [`Lost::Refused`]. It confirms and sends again while it is polled.
///
/// [`began`](Self::began) says before any message whether the session goes on.
///
/// A message that has come counts as received when the application is given it.
///
/// A task that serves the connection before may still be at the message that it was given last, when this one gives the next. Where
/// the order of what they do counts, hold a lock for each session while messages are worked on.
pub struct SessionSocket<S> {
    wire: S,
    session: SessionHandle,
    connection: u64,
    began: Began,
    wakers: Arc<Wakers>,
    /// Wakes both halves.
    waker: Waker,
    /// What the sink could not give to a session without room; at first, the answer to hello.
    unsent: Option<Message>,
    timer: Option<(Instant, Sleep)>,
    is_unflushed: bool,
    /// The wire takes nothing more.
    is_mute: bool,
    stage: Stage,
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Lives,
    /// The client has said that it leaves for good; what came before goes to the application first.
    Left,
    Over,
}

impl<S> SessionSocket<S> {
    pub(super) fn new(wire: S, hello: &Hello, user: &str, shared: &Arc<Shared>) -> Self {
        let wakers = Arc::<Wakers>::default();
        let attached = shared.attach(hello, user, &wakers);
        let answer = answer(&attached, shared);
        Self {
            wire,
            session: SessionHandle::of(shared, attached.slot),
            connection: attached.connection,
            began: attached.began,
            waker: Waker::from(Arc::clone(&wakers)),
            wakers,
            unsent: Some(answer),
            timer: None,
            is_unflushed: false,
            is_mute: false,
            stage: Stage::Lives,
        }
    }

    /// Whether the session goes on with this connection, or why it is a new one.
    pub fn began(&self) -> Began {
        self.began
    }

    /// The name of the session.
    pub fn id(&self) -> SessionId {
        self.session.id()
    }

    /// A handle on the session, for other tasks and for later.
    pub fn handle(&self) -> SessionHandle {
        self.session.clone()
    }

    /// The WebSocket below.
    pub fn get_ref(&self) -> &S {
        &self.wire
    }

    /// The connection is over; the session, if it is not, waits for another.
    fn leave(&mut self) {
        if mem::replace(&mut self.stage, Stage::Over) != Stage::Over {
            let SessionHandle { shared, slot } = &self.session;
            shared.detach(slot, self.connection);
            self.wakers.wake_all();
        }
    }
}

impl<S, E> SessionSocket<S>
where
    S: Stream<Item = Result<Message, E>> + Sink<Message, Error = E> + Unpin,
{
    /// Gives the wire the answer to hello.
    pub(super) fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Lost<E>>> {
        if self.unsent.is_some() {
            ready!(Pin::new(&mut self.wire).poll_ready(context)).map_err(Lost::Wire)?;
            if let Some(answer) = self.unsent.take() {
                Pin::new(&mut self.wire)
                    .start_send(answer)
                    .map_err(Lost::Wire)?;
            }
        }
        Pin::new(&mut self.wire)
            .poll_flush(context)
            .map_err(Lost::Wire)
    }

    /// Does what can be done now. Pending while the connection lives: then a message may have come, or something will wake the task.
    fn drive(&mut self, is_ahead: bool, context: &mut Context<'_>) -> Poll<Lost<E>> {
        let lost = loop {
            match self.drive_once(is_ahead, context) {
                Ok(true) => (),
                Ok(false) => return Poll::Pending,
                Err(lost) => break lost,
            }
        };
        if let Lost::Protocol(_) = lost {
            let SessionHandle { shared, slot } = &self.session;
            shared.end(slot, Cold::Protocol);
        }
        self.leave();
        say_goodbye(&mut self.wire, &lost);
        Poll::Ready(lost)
    }

    /// Whether there is more to do at once.
    fn drive_once(&mut self, is_ahead: bool, context: &mut Context<'_>) -> Result<bool, Lost<E>> {
        let now = self.now();
        self.write(now, context)?;
        let (reads, has_arrived, confirms_at, hears_by) = {
            let shared = &self.session.shared;
            let inner = self.inner()?;
            let reads = inner.ledger.reads(is_ahead, shared.settings.window);
            (
                reads,
                inner.ledger.has_arrived(),
                inner.confirms_at(shared.due()),
                // What was not read may be a confirmation.
                inner.hears_by(&shared.settings).filter(|_| reads),
            )
        };
        if self.stage == Stage::Left {
            if !has_arrived {
                return self.ended_by_client();
            }
        } else if reads {
            let is_more = is_ahead && has_arrived;
            let shared = &self.session.shared;
            if (!is_more || shared.reads_ahead(context.waker())) && self.read(context)? {
                return Ok(true);
            }
        }
        if hears_by.is_some_and(|by| by <= now) {
            return Err(Lost::Unconfirmed);
        }
        let is_for_stream = has_arrived && !is_ahead;
        // What is due and was not written waits for the wire.
        let confirms_at = confirms_at.filter(|at| now < *at);
        match confirms_at.into_iter().chain(hears_by).min() {
            Some(at) if !is_for_stream => Ok(self.poll_timer(at, context).is_ready()),
            Some(_) => Ok(false),
            None => {
                self.timer = None;
                Ok(false)
            }
        }
    }

    fn now(&self) -> Instant {
        self.session.shared.settings.sleeper.now()
    }

    fn inner(&self) -> Result<MutexGuard<'_, Inner>, Fenced> {
        self.session.slot.of(self.connection)
    }

    /// A wire that takes nothing more, as one that is being closed, may still bring something: it is read to its end.
    fn write(&mut self, now: Instant, context: &mut Context<'_>) -> Result<(), Lost<E>> {
        while !self.is_mute && self.inner()?.has_word(self.session.shared.due(), now) {
            match Pin::new(&mut self.wire).poll_ready(context) {
                Poll::Ready(Ok(())) => (),
                Poll::Ready(Err(_)) => self.is_mute = true,
                Poll::Pending => break,
            }
            if self.is_mute {
                break;
            }
            let next = self.inner()?.next_word(self.session.shared.due(), now);
            if let Some(next) = next {
                self.is_mute = Pin::new(&mut self.wire).start_send(next).is_err();
                self.is_unflushed = true;
            }
        }
        if self.is_unflushed && !self.is_mute {
            match Pin::new(&mut self.wire).poll_flush(context) {
                Poll::Ready(flushed) => {
                    (self.is_unflushed, self.is_mute) = (false, flushed.is_err());
                }
                Poll::Pending => (),
            }
        }
        Ok(())
    }

    /// Whether something has come.
    fn read(&mut self, context: &mut Context<'_>) -> Result<bool, Lost<E>> {
        let Poll::Ready(read) = Pin::new(&mut self.wire).poll_next(context) else {
            return Ok(false);
        };
        let message = read.ok_or(Lost::Gone)?.map_err(Lost::Wire)?;
        if !message.is_text() && !message.is_binary() {
            // The WebSocket below may have written an answer, which waits to be flushed.
            self.is_unflushed = true;
            return Ok(true);
        }
        let now = self.now();
        let (freed, waiting) = {
            let mut inner = self.inner()?;
            let freed = match Envelope::read(&message)? {
                Envelope::Data {
                    number,
                    received,
                    message,
                } => {
                    let (length, longest) = (message.len(), self.session.shared.settings.longest);
                    if length > longest as usize {
                        return Err(ProtocolError::TooLong { length, longest }.into());
                    }
                    // First what may break the rules: what is confirmed leaves the ledger, and must be counted below.
                    let cost = cost(&message);
                    inner.ledger.arrive(number, message)?;
                    self.session.shared.came(cost);
                    inner.hear(received, now)?
                }
                Envelope::Ack(received) => inner.hear(received, now)?,
                Envelope::End => {
                    drop(inner);
                    self.stage = Stage::Left;
                    return Ok(true);
                }
                _ => return Err(ProtocolError::OutOfPlace.into()),
            };
            let waiting = if freed > 0 {
                inner.take_waiting()
            } else {
                Vec::new()
            };
            (freed, waiting)
        };
        self.session.shared.free(freed);
        waiting.into_iter().for_each(Waker::wake);
        Ok(true)
    }

    /// Confirms what has come to the client that leaves for good.
    fn ended_by_client(&mut self) -> Result<bool, Lost<E>> {
        let received = self.inner()?.ledger.received();
        let _ = Pin::new(&mut self.wire).start_send(Envelope::Ack(received).write());
        let _ = Pin::new(&mut self.wire).poll_flush(&mut Context::from_waker(Waker::noop()));
        self.session.end();
        Err(Lost::Gone)
    }

    fn poll_timer(&mut self, until: Instant, context: &mut Context<'_>) -> Poll<()> {
        let sleeper = &self.session.shared.settings.sleeper;
        let timer = match &mut self.timer {
            Some(timer) if timer.0 <= until => timer,
            timer => timer.insert((until, sleeper.sleep_until(until))),
        };
        ready!(timer.1.as_mut().poll(context));
        self.timer = None;
        Poll::Ready(())
    }

    /// Drives it for the sink: what has come is for the stream.
    fn drive_to_send(&mut self, context: &mut Context<'_>) -> Result<(), Lost<E>> {
        self.wakers.set(Half::Sink, context.waker());
        if self.stage == Stage::Over {
            return Err(Lost::Gone);
        }
        let waker = self.waker.clone();
        let driven = self.drive(true, &mut Context::from_waker(&waker));
        if driven.is_ready() || self.inner().is_ok_and(|inner| inner.ledger.has_arrived()) {
            self.wakers.wake_half(Half::Stream);
        }
        match driven {
            Poll::Ready(lost) => Err(lost),
            Poll::Pending if self.is_mute => Err(Lost::Gone),
            Poll::Pending => Ok(()),
        }
    }

    /// Whether the session has taken what the sink was given.
    fn is_taken(&mut self) -> Result<bool, Lost<E>> {
        let Some(message) = self.unsent.take() else {
            return Ok(true);
        };
        match self.session.push(message, Some(&self.waker)) {
            Ok(()) => Ok(true),
            Err(Refused::Full(message)) => {
                self.unsent = Some(message);
                Ok(false)
            }
            Err(refused) => Err(Lost::Refused(refused)),
        }
    }

    /// Gives the session what the sink was given, and the wire what the session has.
    fn poll_taken(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Lost<E>>> {
        loop {
            let is_taken = self.is_taken()?;
            if let Err(lost) = self.drive_to_send(context) {
                return Poll::Ready(Err(self.given_back().unwrap_or(lost)));
            }
            if is_taken {
                return Poll::Ready(Ok(()));
            }
            // What has come may have made room.
            if !self.is_taken()? {
                return Poll::Pending;
            }
        }
    }

    /// What the session has not taken, where this connection takes it no more.
    fn given_back(&mut self) -> Option<Lost<E>> {
        let message = self.unsent.take()?;
        let refused = self.session.try_send(message).err()?;
        Some(Lost::Refused(Refused::Closed(refused.into_message())))
    }

    /// Confirms what has come, since nothing is said behind a Close.
    fn confirm_last(&mut self) {
        let owed = match self.inner() {
            Ok(mut inner) if inner.ledger.owes() => inner.ledger.confirm(),
            _ => return,
        };
        let _ = Pin::new(&mut self.wire).start_send(owed);
    }

    fn is_flushed(&self) -> bool {
        !self.is_unflushed && self.inner().is_ok_and(|inner| inner.ledger.is_given())
    }
}

impl<S, E> Stream for SessionSocket<S>
where
    S: Stream<Item = Result<Message, E>> + Sink<Message, Error = E> + Unpin,
{
    type Item = Result<Message, Lost<E>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        this.wakers.set(Half::Stream, context.waker());
        if this.stage == Stage::Over {
            return Poll::Ready(None);
        }
        let waker = this.waker.clone();
        match this.drive(false, &mut Context::from_waker(&waker)) {
            // A close, or an end: nothing has gone wrong.
            Poll::Ready(Lost::Gone) => return Poll::Ready(None),
            Poll::Ready(lost) => return Poll::Ready(Some(Err(lost))),
            Poll::Pending => (),
        }
        if this.is_flushed() {
            this.wakers.wake_half(Half::Sink);
        }
        let now = this.now();
        let given = this
            .inner()
            .ok()
            .and_then(|mut inner| inner.ledger.hand_over(now));
        given.map_or(Poll::Pending, |message| {
            this.session.shared.given(cost(&message));
            Poll::Ready(Some(Ok(message)))
        })
    }
}

impl<S, E> FusedStream for SessionSocket<S>
where
    S: Stream<Item = Result<Message, E>> + Sink<Message, Error = E> + Unpin,
{
    fn is_terminated(&self) -> bool {
        self.stage == Stage::Over
    }
}

impl<S, E> Sink<Message> for SessionSocket<S>
where
    S: Stream<Item = Result<Message, E>> + Sink<Message, Error = E> + Unpin,
{
    type Error = Lost<E>;

    fn poll_ready(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Lost<E>>> {
        if self.unsent.is_none() && self.stage != Stage::Over {
            return Poll::Ready(Ok(()));
        }
        self.poll_taken(context)
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Lost<E>> {
        if !message.is_text() && !message.is_binary() {
            self.is_unflushed = true;
            if message.is_close() {
                self.confirm_last();
            }
            return Pin::new(&mut self.wire)
                .start_send(message)
                .map_err(Lost::Wire);
        }
        match self.session.try_send(message) {
            Err(Refused::Full(message)) => self.unsent = Some(message),
            taken => taken.map_err(Lost::Refused)?,
        }
        Ok(())
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Lost<E>>> {
        ready!(self.poll_taken(context))?;
        if self.is_flushed() {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }

    /// Closes the connection; the session waits for another. A message that was fed and for which there was no room comes back as
    /// [`Lost::Refused`], when the connection is closed.
    fn poll_close(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Lost<E>>> {
        if self.stage != Stage::Over {
            self.confirm_last();
            self.leave();
        }
        let closed = ready!(Pin::new(&mut self.wire).poll_close(context));
        let given_back = self.given_back();
        Poll::Ready(given_back.map_or(closed.map_err(Lost::Wire), Err))
    }
}

impl<S> Drop for SessionSocket<S> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<S> fmt::Debug for SessionSocket<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionSocket")
            .field("session", &self.session)
            .field("began", &self.began)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
