//! Who is here, and how do they leave when the server does? Each at a moment of its own, told when to come back.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use becalm::time::Instant;
use slab::Slab;
use tokio::sync::watch;

/// How a server is drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drain {
    /// How many connections are closed in a second, from 1: as many as those who take them on can admit, this server's
    /// successor or its peers.
    pub rate: u32,
    /// The time between [`is_ready`](super::Server::is_ready) turning false and the end of accepting: how long a load balancer takes to
    /// notice. Default none.
    pub notice: Duration,
    /// How long all of it may take. Connections whose turn would come later are closed 2 s before its end, told to come back
    /// at their turn; what does not close in time is cut. Default 60 s.
    pub deadline: Duration,
}

impl Drain {
    /// Closes so many in a second, with the defaults.
    pub const fn per_second(rate: u32) -> Self {
        Self {
            rate,
            notice: Duration::ZERO,
            deadline: Duration::from_secs(60),
        }
    }

    /// Sets the time for load balancers to notice.
    #[must_use]
    pub const fn notice(mut self, notice: Duration) -> Self {
        self.notice = notice;
        self
    }

    /// Sets how long all of it may take.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }
}

/// How a drain has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Connections that were there, or came while it went on, and have ended.
    pub ended: u64,
    /// Connections that were there still at the deadline.
    pub left: usize,
}

/// How long a close may take: its frame is flushed, and the peer's comes back.
const CLOSE: Duration = Duration::from_secs(2);

/// When connections leave, from the begin of a drain on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    begins: Instant,
    gap: Duration,
    pub ends: Instant,
}

impl Plan {
    fn new(drain: Drain, begins: Instant, ends: Instant) -> Self {
        Self {
            begins,
            gap: Duration::from_secs(1) / drain.rate.max(1),
            ends,
        }
    }

    /// When the connection of this number is closed, and how long it is to wait then before it comes back.
    pub fn turn(&self, number: u64) -> (Instant, Duration) {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let turn = self.begins.after(self.gap.saturating_mul(number));
        let length = self.ends.since(self.begins);
        let last = self
            .begins
            .after(length.saturating_sub(CLOSE.min(length / 2)));
        let closes = turn.min(last);
        (closes, turn.since(closes))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serves,
    /// It tells that it will stop.
    Leaves,
    Drains(Plan),
}

/// The connections of a server, as a count: each watches the phase by itself.
#[derive(Debug)]
pub(crate) struct Registry {
    phase: watch::Sender<Phase>,
    /// That it drains, for those who look at it with every message.
    drains: AtomicBool,
    /// Connections that are open.
    active: AtomicUsize,
    ended: AtomicU64,
    /// What may still become one: requests that are being decided or upgraded, and listeners that have some.
    coming: AtomicUsize,
    listeners: AtomicUsize,
    /// How many have been given a turn to leave.
    turns: AtomicU64,
    /// Who waits for everybody to have left.
    wakers: Mutex<Vec<Waker>>,
    /// Who is to hear of a drain.
    hearers: Mutex<Slab<Waker>>,
}

/// A task that is woken when a drain begins, until this is dropped.
#[derive(Debug)]
pub(crate) struct Hearer {
    registry: Arc<Registry>,
    number: usize,
    waker: Waker,
}

/// One of those that are counted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(Arc<Registry>, Kind);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Active,
    Coming,
    Listener,
}

impl Registry {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            phase: watch::Sender::new(Phase::Serves),
            drains: AtomicBool::new(false),
            active: AtomicUsize::new(0),
            ended: AtomicU64::new(0),
            coming: AtomicUsize::new(0),
            listeners: AtomicUsize::new(0),
            turns: AtomicU64::new(0),
            wakers: Mutex::default(),
            hearers: Mutex::default(),
        })
    }

    pub fn active(self: &Arc<Self>) -> Counted {
        self.count(Kind::Active)
    }

    pub fn coming(self: &Arc<Self>) -> Counted {
        self.count(Kind::Coming)
    }

    pub fn listener(self: &Arc<Self>) -> Counted {
        self.count(Kind::Listener)
    }

    pub fn how_many_active(&self) -> usize {
        self.active.load(Ordering::Acquire)
    }

    pub fn is_ready(&self) -> bool {
        *self.phase.borrow() == Phase::Serves
    }

    pub fn is_draining(&self) -> bool {
        self.drains.load(Ordering::Acquire)
    }

    /// Ready when the drain has begun.
    pub fn plan(&self) -> impl Future<Output = Plan> + Send + 'static {
        let mut phase = self.phase.subscribe();
        async move {
            loop {
                if let Phase::Drains(plan) = *phase.borrow_and_update() {
                    return plan;
                }
                if phase.changed().await.is_err() {
                    // The server is gone, and nobody drains it any more.
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    /// The plan, once it drains.
    pub fn drains(&self) -> Option<Plan> {
        match *self.phase.borrow() {
            Phase::Drains(plan) => Some(plan),
            Phase::Serves | Phase::Leaves => None,
        }
    }

    /// Wakes this task when a drain begins. Ask afterwards whether one has.
    pub fn hearer(self: &Arc<Self>, waker: &Waker) -> Hearer {
        Hearer {
            number: self.hearers().insert(waker.clone()),
            waker: waker.clone(),
            registry: Arc::clone(self),
        }
    }

    fn hearers(&self) -> MutexGuard<'_, Slab<Waker>> {
        self.hearers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn next_turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    pub fn leave(&self) {
        self.phase.send_if_modified(|phase| {
            let serves = *phase == Phase::Serves;
            if serves {
                *phase = Phase::Leaves;
            }
            serves
        });
    }

    /// Begins to drain, once: the plan, which is that of the first.
    pub fn drain(&self, drain: Drain, begins: Instant, ends: Instant) -> Plan {
        let mut plan = Plan::new(drain, begins, ends);
        let is_new = self.phase.send_if_modified(|phase| {
            if let Phase::Drains(first) = phase {
                plan = *first;
                return false;
            }
            *phase = Phase::Drains(plan);
            self.drains.store(true, Ordering::Release);
            true
        });
        if is_new {
            let hearers: Vec<Waker> = self
                .hearers()
                .iter()
                .map(|(_, waker)| waker.clone())
                .collect();
            hearers.into_iter().for_each(Waker::wake);
        }
        plan
    }

    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether nobody comes any more; otherwise wakes this task when that has changed.
    pub fn nobody_comes(&self, context: &mut Context<'_>) -> bool {
        self.wake(context.waker());
        let counts = [&self.listeners, &self.coming];
        counts
            .iter()
            .all(|count| count.load(Ordering::Acquire) == 0)
    }

    /// Whether nobody is here and nobody comes; otherwise wakes this task when that has changed.
    pub fn is_empty(&self, context: &mut Context<'_>) -> bool {
        self.nobody_comes(context) && self.active.load(Ordering::Acquire) == 0
    }

    fn wake(&self, waker: &Waker) {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    fn count(self: &Arc<Self>, kind: Kind) -> Counted {
        self.of(kind).fetch_add(1, Ordering::AcqRel);
        Counted(Arc::clone(self), kind)
    }

    fn of(&self, kind: Kind) -> &AtomicUsize {
        match kind {
            Kind::Active => &self.active,
            Kind::Coming => &self.coming,
            Kind::Listener => &self.listeners,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let Self(registry, kind) = self;
        if matches!(kind, Kind::Active) {
            registry.ended.fetch_add(1, Ordering::Relaxed);
        }
        if registry.of(*kind).fetch_sub(1, Ordering::AcqRel) == 1 {
            let wakers = &registry.wakers;
            let wakers =
                std::mem::take(&mut *wakers.lock().unwrap_or_else(PoisonError::into_inner));
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

impl Hearer {
    /// From here on this task is woken.
    pub fn set(&mut self, waker: &Waker) {
        if !self.waker.will_wake(waker) {
            self.waker.clone_from(waker);
            let old = std::mem::replace(&mut self.registry.hearers()[self.number], waker.clone());
            drop(old);
        }
    }
}

impl Drop for Hearer {
    fn drop(&mut self) {
        let waker = self.registry.hearers().try_remove(self.number);
        drop(waker);
    }
}

/// Ready, once and for all, when a drain has begun.
pub(crate) struct Stops(Option<Pin<Box<dyn Future<Output = Plan> + Send>>>);

impl Stops {
    pub fn of(registry: &Registry) -> Self {
        Self(Some(Box::pin(registry.plan())))
    }

    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(plan) = &mut self.0 {
            if plan.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.0 = None;
        }
        Poll::Ready(())
    }
}

impl std::fmt::Debug for Stops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stops")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO.after(Duration::from_millis(millis))
    }

    #[test]
    fn each_leaves_at_its_turn_and_who_must_go_before_waits_for_it() {
        let plan = Plan::new(Drain::per_second(100), at(1000), at(11_000));
        assert_eq!(plan.turn(0), (at(1000), Duration::ZERO));
        assert_eq!(plan.turn(1), (at(1010), Duration::ZERO));
        assert_eq!(plan.turn(800), (at(9000), Duration::ZERO));
        assert_eq!(plan.turn(1000), (at(9000), Duration::from_secs(2)));
        let hurried = Plan::new(Drain::per_second(0), at(0), at(1000));
        assert_eq!(hurried.turn(3), (at(500), Duration::from_millis(2500)));
        assert!(plan.turn(u64::MAX).0 == at(9000));
    }

    #[test]
    fn nobody_is_forgotten_and_the_first_plan_holds() {
        let registry = Registry::new();
        let context = &mut Context::from_waker(Waker::noop());
        let (coming, active) = (registry.coming(), registry.active());
        assert!(registry.is_ready() && !registry.is_empty(context));
        let mut stops = Stops::of(&registry);
        assert!(stops.poll(context).is_pending());
        registry.leave();
        assert!(!registry.is_ready() && stops.poll(context).is_pending());
        let first = registry.drain(Drain::per_second(1), at(0), at(10));
        let second = registry.drain(Drain::per_second(9), at(5), at(90));
        assert_eq!(first, second);
        assert!(stops.poll(context).is_ready() && stops.poll(context).is_ready());
        drop(coming);
        assert!(!registry.is_empty(context));
        drop(active);
        assert!(registry.is_empty(context));
        assert_eq!((registry.how_many_active(), registry.ended()), (0, 1));
    }
}
