//! What does a socket do when it is polled? It dials, reads, writes and waits, whichever is next.

mod halves;

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use becalm::Failure;
use becalm::policy::InvalidPolicy;
use becalm::reconnect::{Dial, DialId, Next, Reconnector};
use becalm::time::{Instant, Sleep};
use tokio::task::coop::has_budget_remaining;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use crate::carried::is_data;
use crate::dial::{NotDialled, dialled};
use crate::handle::{Look, Order, Shared};
use crate::open::{Came, Open, Wire};
use crate::session::Resuming;
use crate::settings::Settings;
use crate::teller::Teller;
use crate::trust::Trust;
use crate::wakers::Half;
use crate::{Dialling, Ended, Event, GaveUp, State};

/// What both halves of a [`WebSocket`](crate::WebSocket) share.
pub(crate) struct Socket {
    pub client: Teller,
    /// It hands tickets of admission on to the next dial.
    pub machine: Reconnector<String>,
    pub link: Link,
    pub shared: Arc<Shared>,
    /// Wakes both halves.
    pub waker: Option<Waker>,
    inbox: Option<Message>,
    /// What outlives connections, where sessions are kept.
    pub session: Option<Box<Resuming>>,
    pub timer: Option<Timer>,
    /// How the last connection ended.
    ended: Option<Ended>,
    login_was_refused: bool,
    trust: Trust,
    /// What the dial that runs has shown.
    ticket: Option<String>,
    waits_until: Option<Instant>,
    /// Until all that it was given has been written.
    pub sink_waits: bool,
    pub has_ended: bool,
}

pub(crate) struct Timer {
    pub at: Instant,
    sleep: Sleep,
    /// It will wake the socket. (A task that has used up its turn sets no timer, and is woken soon.)
    pub is_set: bool,
}

pub(crate) enum Link {
    None,
    Dialling(
        DialId,
        Pin<Box<dyn Future<Output = Result<Wire, NotDialled>> + Send>>,
    ),
    Open(Box<Open>),
}

/// What follows a step of a socket.
enum Step {
    /// Another step.
    Again,
    /// Nothing before this moment.
    Until(Instant),
    /// Its caller is told.
    Return(Poll<Option<GaveUp>>),
}

impl Socket {
    pub fn new(client: Arc<Settings>) -> Result<Self, InvalidPolicy> {
        let plan = client.plan.as_ref().map_err(Clone::clone)?;
        let machine = Reconnector::of(plan, client.seed.stream(), client.sleeper.now());
        let (bound, overflow) = client.outbox;
        let longest = client.resume.map_or(usize::MAX, |resume| resume.longest());
        let shared = Arc::new(Shared::new(bound, longest, overflow));
        let session = client
            .resume
            .map(|resume| Box::new(Resuming::new(resume, &client.limits)));
        Ok(Self {
            machine,
            client: Teller::new(client),
            link: Link::None,
            waker: Some(Waker::from(Arc::clone(&shared))),
            shared,
            inbox: None,
            session,
            timer: None,
            ended: None,
            login_was_refused: false,
            trust: Trust::Untried,
            ticket: None,
            waits_until: None,
            sink_waits: false,
            has_ended: false,
        })
    }

    /// Does what can be done now. Ready when it gave up or is closed; otherwise there is a message in the inbox, or
    /// something will wake the task. For the sink a session reads ahead.
    pub fn drive(&mut self, side: Half, task: &Waker) -> Poll<Option<GaveUp>> {
        let look = self.shared.look(side, task);
        if side == Half::Stream && look.is_quiet() && self.is_asleep() {
            return Poll::Pending;
        }
        // Taken, so that the rest can be borrowed. It is gone after a hook of the application has panicked.
        let waker = self.waker.take();
        let waker = waker.unwrap_or_else(|| Waker::from(Arc::clone(&self.shared)));
        let driven = self.drive_on(side, task, look, &mut Context::from_waker(&waker));
        self.waker = Some(waker);
        if self.client.has_panicked() {
            self.goes_on(driven);
            return Poll::Pending;
        }
        driven
    }

    /// A panic of an observer or a hook goes on. What the socket came to is told when it is polled next.
    #[cold]
    fn goes_on(&mut self, driven: Poll<Option<GaveUp>>) {
        if let Poll::Ready(Some(gave_up)) = driven {
            self.ended = Some(gave_up.ended);
        }
        self.client.go_on();
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
        side: Half,
        task: &Waker,
        first: Look,
        context: &mut Context<'_>,
    ) -> Poll<Option<GaveUp>> {
        let mut look = Some(first);
        loop {
            let now = self.client.sleeper.now();
            let look = look.take().unwrap_or_else(|| self.shared.look(side, task));
            let was_woken = self.shared.was_woken();
            if let (true, Some(timer)) = (was_woken, &mut self.timer) {
                timer.is_set = false;
            }
            let has_waiting = self.obey(look, now);
            let holds_rest = self.holds_rest();
            let step = match &mut self.link {
                Link::Dialling(id, dial) => {
                    let id = *id;
                    match dial.as_mut().poll(context) {
                        Poll::Ready(Ok(wire)) => self.opened(id, wire, now),
                        Poll::Ready(Err((ended, may_renew))) => {
                            let renews = may_renew && !self.login_was_refused;
                            self.lost_unless(renews, id, ended, now);
                        }
                        Poll::Pending => return Poll::Pending,
                    }
                    Step::Again
                }
                Link::Open(open) => {
                    if was_woken {
                        open.wake();
                    }
                    self.use_connection(side, has_waiting, now, context)
                }
                // The stream gives it before another session can begin.
                Link::None if holds_rest => {
                    let state = &mut self.shared.lock().state;
                    if *state == State::Open {
                        *state = State::Waiting;
                    }
                    return Poll::Pending;
                }
                Link::None => self.wait_or_dial(now),
            };
            match step {
                Step::Again => (),
                Step::Until(until) if self.poll_timer(until, context).is_ready() => (),
                Step::Until(_) => return Poll::Pending,
                Step::Return(driven) => return driven,
            }
        }
    }

    /// Reads and writes on the connection that is open.
    fn use_connection(
        &mut self,
        side: Half,
        has_waiting: bool,
        now: Instant,
        context: &mut Context<'_>,
    ) -> Step {
        let Link::Open(open) = &mut self.link else {
            return Step::Again;
        };
        let is_for_sink = side == Half::Sink;
        let session = self.session.as_deref_mut();
        let is_to_read = match &session {
            None => self.inbox.is_none(),
            Some(session) => session.reads(is_for_sink),
        };
        let came = open.poll(
            &mut self.client,
            &self.shared,
            session,
            (has_waiting, is_to_read),
            now,
            context,
        );
        match came {
            Came::Message(message) => {
                self.machine.message(open.id);
                self.inbox = message;
                if is_for_sink {
                    // What it has sent is to be flushed still.
                    return Step::Again;
                }
                Step::Return(Poll::Pending)
            }
            Came::Ended(ended) => {
                let id = open.id;
                self.lost(id, ended, now);
                Step::Again
            }
            Came::Nothing(until) => Step::Until(until),
        }
    }

    /// Without a connection: asks the machine what is next.
    fn wait_or_dial(&mut self, now: Instant) -> Step {
        match self.machine.next(now) {
            Next::Dial(dial) => {
                self.begin(dial);
                Step::Again
            }
            Next::Wait(until) => {
                self.set_state(State::Waiting);
                if self.waits_until.replace(until) != Some(until) {
                    self.client.tell(Event::Waits(until.since(now)));
                }
                Step::Until(until)
            }
            Next::GaveUp(reason) => {
                self.set_state(State::GaveUp);
                Step::Return(match self.ended.take() {
                    // Told once.
                    Some(ended) => Poll::Ready(Some(GaveUp { reason, ended })),
                    None => Poll::Pending,
                })
            }
            Next::Closed => {
                self.end();
                Step::Return(Poll::Ready(None))
            }
            // Without a connection it is not open, and without a dial it does not connect.
            _ => {
                self.set_state(State::Offline);
                Step::Return(Poll::Pending)
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
                open.close(frame, until, &mut self.client, &self.shared, session);
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
        let link = mem::replace(&mut self.link, Link::None);
        self.tell_unwritten(link);
        if let Some(session) = &mut self.session {
            let (unconfirmed, unsent) = session.take_kept();
            for message in &unconfirmed {
                self.client.tell(Event::Unconfirmed(message));
            }
            for message in &unsent {
                self.client.tell(Event::Dropped(message));
            }
        }
        let (dropped, left) = {
            let outbox = &mut self.shared.lock().outbox;
            (mem::take(&mut outbox.dropped), outbox.take_all())
        };
        for message in dropped.iter().chain(&left) {
            self.client.tell(Event::Dropped(message));
        }
        self.shared.is_over();
        self.client.tell(Event::Closed);
    }

    fn begin(&mut self, dial: Dial<String>) {
        self.set_state(State::Connecting);
        self.client.tell(Event::Dials(dial.number));
        let dialling = Dialling {
            number: dial.number,
            login_was_refused: false,
            resumes: self.session.as_ref().and_then(|session| session.id()),
        };
        self.ticket.clone_from(&dial.handed);
        let dial_it = dialled(Arc::clone(self.client.settings()), dialling, dial.handed);
        // It begins outside of every retry, whichever task polls it.
        self.link = Link::Dialling(dial.id, Box::pin(becalm::detached(dial_it)));
    }

    fn opened(&mut self, id: DialId, wire: Wire, now: Instant) {
        self.link = Link::None;
        if self.machine.opened(id, now) {
            self.login_was_refused = false;
            self.trust = Trust::Worked;
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

    pub fn lost(&mut self, id: DialId, ended: Ended, now: Instant) {
        self.lost_unless(false, id, ended, now);
    }

    /// It is dialled again in any case if the login is renewed.
    fn lost_unless(&mut self, renews: bool, id: DialId, ended: Ended, now: Instant) {
        if ended.is_doubtful() {
            self.trust.doubt(now);
        }
        let worked_before = self.trust.lasts(self.client.restart_patience, now);
        let (closing, answering) = (&*self.client.closing, &*self.client.answering);
        let mut failure = ended.meaning(closing, answering, worked_before);
        // The hooks have answered: one that panics takes no connection out of its place.
        let link = mem::replace(&mut self.link, Link::None);
        if let Some(session) = &mut self.session {
            session.disconnected();
        }
        // A dial that failed on its way has not used its own.
        let own = self.ticket.take();
        let ticket = ended.advice().and_then(|advice| advice.ticket);
        self.machine.advise(id, None, ticket.or(own));
        self.login_was_refused = ended.wants_login();
        if renews {
            failure = Failure::transient().unsent();
        }
        self.client.tell(Event::Ended(&ended));
        self.tell_unwritten(link);
        self.machine.failed(id, now, &failure);
        self.ended = Some(ended);
    }

    /// What a connection that is over has not written, or may not have, is told of.
    fn tell_unwritten(&mut self, link: Link) {
        let Link::Open(mut open) = link else {
            return;
        };
        for message in open.take_unflushed() {
            self.client.tell(Event::Unconfirmed(&message));
        }
        for message in open.take_last() {
            match &mut self.session {
                // It tells of all that it keeps.
                Some(session) => session.was_not_sent(&message),
                None if is_data(&message) => self.client.tell(Event::Dropped(&message)),
                None => (),
            }
        }
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
        timer.is_set = has_budget_remaining();
        Poll::Pending
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.end();
        if !std::thread::panicking() {
            self.client.go_on();
        }
    }
}
