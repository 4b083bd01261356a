//! Is the peer of a socket still there, whichever library the socket is of? It is asked, and who reads or sends hears of it.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use becalm::time::{Instant, Sleep, Sleeper, TokioSleeper};
use futures_core::{FusedStream, Stream};
use futures_sink::Sink;
use tokio::task::coop::has_budget_remaining;

use crate::Heartbeat;
use crate::heartbeat::{Beat, Pulse};
use crate::wakers::{Half, Wakers};

/// A WebSocket with a [heartbeat](Heartbeat): a `Stream` and a `Sink` as the one inside.
///
/// A peer that does not answer is [`Broken::Silent`]: once as a `Stream`, which ends then, and whenever something is sent. A task that
/// only sends hears of it, too: while a message waits to be taken by the peer, one message is read ahead, and a peer that has sent more than that
/// is silent when it has not taken all of what waits after `quiet` and `patience` together: raise them where messages are long and peers slow. It asks while it is read or something waits to be sent; nothing runs by itself.
///
/// The answers to its pings are not filtered out.
pub struct Watched<S, M, E> {
    wire: S,
    ping: fn() -> M,
    heart: Option<Heart>,
    wakers: Arc<Wakers>,
    /// Wakes both halves.
    waker: Waker,
    /// What has come while only the sink was polled.
    ahead: Option<Box<Option<Result<M, E>>>>,
    /// It has sent something of its own.
    is_unflushed: bool,
    is_silent: bool,
    /// The stream has said so.
    is_told: bool,
}

struct Heart {
    pulse: Pulse,
    /// Something has come since the pulse was looked at.
    is_heard: bool,
    /// Since when nothing is taken.
    blocked: Option<Instant>,
    timer: Option<(Instant, Sleep)>,
    /// It wakes the task. (A task that has used up its turn sets no timer, and is woken soon.)
    has_set: bool,
    sleeper: Arc<dyn Sleeper>,
}

/// Why a watched socket is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broken<E> {
    /// The socket has failed.
    Wire(E),
    /// Nothing came any more, not even an answer to a ping.
    Silent,
}

impl<E: fmt::Display> fmt::Display for Broken<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) => error.fmt(f),
            Self::Silent => f.write_str("nothing came any more, not even an answer to a ping"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Broken<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Wire(error) => error.source(),
            Self::Silent => None,
        }
    }
}

impl Heartbeat {
    /// Watches a socket of any library: a stream and a sink of its messages, whose sink buffers a ping when it is given one, as those on
    /// tungstenite do. Sockets of [`server`](crate::server) and of [`Client`](crate::Client) are watched already.
    ///
    /// ```
    /// use becalm_ws::{Heartbeat, Message};
    /// # fn of_a_session<S, E>(upgraded: S)
    /// # where S: futures_util::Stream<Item = Result<Message, E>> + futures_util::Sink<Message, Error = E> + Unpin {
    /// let socket = Heartbeat::default().watch(upgraded, || Message::Ping(Default::default()));
    /// # drop(socket);
    /// # }
    /// ```
    pub fn watch<S, M, E>(self, socket: S, ping: fn() -> M) -> Watched<S, M, E>
    where
        S: Stream<Item = Result<M, E>>,
    {
        Watched::new(socket, ping, Some(self), Arc::new(TokioSleeper::new()))
    }
}

impl<S, M, E> Watched<S, M, E> {
    pub(crate) fn new(
        wire: S,
        ping: fn() -> M,
        heartbeat: Option<Heartbeat>,
        sleeper: Arc<dyn Sleeper>,
    ) -> Self {
        let wakers = Arc::<Wakers>::default();
        Self {
            wire,
            ping,
            heart: heartbeat.map(|of| Heart {
                pulse: Pulse::new(of, sleeper.now()),
                is_heard: false,
                blocked: None,
                timer: None,
                has_set: false,
                sleeper,
            }),
            waker: Waker::from(Arc::clone(&wakers)),
            wakers,
            ahead: None,
            is_unflushed: false,
            is_silent: false,
            is_told: false,
        }
    }

    /// The socket inside.
    pub fn get_ref(&self) -> &S {
        &self.wire
    }

    /// The socket inside, for something else than messages.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.wire
    }

    /// The socket inside, unwatched, without what was read ahead for a sink that waited.
    pub fn into_inner(self) -> S {
        self.wire
    }

    fn falls_silent(&mut self) {
        self.is_silent = true;
        self.wakers.wake_all();
    }
}

impl<S, M, E> Watched<S, M, E>
where
    S: Stream<Item = Result<M, E>> + Sink<M, Error = E> + Unpin,
{
    /// Sends this beside what its halves send.
    pub(crate) fn interject(&mut self, message: M) {
        // What fails here fails again when it is read.
        let _ = Pin::new(&mut self.wire).start_send(message);
        self.is_unflushed = true;
        self.flush();
    }

    fn flush(&mut self) {
        if self.is_unflushed {
            let context = &mut Context::from_waker(&self.waker);
            self.is_unflushed = Pin::new(&mut self.wire).poll_flush(context).is_pending();
        }
    }

    /// Everything that has come was read. Ready when it is silent.
    fn beat(&mut self) -> Poll<()> {
        while let Some(heart) = &mut self.heart {
            let now = heart.sleeper.now();
            let was_heard = mem::take(&mut heart.is_heard);
            if was_heard {
                heart.pulse.heard(now);
            }
            match heart.pulse.beat(now) {
                // It was what came that woke the socket, and not the timer.
                Beat::Wait(at) if was_heard && heart.is_set(now, at) => return Poll::Pending,
                Beat::Wait(at) => ready!(heart.poll_timer(at, &self.waker)),
                Beat::Ping => self.interject((self.ping)()),
                Beat::Dead => {
                    self.falls_silent();
                    return Poll::Ready(());
                }
            }
        }
        Poll::Pending
    }

    /// Nothing is taken now. Ready when it is silent.
    fn wait_to_send(&mut self) -> Poll<()> {
        let Some(heart) = &mut self.heart else {
            return Poll::Pending;
        };
        let now = heart.sleeper.now();
        let blocked = *heart.blocked.get_or_insert(now);
        if self.ahead.is_none() {
            let context = &mut Context::from_waker(&self.waker);
            let Poll::Ready(came) = Pin::new(&mut self.wire).poll_next(context) else {
                return self.beat();
            };
            self.ahead = Some(Box::new(came));
            heart.is_heard = true;
            heart.blocked = Some(now);
            self.wakers.wake_half(Half::Stream);
            return self.wait_to_send();
        }
        let until = blocked.after(heart.pulse.limit());
        while heart.sleeper.now() < until {
            ready!(heart.poll_timer(until, &self.waker));
        }
        self.falls_silent();
        Poll::Ready(())
    }

    fn poll_sink(
        &mut self,
        context: &mut Context<'_>,
        step: impl Fn(Pin<&mut S>, &mut Context<'_>) -> Poll<Result<(), E>>,
    ) -> Poll<Result<(), Broken<E>>> {
        if self.is_silent {
            return Poll::Ready(Err(Broken::Silent));
        }
        let both = &mut Context::from_waker(&self.waker);
        let mut done = step(Pin::new(&mut self.wire), both);
        if done.is_pending() {
            self.wakers.set(Half::Sink, context.waker());
            // It may have woken before anybody waited.
            done = step(Pin::new(&mut self.wire), both);
        }
        match done {
            Poll::Ready(done) => {
                if let Some(heart) = &mut self.heart {
                    heart.blocked = None;
                }
                Poll::Ready(done.map_err(Broken::Wire))
            }
            Poll::Pending => self.wait_to_send().map(|()| Err(Broken::Silent)),
        }
    }
}

impl Heart {
    /// Whether there is a timer that will wake the task by then.
    fn is_set(&self, now: Instant, until: Instant) -> bool {
        let at = self.timer.as_ref().map(|(at, _)| *at);
        self.has_set && at.is_some_and(|at| now < at && at <= until)
    }

    /// A timer that is set too early is set again when it fires, so that a message that comes does not set one.
    fn poll_timer(&mut self, until: Instant, waker: &Waker) -> Poll<()> {
        let timer = match &mut self.timer {
            Some(timer) if timer.0 <= until => timer,
            timer => timer.insert((until, self.sleeper.sleep_until(until))),
        };
        let fired = timer.1.as_mut().poll(&mut Context::from_waker(waker));
        self.has_set = has_budget_remaining();
        ready!(fired);
        self.timer = None;
        Poll::Ready(())
    }
}

impl<S, M, E> Stream for Watched<S, M, E>
where
    S: Stream<Item = Result<M, E>> + Sink<M, Error = E> + Unpin,
{
    type Item = Result<M, Broken<E>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        this.wakers.begin();
        let read = match this.ahead.take() {
            Some(ahead) => Poll::Ready(*ahead),
            None if this.is_silent => Poll::Pending,
            None => {
                this.flush();
                Pin::new(&mut this.wire).poll_next(context)
            }
        };
        if let Poll::Ready(came) = read {
            if let Some(heart) = &mut this.heart {
                heart.is_heard = true;
            }
            return Poll::Ready(came.map(|came| came.map_err(Broken::Wire)));
        }
        if !this.is_silent && this.beat().is_pending() {
            this.wakers.wait_for_stream(context.waker());
            return Poll::Pending;
        }
        let is_told = mem::replace(&mut this.is_told, true);
        Poll::Ready((!is_told).then_some(Err(Broken::Silent)))
    }
}

impl<S, M, E> FusedStream for Watched<S, M, E>
where
    S: FusedStream<Item = Result<M, E>> + Sink<M, Error = E> + Unpin,
{
    fn is_terminated(&self) -> bool {
        self.is_told || (self.ahead.is_none() && self.wire.is_terminated())
    }
}

impl<S, M, E> Sink<M> for Watched<S, M, E>
where
    S: Stream<Item = Result<M, E>> + Sink<M, Error = E> + Unpin,
{
    type Error = Broken<E>;

    fn poll_ready(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Broken<E>>> {
        self.poll_sink(context, S::poll_ready)
    }

    fn start_send(mut self: Pin<&mut Self>, message: M) -> Result<(), Broken<E>> {
        if self.is_silent {
            return Err(Broken::Silent);
        }
        Pin::new(&mut self.wire)
            .start_send(message)
            .map_err(Broken::Wire)
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Broken<E>>> {
        self.poll_sink(context, S::poll_flush)
    }

    fn poll_close(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Broken<E>>> {
        self.poll_sink(context, S::poll_close)
    }
}

impl<S: fmt::Debug, M, E> fmt::Debug for Watched<S, M, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("wire", &self.wire)
            .field("is_silent", &self.is_silent)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
