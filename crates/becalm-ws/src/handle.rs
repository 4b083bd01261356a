//! How does the rest of a program talk to a socket that a task owns?

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use crate::outbox::Outbox;
use crate::wakers::{Half, Poller};
use crate::{Overflow, Refused};

/// Where a socket stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// It dials.
    Connecting,
    /// It has a connection.
    Open,
    /// It waits before it dials again.
    Waiting,
    /// It does not dial: there is no network.
    Offline,
    /// It does not dial by itself any more.
    GaveUp,
    /// It was closed, or its socket is gone.
    Closed,
}

/// A socket from elsewhere: another task, another thread. It outlives connections; clones are one handle.
#[derive(Debug, Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// Notified when there is room in the outbox.
    room: Notify,
    /// By the wire or a timer, since it was asked last.
    was_woken: AtomicBool,
    /// A handle, or the other half, has left something to do since somebody looked last.
    was_asked: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub outbox: Outbox,
    pub orders: Vec<Order>,
    pub state: State,
    /// The tasks that poll the socket as a stream and as a sink: two, where it is split.
    reader: Poller,
    writer: Poller,
    /// Somebody may wait for room in the outbox.
    was_full: bool,
}

/// What one who drives a socket finds.
pub(crate) struct Look {
    pub orders: Vec<Order>,
    pub dropped: Vec<Message>,
    /// There are messages to be sent.
    pub has_waiting: bool,
    /// Dropped without the lock: it may run anything.
    _old: Option<Waker>,
}

impl Look {
    /// Nothing is to be done.
    pub fn is_quiet(&self) -> bool {
        self.orders.is_empty() && self.dropped.is_empty() && !self.has_waiting
    }
}

/// What is asked of a socket.
#[derive(Debug)]
pub(crate) enum Order {
    Close(Option<CloseFrame>),
    DialNow,
    Online,
    Offline,
    NetworkChanged,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Puts a message into the outbox, and waits for room if the outbox is set so. Taken is not sent, and sent is not received: without a
    /// [session](crate::Client::resume) what a connection has written may be lost with it, and nothing tells.
    ///
    /// # Errors
    ///
    /// The message was not taken, and comes back.
    pub async fn send(&self, message: impl Into<Message>) -> Result<(), Refused> {
        let mut message = message.into();
        loop {
            let room = self.shared.room.notified();
            let mut room = std::pin::pin!(room);
            room.as_mut().enable();
            match self.try_send(message) {
                Err(Refused::Full(back)) if self.waits_when_full() => message = back,
                ended => return ended,
            }
            room.await;
        }
    }

    /// Puts a message into the outbox, and waits for nothing.
    ///
    /// # Errors
    ///
    /// The message was not taken, and comes back.
    pub fn try_send(&self, message: impl Into<Message>) -> Result<(), Refused> {
        self.shared.push(message.into())
    }

    /// Closes the socket with this frame: what the outbox holds is sent first, if there is a connection. Its stream
    /// ends.
    pub fn close(&self, frame: Option<CloseFrame>) {
        self.shared.order(Order::Close(frame));
    }

    /// Dials at once, for a person who presses a button: after it gave up, or in place of a wait.
    pub fn dial_now(&self) {
        self.shared.order(Order::DialNow);
    }

    /// Says that there is no network: no dial begins.
    pub fn offline(&self) {
        self.shared.order(Order::Offline);
    }

    /// Says that there is a network again: a wait ends soon.
    pub fn online(&self) {
        self.shared.order(Order::Online);
    }

    /// Says that the network has changed, or the machine has slept: a wait ends soon, and an open connection is asked whether it
    /// is alive.
    pub fn network_changed(&self) {
        self.shared.order(Order::NetworkChanged);
    }

    /// Where the socket stands.
    pub fn state(&self) -> State {
        self.shared.lock().state
    }

    /// How many bytes wait to be sent.
    pub fn waiting_bytes(&self) -> usize {
        self.shared.lock().outbox.bytes()
    }

    fn waits_when_full(&self) -> bool {
        self.shared.lock().outbox.waits_when_full()
    }
}

impl Shared {
    pub fn new(bound: usize, longest: usize, overflow: Overflow) -> Self {
        Self {
            inner: Mutex::new(Inner {
                outbox: Outbox::new(bound, longest, overflow),
                orders: Vec::new(),
                state: State::Connecting,
                reader: Poller::default(),
                writer: Poller::default(),
                was_full: false,
            }),
            room: Notify::new(),
            was_woken: AtomicBool::new(true),
            was_asked: AtomicBool::new(true),
        }
    }

    /// Takes a message, and wakes who sends it.
    pub fn push(&self, message: Message) -> Result<(), Refused> {
        self.put(message)?;
        self.wake_all();
        Ok(())
    }

    /// Takes a message, which is sent when the socket is polled next; those that it has driven out are told by the
    /// socket.
    pub fn put(&self, message: Message) -> Result<(), Refused> {
        let mut inner = self.lock();
        if inner.state == State::Closed {
            return Err(Refused::Closed(message));
        }
        self.was_asked.store(true, Ordering::Release);
        let pushed = inner.outbox.push(message);
        inner.was_full |= matches!(pushed, Err(Refused::Full(_)));
        pushed
    }

    fn order(&self, order: Order) {
        let mut inner = self.lock();
        self.was_asked.store(true, Ordering::Release);
        inner.orders.push(order);
        drop(inner);
        self.wake_all();
    }

    /// From here on this task is woken when there is something for its half. What the handles have asked for.
    pub fn look(&self, side: Half, waker: &Waker) -> Look {
        let mut inner = self.lock();
        let half = match side {
            Half::Stream => &mut inner.reader,
            Half::Sink => &mut inner.writer,
        };
        let old = half.wait(waker);
        // What waits for room goes before all that is sent after it.
        let is_asked = inner.outbox.beyond.is_some();
        self.was_asked.store(is_asked, Ordering::Release);
        Look {
            orders: mem::take(&mut inner.orders),
            dropped: mem::take(&mut inner.outbox.dropped),
            has_waiting: !inner.outbox.is_empty(),
            _old: old,
        }
    }

    /// Whether the wire or a timer has woken it since it was asked last.
    pub fn was_woken(&self) -> bool {
        self.was_woken.swap(false, Ordering::AcqRel)
    }

    /// Whether something is left to do that no look has seen.
    pub fn is_asked(&self) -> bool {
        self.was_asked.load(Ordering::Acquire)
    }

    pub fn is_woken(&self) -> bool {
        self.was_woken.load(Ordering::Acquire)
    }

    /// What is left for the sink: how many bytes wait, and whether they do so for nothing, since it gave up. Where
    /// all is done it waits no longer.
    pub fn left(&self, is_flushed: bool) -> (usize, bool) {
        let mut inner = self.lock();
        let left = inner.outbox.bytes();
        inner.writer.is_waiting &= !is_flushed || left > 0;
        (left, inner.state == State::GaveUp)
    }

    /// The oldest message, and whether it is the last one.
    pub fn pop(&self) -> Option<(Message, bool)> {
        let mut inner = self.lock();
        let message = inner.outbox.pop()?;
        Some((message, inner.outbox.is_empty()))
    }

    /// There is room in the outbox.
    pub fn has_room(&self) {
        if mem::take(&mut self.lock().was_full) {
            self.room.notify_waiters();
            self.wake_sink();
        }
    }

    /// Nothing is taken any more.
    pub fn is_over(&self) {
        self.room.notify_waiters();
        self.wake_all();
    }

    pub fn wake_all(&self) {
        let (reader, writer) = {
            let mut inner = self.lock();
            (inner.reader.take(), inner.writer.take())
        };
        reader.into_iter().chain(writer).for_each(Waker::wake);
    }

    pub fn wake_stream(&self) {
        let task = self.lock().reader.take();
        task.into_iter().for_each(Waker::wake);
    }

    pub fn wake_sink(&self) {
        let task = self.lock().writer.take();
        task.into_iter().for_each(Waker::wake);
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the wire and the timers wake, whichever half of a split socket has polled them.
impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Who was woken before looks after this, and before anybody waits.
        if !self.was_woken.swap(true, Ordering::AcqRel) {
            self.wake_all();
        }
    }
}
