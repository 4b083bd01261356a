//! What does a socket do when it is polled? It dials, reads, writes and waits, whichever is next.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use becalm::Failure;
use becalm::policy::InvalidPolicy;
use becalm::reconnect::{Dial, DialId, Next, Reconnector};
use becalm::time::{Instant, Sleep};
use futures_core::{FusedStream, Stream};
use futures_sink::Sink;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use crate::client::Settings;
use crate::dial::dialled;
use crate::handle::{Look, Order, Shared, Side};
use crate::open::{Came, Open, Wire};
use crate::session::Resuming;
use crate::{Dialling, Ended, Event, GaveUp, Handle, Refused, State};

/// A WebSocket that outlives its connections.
///
/// As a `Stream` it gives the texts and binaries that come; pings and pongs are its own. It ends when it is
/// [closed](Handle::close). An error says that it [gave up](GaveUp); after that it waits for [`Handle::dial_now`].
///
/// As a `Sink` it puts messages into the outbox; a flush is over when the connection has taken all of them, and waits for a
/// connection where there is none, unless it gave up: its stream says so. [`Handle::send`] only puts them there.
pub struct WebSocket(Box<Socket>);

/// On the heap: who holds a socket, and hands it on, holds and moves one word.
struct Socket {
    client: Arc<Settings>,
    /// It hands tickets of admission on to the next dial.
    machine: Reconnector<String>,
    link: Link,
    shared: Arc<Shared>,
    /// Wakes both halves.
    waker: Waker,
    inbox: Option<Message>,
    /// What outlives connections, where sessions are kept.
    session: Option<Box<Resuming>>,
    timer: Option<Timer>,
    /// How the last connection ended.
    ended: Option<Ended>,
    login_was_refused: bool,
    /// What the dial that runs has shown.
    ticket: Option<String>,
    waits_until: Option<Instant>,
    /// What the sink could not put into a full outbox.
    unsent: Option<Message>,
    /// Until all that it was given has been written.
    sink_waits: bool,
    has_ended: bool,
}

struct Timer {
    at: Instant,
    sleep: Sleep,
    /// It was polled, and nothing has woken the socket since. (A runtime that puts a task off sets no timer and wakes it
    /// soon.)
    is_set: bool,
}

enum Link {
    None,
    Dialling(
        DialId,
        Pin<Box<dyn Future<Output = Result<Wire, Ended>> + Send>>,
    ),
    Open(Box<Open>),
}

impl WebSocket {
    pub(crate) fn new(client: Arc<Settings>) -> Result<Self, InvalidPolicy> {
        let plan = client.plan.as_ref().map_err(Clone::clone)?;
        let machine = Reconnector::of(plan, client.seed.stream(), client.sleeper.now());
        let (bound, overflow) = client.outbox;
        let longest = client.resume.map_or(usize::MAX, |resume| resume.longest());
        let shared = Arc::new(Shared::new(bound, longest, overflow));
        let session = client
            .resume
            .map(|resume| Box::new(Resuming::new(resume, &client.limits)));
        Ok(Self(Box::new(Socket {
            machine,
            client,
            link: Link::None,
            waker: Waker::from(Arc::clone(&shared)),
            shared,
            inbox: None,
            session,
            timer: None,
            ended: None,
            login_was_refused: false,
            ticket: None,
            waits_until: None,
            unsent: None,
            sink_waits: false,
            has_ended: false,
        })))
    }

    /// A handle on it, for other tasks.
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.0.shared))
    }
}

impl Socket {
    /// Does what can be done now. Ready when it gave up or is closed; otherwise there is a message in the inbox, or
    /// something will wake the task. For the sink a session reads ahead.
    fn drive(&mut self, side: Side, task: &Waker) -> Poll<Option<GaveUp>> {
        let look = self.shared.look(side, task);
        if side == Side::Stream && look.is_quiet() && self.is_asleep() {
            return Poll::Pending;
        }
        // In its place there is one that nobody polls with.
        let waker = mem::replace(&mut self.waker, Waker::noop().clone());
        let driven = self.drive_on(side, task, look, &mut Context::from_waker(&waker));
        self.waker = waker;
        driven
    }

    /// Whether wire and timer wake it, and have not.
    fn is_asleep(&self) -> bool {
        let is_set = |timer: &Timer| timer.is_set;
        self.session.is_none()
            && matches!(&self.link, Link::Open(open) if open.is_drained() && open.is_flushed())
            && self.timer.as_ref().is_some_and(is_set)
            && !self.shared.is_woken()
    }

    fn drive_on(
        &mut self,
        side: Side,
        task: &Waker,
        first: Look,
        context: &mut Context<'_>,
    ) -> Poll<Option<GaveUp>> {
        let is_for_sink = side == Side::Sink;
        let mut look = Some(first);
        loop {
            let now = self.client.sleeper.now();
            let look = look.take().unwrap_or_else(|| self.shared.look(side, task));
            let was_woken = self.shared.was_woken();
            if let (true, Some(timer)) = (was_woken, &mut self.timer) {
                timer.is_set = false;
            }
            let has_waiting = self.obey(look, now);
            let until = match &mut self.link {
                Link::Dialling(id, dial) => {
                    let id = *id;
                    match dial.as_mut().poll(context) {
                        Poll::Ready(Ok(wire)) => self.opened(id, wire, now),
                        Poll::Ready(Err(ended)) => self.lost(id, ended, now),
                        Poll::Pending => return Poll::Pending,
                    }
                    continue;
                }
                Link::Open(open) => {
                    let session = self.session.as_deref_mut();
                    let is_to_read = match &session {
                        None => self.inbox.is_none(),
                        Some(session) => session.reads(is_for_sink),
                    };
                    if was_woken {
                        open.wake();
                    }
                    let came = open.poll(
                        &self.client,
                        &self.shared,
                        session,
                        (has_waiting, is_to_read),
                        now,
                        context,
                    );
                    match came {
                        Came::Message(message) => {
                            self.machine.message(open.id);
                            let is_ahead = is_for_sink && message.is_none();
                            self.inbox = message;
                            if is_ahead {
                                continue;
                            }
                            return Poll::Pending;
                        }
                        Came::Ended(ended) => {
                            let id = open.id;
                            self.lost(id, ended, now);
                            continue;
                        }
                        Came::Nothing(until) => until,
                    }
                }
                Link::None => match self.machine.next(now) {
                    Next::Dial(dial) => {
                        self.begin(dial);
                        continue;
                    }
                    Next::Wait(until) => {
                        self.set_state(State::Waiting);
                        if self.waits_until.replace(until) != Some(until) {
                            self.client.tell(Event::Waits(until.since(now)));
                        }
                        until
                    }
                    Next::GaveUp(reason) => {
                        self.set_state(State::GaveUp);
                        return match self.ended.take() {
                            // Told once.
                            Some(ended) => Poll::Ready(Some(GaveUp { reason, ended })),
                            None => Poll::Pending,
                        };
                    }
                    Next::Closed => {
                        self.end();
                        return Poll::Ready(None);
                    }
                    // Without a connection it is not open, and without a dial it does not connect.
                    _ => {
                        self.set_state(State::Offline);
                        return Poll::Pending;
                    }
                },
            };
            if self.poll_timer(until, context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Does what the handles have asked for, and tells whether messages wait to be sent.
    fn obey(&mut self, look: Look, now: Instant) -> bool {
        for message in &look.dropped {
            self.client.tell(Event::Dropped(message));
        }
        for order in look.orders {
            match order {
                Order::Close(frame) => self.close(frame, now),
                Order::DialNow => self.machine.dial_now(now),
                Order::Online => self.machine.online(now),
                Order::Offline => self.machine.offline(),
                Order::NetworkChanged => {
                    self.machine.network_changed(now);
                    if let Link::Open(open) = &mut self.link {
                        open.probe(now);
                    }
                }
            }
        }
        look.has_waiting
    }

    fn close(&mut self, frame: Option<CloseFrame>, now: Instant) {
        self.machine.close();
        let until = now.after(self.client.close_patience);
        match &mut self.link {
            Link::Open(open) => {
                let session = self.session.as_deref_mut();
                open.close(frame, until, &self.client, &self.shared, session);
            }
            Link::Dialling(..) | Link::None => self.link = Link::None,
        }
        self.set_state(State::Closed);
        self.shared.is_over();
    }

    /// Nothing is sent any more: what waits is told of.
    fn end(&mut self) {
        if mem::replace(&mut self.has_ended, true) {
            return;
        }
        self.set_state(State::Closed);
        if let Some(session) = &mut self.session {
            let (unconfirmed, unsent) = session.take_kept();
            for message in &unconfirmed {
                self.client.tell(Event::Unconfirmed(message));
            }
            for message in &unsent {
                self.client.tell(Event::Dropped(message));
            }
        }
        for message in mem::take(&mut self.shared.lock().outbox.dropped) {
            self.client.tell(Event::Dropped(&message));
        }
        let left = |shared: &Shared| shared.lock().outbox.pop();
        while let Some(message) = left(&self.shared).or_else(|| self.unsent.take()) {
            self.client.tell(Event::Dropped(&message));
        }
        self.shared.is_over();
        self.client.tell(Event::Closed);
    }

    fn begin(&mut self, dial: Dial<String>) {
        self.set_state(State::Connecting);
        self.client.tell(Event::Dials(dial.number));
        let dialling = Dialling {
            number: dial.number,
            login_was_refused: self.login_was_refused,
            resumes: self.session.as_ref().and_then(|session| session.id()),
        };
        self.ticket.clone_from(&dial.handed);
        let dial_it = dialled(Arc::clone(&self.client), dialling, dial.handed);
        // It begins outside of every retry, whichever task polls it.
        self.link = Link::Dialling(dial.id, Box::pin(becalm::detached(dial_it)));
    }

    fn opened(&mut self, id: DialId, wire: Wire, now: Instant) {
        self.link = Link::None;
        if self.machine.opened(id, now) {
            self.login_was_refused = false;
            self.ticket = None;
            self.set_state(State::Open);
            self.client.tell(Event::Opened);
            if let Some(session) = &mut self.session {
                session.connected();
            }
            let open = Open::new(id, wire, &self.client, now);
            self.link = Link::Open(Box::new(open));
        }
    }

    fn lost(&mut self, id: DialId, ended: Ended, now: Instant) {
        self.link = Link::None;
        if let Some(session) = &mut self.session {
            session.disconnected();
        }
        let mut failure = ended.meaning(&*self.client.closing);
        // A dial that failed on its way has not used its own.
        let own = self.ticket.take();
        let ticket = ended.advice().and_then(|advice| advice.ticket);
        self.machine.advise(id, None, ticket.or(own));
        let wants_login = ended.wants_login();
        if wants_login && !self.login_was_refused {
            failure = Failure::transient().unsent();
        }
        self.login_was_refused = wants_login;
        self.client.tell(Event::Ended(&ended));
        self.machine.failed(id, now, &failure);
        self.ended = Some(ended);
    }

    fn set_state(&mut self, state: State) {
        self.shared.lock().state = state;
    }

    /// Whether the moment has come. A timer that is set too early is set again when it fires, so that a message that comes does not
    /// set one.
    fn poll_timer(&mut self, until: Instant, context: &mut Context<'_>) -> Poll<()> {
        let timer = match &mut self.timer {
            Some(timer) if timer.at <= until && timer.is_set => return Poll::Pending,
            Some(timer) if timer.at <= until => timer,
            timer => timer.insert(Timer {
                at: until,
                sleep: self.client.sleeper.sleep_until(until),
                is_set: false,
            }),
        };
        if timer.sleep.as_mut().poll(context).is_ready() {
            self.timer = None;
            return Poll::Ready(());
        }
        timer.is_set = true;
        Poll::Pending
    }
}

impl Stream for WebSocket {
    type Item = Result<Message, GaveUp>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Message, GaveUp>>> {
        let this = &mut *self.0;
        if !this.has_message() && !this.has_ended {
            if let Poll::Ready(Some(gave_up)) = this.drive(Side::Stream, context.waker()) {
                this.client.tell(Event::GaveUp(gave_up.reason));
                this.shared.wake_sink();
                return Poll::Ready(Some(Err(gave_up)));
            }
            if this.sink_waits && (this.is_flushed() || this.has_ended) {
                this.sink_waits = false;
                this.shared.wake_sink();
            }
        }
        match this.fetch() {
            Some(message) => Poll::Ready(Some(Ok(message))),
            None if this.has_ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl FusedStream for WebSocket {
    fn is_terminated(&self) -> bool {
        self.0.has_ended && !self.0.has_message()
    }
}

impl Socket {
    fn has_message(&self) -> bool {
        let session = self.session.as_ref();
        self.inbox.is_some() || session.is_some_and(|session| session.has_arrived())
    }

    /// What waits for the stream.
    fn fetch(&mut self) -> Option<Message> {
        let Some(session) = &mut self.session else {
            return self.inbox.take();
        };
        session.hand_over(self.client.sleeper.now())
    }

    /// Drives it for the sink: that it gave up is for the stream to say.
    fn drive_to_send(&mut self, context: &mut Context<'_>) {
        if self.has_ended {
            return;
        }
        let driven = self.drive(Side::Sink, context.waker());
        let is_for_stream = driven.is_ready() || self.has_message();
        if let Poll::Ready(Some(gave_up)) = driven {
            self.ended = Some(gave_up.ended);
        }
        if is_for_stream {
            self.shared.wake_stream();
        }
    }

    /// Whether a connection has taken all that it was given.
    fn is_flushed(&self) -> bool {
        let session = self.session.as_ref();
        matches!(&self.link, Link::Open(open) if open.is_flushed())
            && session.is_none_or(|session| session.is_given())
    }

    /// What the outbox could not take waits for nothing where it gave up.
    fn give_back(&mut self) -> Result<(), Refused> {
        self.unsent
            .take()
            .map_or(Ok(()), |message| Err(Refused::Full(message)))
    }

    /// Whether the outbox has taken what the sink was given.
    fn is_taken(&mut self) -> Result<bool, Refused> {
        let Some(message) = self.unsent.take() else {
            return Ok(true);
        };
        match self.shared.put(message) {
            Err(Refused::Full(message)) => {
                self.unsent = Some(message);
                Ok(false)
            }
            taken => taken.map(|()| true),
        }
    }
}

impl Sink<Message> for WebSocket {
    type Error = Refused;

    fn poll_ready(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        let this = &mut *self.0;
        while !this.is_taken()? {
            let before = this.shared.left(false).0;
            this.drive_to_send(context);
            let (left, gave_up) = this.shared.left(false);
            if gave_up {
                return Poll::Ready(this.give_back());
            }
            if left == before {
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Refused> {
        let this = &mut *self.0;
        match this.shared.put(message) {
            Err(Refused::Full(message)) if this.shared.lock().outbox.waits_when_full() => {
                this.unsent = Some(message);
                Ok(())
            }
            taken => taken,
        }
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        let this = &mut *self.0;
        loop {
            let is_taken = this.is_taken()?;
            let before = (!is_taken).then(|| this.shared.left(false).0);
            this.drive_to_send(context);
            let is_flushed = is_taken && this.is_flushed();
            let (left, gave_up) = this.shared.left(is_flushed);
            if this.has_ended || (is_flushed && left == 0) {
                return Poll::Ready(Ok(()));
            }
            if gave_up {
                return Poll::Ready(this.give_back());
            }
            if before.is_none_or(|before| before == left) {
                this.sink_waits = true;
                return Poll::Pending;
            }
        }
    }

    /// Closes it, as [`Handle::close`] does.
    fn poll_close(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Refused>> {
        let this = &mut *self.0;
        if this.shared.lock().state != State::Closed {
            Handle::new(Arc::clone(&this.shared)).close(None);
        }
        this.drive_to_send(context);
        // What comes on the way to the end nobody wants any more.
        while this.fetch().is_some() {
            this.drive_to_send(context);
        }
        if this.has_ended {
            return Poll::Ready(Ok(()));
        }
        Poll::Pending
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for WebSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.shared.lock().state;
        f.debug_struct("WebSocket")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
