//! What is to be done for those who wait, and who does it?

use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::classify::{Failure, Loss};
use crate::scope::detached;
use crate::time::{Everybody, Instant, Sleep, Sleeper, before, sleep_anywhere};

use super::super::Pacer;
use super::super::machine::{DialId, Next, Reconnector};
use super::NoConnection;
use super::batch::{Batch, Holders, Place};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
pub(super) type Dialler<C, E> = dyn Fn() -> Boxed<Result<C, (Failure, E)>> + Send + Sync;
type Checker<C> = dyn Fn(C) -> Boxed<bool> + Send + Sync;

pub(super) struct IdleCheck<C> {
    pub idle: Duration,
    pub check: Arc<Checker<C>>,
}

pub(super) struct Core<C, E> {
    pub dial: Arc<Dialler<C, E>>,
    pub check: Option<IdleCheck<C>>,
    pub pacer: Option<Pacer>,
    pub sleeper: Arc<dyn Sleeper>,
    pub attempt_timeout: Option<Duration>,
    /// How long after it gave up a command may dial again.
    pub rest: Duration,
    pub state: Mutex<State<C, E>>,
    pub waiting: Everybody,
}

pub(super) struct State<C, E> {
    machine: Reconnector,
    open: Option<Open<C>>,
    batch: Batch,
    /// Of the connection that is open, or was last, and of the redial after it.
    loss: Loss,
    work: Work<C, E>,
    failed_at: Instant,
    last_error: Option<Arc<E>>,
}

struct Open<C> {
    connection: C,
    used: Instant,
    holders: Arc<Holders>,
}

/// What a command has of a connection besides a clone of it.
#[derive(Debug, Clone)]
pub(super) struct Lease {
    pub id: DialId,
    pub loss: Loss,
    /// Its own as long as it holds the connection.
    _place: Place,
}

/// What is being done. Who polls it takes it out, since it may run anything, and nothing of that under the lock.
enum Work<C, E> {
    Nothing,
    Taken,
    Pause(Sleep),
    Dial(DialId, Boxed<Result<C, (Failure, Option<E>)>>),
    Check(DialId, Boxed<bool>),
}

/// What has been done.
enum Done<C, E> {
    Pause,
    Dial(DialId, Result<C, (Failure, Option<E>)>),
    Check(DialId, bool),
}

type Ended<C, E> = Result<(C, Lease), NoConnection<E>>;

/// What one who looks finds.
enum Found<C, E> {
    Ended(Ended<C, E>),
    Work(Work<C, E>),
    /// Somebody else is at it.
    Nothing,
}

impl<C: Clone + Send + 'static, E: Send + 'static> Core<C, E> {
    /// Does what can be done now, and tells how it ended, if it has. Who calls it is among those who
    /// wait already: what is begun here wakes them.
    pub fn advance(&self) -> Option<Ended<C, E>> {
        loop {
            let mut work = match self.look() {
                Found::Ended(ended) => return Some(ended),
                Found::Nothing => return None,
                Found::Work(work) => work,
            };
            let unless_it_panics = Abandoned {
                core: self,
                id: work.id(),
            };
            let done = work.poll(&mut Context::from_waker(self.waiting.waker()));
            mem::forget(unless_it_panics);
            match done {
                Poll::Pending => {
                    self.state().work = work;
                    return None;
                }
                Poll::Ready(done) => self.apply(done),
            }
        }
    }

    /// The connection, if it is there and needs no check.
    pub fn open(&self) -> Option<(C, Lease)> {
        let state = &mut *self.state();
        self.lift(state);
        let is_checked = matches!(state.work, Work::Nothing);
        let open = state.open.as_mut().filter(|_| is_checked)?;
        if let Some(check) = &self.check {
            let now = self.sleeper.now();
            if now.since(open.used) >= check.idle {
                return None;
            }
            open.used = now;
        }
        let place = state.batch.place(&open.holders)?;
        Some((
            open.connection.clone(),
            lease(state.machine.last(), state.loss, place),
        ))
    }

    fn look(&self) -> Found<C, E> {
        let now = self.sleeper.now();
        let state = &mut *self.state();
        self.lift(state);
        match mem::replace(&mut state.work, Work::Taken) {
            Work::Nothing => (),
            Work::Taken => return Found::Nothing,
            work => return Found::Work(work),
        }
        let mut next = state.machine.next(now);
        if matches!(next, Next::GaveUp(_)) && now.since(state.failed_at) > self.rest {
            state.machine.dial_now(now);
            next = state.machine.next(now);
        }
        let found = match (next, &mut state.open) {
            (Next::Dial(dial), _) => return Found::Work(Work::Dial(dial.id, self.dial())),
            (Next::Wait(until), _) => {
                return Found::Work(Work::Pause(sleep_anywhere(&self.sleeper, until)));
            }
            (Next::Open(id), Some(open)) => {
                let idle = now.since(mem::replace(&mut open.used, now));
                if let Some(check) = self.check.as_ref().filter(|it| idle >= it.idle) {
                    return Found::Work(Work::Check(id, self.check(check, open)));
                }
                match state.batch.place(&open.holders) {
                    Some(place) => {
                        let lease = lease(id, state.loss, place);
                        Found::Ended(Ok((open.connection.clone(), lease)))
                    }
                    None => Found::Nothing,
                }
            }
            (Next::GaveUp(reason), _) => {
                Found::Ended(Err(NoConnection::GaveUp(reason, state.last_error.clone())))
            }
            // It is never closed or offline, and while it connects there is work.
            _ => Found::Nothing,
        };
        state.work = Work::Nothing;
        found
    }

    fn dial(&self) -> Boxed<Result<C, (Failure, Option<E>)>> {
        let (dial, pacer, cut) = (Arc::clone(&self.dial), self.pacer.clone(), self.cut());
        Box::pin(detached(async move {
            let _permit = match &pacer {
                Some(pacer) => Some(pacer.pass().await),
                None => None,
            };
            match before(dial(), cut()).await {
                Some(dialled) => dialled.map_err(|(failure, error)| (failure, Some(error))),
                None => Err((Failure::transient().unsent(), None)),
            }
        }))
    }

    fn check(&self, check: &IdleCheck<C>, open: &Open<C>) -> Boxed<bool> {
        let (check, cut) = (Arc::clone(&check.check), self.cut());
        let connection = open.connection.clone();
        Box::pin(detached(async move {
            let checked = before(check(connection), cut()).await;
            checked.unwrap_or(false)
        }))
    }

    /// What is ready when an attempt that begins then has taken its time.
    fn cut(&self) -> impl FnOnce() -> Option<Sleep> + Send + use<C, E> {
        let (sleeper, timeout) = (Arc::clone(&self.sleeper), self.attempt_timeout);
        move || timeout.map(|timeout| sleep_anywhere(&sleeper, sleeper.now().after(timeout)))
    }

    fn apply(&self, done: Done<C, E>) {
        let now = self.sleeper.now();
        let mut state = self.state();
        state.work = Work::Nothing;
        let lost = match done {
            Done::Pause | Done::Check(_, true) => None,
            Done::Check(id, false) => state.lose(id, now, &Failure::transient()),
            Done::Dial(id, Ok(connection)) => {
                state.last_error = None;
                let open = Some(Open {
                    connection,
                    used: now,
                    holders: Holders::new(&self.waiting),
                });
                if state.machine.opened(id, now) {
                    state.loss = Loss::unique();
                    mem::replace(&mut state.open, open)
                } else {
                    open
                }
            }
            Done::Dial(id, Err((failure, error))) => {
                if let Some(error) = error {
                    state.last_error = Some(Arc::new(error));
                }
                state.lose(id, now, &failure)
            }
        };
        drop(state);
        drop(lost);
        self.waiting.wake();
    }
}

impl<C, E> Core<C, E> {
    /// Takes the report that a connection, or what was being done for it, has come to nothing.
    pub fn lose(&self, id: DialId, failure: &Failure) {
        let now = self.sleeper.now();
        let lost = self.state().lose(id, now, failure);
        drop(lost);
        self.waiting.wake();
    }

    pub fn is_open(&self) -> bool {
        self.state().open.is_some()
    }

    pub fn too_late(&self) -> NoConnection<E> {
        let state = self.state();
        NoConnection::TooLate(state.last_error.clone(), Some(state.loss))
    }

    /// While commands wait for a place on the open connection: when it will have proved healthy, if it ends by time.
    pub fn is_full_until(&self) -> Option<Instant> {
        let state = self.state();
        let is_full = state.open.is_some() && state.batch.is_bounded();
        let healthy_from = state.machine.healthy_from();
        (is_full && healthy_from != Instant::NEVER).then_some(healthy_from)
    }

    /// A connection that has proved healthy has places for all.
    fn lift(&self, state: &mut State<C, E>) {
        if state.batch.is_bounded() && state.machine.healthy_from() <= self.sleeper.now() {
            state.batch.lift();
        }
    }

    fn state(&self) -> MutexGuard<'_, State<C, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C, E> State<C, E> {
    pub fn new(machine: Reconnector) -> Self {
        Self {
            machine,
            open: None,
            batch: Batch::default(),
            loss: Loss::unique(),
            work: Work::Nothing,
            failed_at: Instant::ZERO,
            last_error: None,
        }
    }

    /// What is left of the connection: to be dropped without the lock, since it may run anything.
    fn lose(&mut self, id: DialId, now: Instant, failure: &Failure) -> Option<Open<C>> {
        let was_healthy = self.machine.healthy_from() <= now;
        if !self.machine.failed(id, now, failure) {
            return None;
        }
        self.failed_at = now;
        if was_healthy {
            self.batch.lift();
        }
        let lost = self.open.take();
        if let Some(lost) = &lost {
            self.batch.cut(&lost.holders);
        }
        lost
    }
}

fn lease(id: DialId, loss: Loss, place: Place) -> Lease {
    Lease {
        id,
        loss,
        _place: place,
    }
}

impl<C, E> Work<C, E> {
    fn id(&self) -> Option<DialId> {
        match self {
            Self::Dial(id, _) | Self::Check(id, _) => Some(*id),
            Self::Pause(_) | Self::Nothing | Self::Taken => None,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<C, E>> {
        match self {
            Self::Pause(pause) => pause.as_mut().poll(context).map(|()| Done::Pause),
            Self::Dial(id, dial) => {
                let dialled = dial.as_mut().poll(context);
                dialled.map(|dialled| Done::Dial(*id, dialled))
            }
            Self::Check(id, check) => {
                let checked = check.as_mut().poll(context);
                checked.map(|is_alive| Done::Check(*id, is_alive))
            }
            // Nobody takes these out.
            Self::Nothing | Self::Taken => Poll::Pending,
        }
    }
}

/// What was taken out and has panicked is gone, and its dial has failed.
struct Abandoned<'a, C, E> {
    core: &'a Core<C, E>,
    id: Option<DialId>,
}

impl<C, E> Drop for Abandoned<'_, C, E> {
    fn drop(&mut self) {
        self.core.state().work = Work::Nothing;
        match self.id {
            Some(id) => self.core.lose(id, &Failure::transient()),
            None => self.core.waiting.wake(),
        }
    }
}
