//! Where does one connection stand, and what is its driver to do next?
//!
//! | state | what ends it |
//! |---|---|
//! | waiting | its one moment comes: dial |
//! | connecting | the dial fails: wait, or give up; it succeeds: open |
//! | open | it is lost: wait, or give up |
//! | gave up | [`dial_now`](Reconnector::dial_now) |
//! | closed | nothing |
//!
//! The driver reports what happens and asks for what is [next](Reconnector::next). There is one field for the moment of
//! the next dial, so there cannot be two timers. Every dial has a number, and a report about any but the last is
//! ignored, so an error and a close of one connection are one loss.

use core::mem;
use core::time::Duration;

use crate::call::Decision;
use crate::classify::Failure;
use crate::duration::nanos;
use crate::hint::{Hint, HintMode};
use crate::lone::Position;
use crate::policy::InvalidPolicy;
use crate::rng::{Random, SplitMix64, uniform};
use crate::stop::StopReason;
use crate::time::Instant;

use super::{Healthy, Plan, Reconnect};

/// One connection that comes back, without IO.
///
/// `T` is what a server may hand to the next dial: an address, a ticket. It is handed on once.
///
/// ```
/// use becalm::reconnect::{Next, Reconnect, Reconnector};
/// use becalm::{Failure, rng::SplitMix64, time::Instant};
///
/// let mut now = Instant::ZERO;
/// let mut feed = Reconnector::<()>::new(Reconnect::default(), SplitMix64::new(7), now)?;
/// let Next::Dial(dial) = feed.next(now) else { panic!() };
/// feed.failed(dial.id, now, &Failure::transient()); // nobody listens there
///
/// let Next::Wait(until) = feed.next(now) else { panic!() };
/// now = until;
/// let Next::Dial(dial) = feed.next(now) else { panic!() };
/// feed.opened(dial.id, now);
/// assert_eq!(feed.next(now), Next::Open(dial.id));
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug)]
pub struct Reconnector<T = (), R = SplitMix64> {
    plan: Plan,
    random: R,
    state: State,
    /// Where the count and the backoff stand since the last healthy connection.
    position: Position,
    /// When it gives up, unless a connection proves healthy.
    deadline: Instant,
    last: DialId,
    is_offline: bool,
    /// When the server has advised to come back.
    advised: Option<Hint>,
    handed: Option<T>,
}

/// The number of a dial, and of the connection that it opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DialId(u64);

/// A dial that is to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dial<T> {
    /// What reports about it refer to.
    pub id: DialId,
    /// Its number as the policy counts attempts: 1 for the first dial, and 2 for the first one after a healthy
    /// connection was lost, which is attempt 1.
    pub number: u32,
    /// What the server has [handed](Reconnector::advise) to this dial.
    pub handed: Option<T>,
}

/// What is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next<T> {
    /// Begin this dial. Said once for each dial.
    Dial(Dial<T>),
    /// Nothing before this moment; ask again then, and after every report.
    Wait(Instant),
    /// Nothing before the network is [back](Reconnector::online).
    Offline,
    /// Nothing before this dial has succeeded or failed.
    Connecting(DialId),
    /// Nothing before this connection is lost.
    Open(DialId),
    /// It does not dial again by itself.
    GaveUp(StopReason),
    /// It was closed.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting { until: Instant, as_asked: bool },
    Connecting,
    Open { since: Instant, is_healthy: bool },
    GaveUp(StopReason),
    Closed,
}

impl<T, R: Random> Reconnector<T, R> {
    /// A connection that is wanted from now on. `random` should be a stream of its own: two that share one dial in
    /// step.
    ///
    /// # Errors
    ///
    /// The policy is invalid.
    pub fn new(reconnect: Reconnect, random: R, now: Instant) -> Result<Self, InvalidPolicy> {
        Ok(Self::of(&reconnect.plan()?, random, now))
    }

    /// As [`new`](Self::new), one of many with the same plan.
    pub fn of(plan: &Plan, mut random: R, now: Instant) -> Self {
        let spread = uniform(&mut random, 0, nanos(plan.valid().start_spread));
        Self {
            deadline: plan.valid().dials.deadline(now),
            plan: plan.clone(),
            random,
            state: State::Waiting {
                until: now.after(Duration::from_nanos(spread)),
                as_asked: false,
            },
            position: Position::FIRST_TRY,
            last: DialId(0),
            is_offline: false,
            advised: None,
            handed: None,
        }
    }

    /// What the driver is to do next.
    pub fn next(&mut self, now: Instant) -> Next<T> {
        match self.state {
            State::Waiting { .. } if self.is_offline => Next::Offline,
            State::Waiting { until, .. } if now < until => Next::Wait(until),
            State::Waiting { .. } => {
                self.state = State::Connecting;
                self.last.0 += 1;
                Next::Dial(Dial {
                    id: self.last,
                    number: self.position.attempt(),
                    handed: self.handed.take(),
                })
            }
            State::Connecting => Next::Connecting(self.last),
            State::Open { .. } => Next::Open(self.last),
            State::GaveUp(reason) => Next::GaveUp(reason),
            State::Closed => Next::Closed,
        }
    }

    /// Reports that a dial has succeeded, and tells whether its connection is wanted. One that is not, since it was
    /// closed meanwhile or is not of the last dial, the driver closes.
    #[must_use = "a connection that is not wanted is the driver's to close"]
    pub fn opened(&mut self, id: DialId, now: Instant) -> bool {
        let is_wanted = id == self.last && self.state == State::Connecting;
        if is_wanted {
            let is_healthy = self.plan.valid().healthy == Healthy::After(Duration::ZERO);
            self.state = State::Open {
                since: now,
                is_healthy,
            };
        }
        is_wanted
    }

    /// Reports that a message has come over a connection.
    pub fn message(&mut self, id: DialId) {
        if self.plan.valid().healthy == Healthy::FirstMessage {
            self.healthy(id);
        }
    }

    /// Says that a connection is healthy, whatever the settings wait for.
    pub fn healthy(&mut self, id: DialId) {
        if let State::Open { is_healthy, .. } = &mut self.state {
            *is_healthy |= id == self.last;
        }
    }

    /// Reports that a dial has failed or that a connection is lost, and tells whether that is news.
    ///
    /// Connecting has a classification of its own ([`classify::connect`](crate::classify::connect)), and so has
    /// the end of a WebSocket ([`classify::websocket`](crate::classify::websocket)).
    pub fn failed(&mut self, id: DialId, now: Instant, failure: &Failure) -> bool {
        let was_healthy = match self.state {
            State::Connecting => false,
            State::Open { since, is_healthy } => is_healthy || self.has_lasted(since, now),
            _ => return false,
        };
        if id != self.last {
            return false;
        }
        if was_healthy {
            self.count_anew(now);
        }
        let mut failure = *failure;
        failure.hint = failure.hint.or(self.advised.take());
        let decision = self.plan.valid().dials.on_failure(
            &mut self.position,
            now,
            self.deadline,
            &failure,
            &mut self.random,
        );
        self.state = match decision {
            Decision::RetryIn(delay) => State::Waiting {
                until: now.after(delay),
                as_asked: failure.hint.is_some() && !self.ignores_hints(),
            },
            Decision::Stop(reason) => State::GaveUp(reason),
            // Said of calls alone.
            Decision::Done | Decision::AwaitOthers => State::GaveUp(StopReason::Permanent),
        };
        true
    }

    /// Takes the server's advice: when to come back if this connection is lost without another word, and
    /// what to hand to the next dial. Advice of an earlier connection is ignored.
    pub fn advise(&mut self, id: DialId, when: Option<Hint>, handed: Option<T>) {
        if id == self.last && matches!(self.state, State::Connecting | State::Open { .. }) {
            self.advised = when.or(self.advised);
            self.handed = handed.or(self.handed.take());
        }
    }

    /// Says that there is no network. A dial or connection that there is goes on; no further dial begins.
    pub fn offline(&mut self) {
        self.is_offline = true;
    }

    /// Says that there is a network again. A wait that no server asked for ends within the first ceiling
    /// of the backoff, spread, since others hear of the network at this moment too.
    pub fn online(&mut self, now: Instant) {
        if !mem::take(&mut self.is_offline) {
            return;
        }
        if let State::Waiting { until, as_asked } = &mut self.state {
            if *until <= now {
                // Its moment has passed, and so has that of all others.
                (*until, *as_asked) = (Instant::NEVER, false);
            }
        }
        self.come_soon(now);
    }

    /// Says that the network, or the clock, has changed under it: another address, a laptop that wakes. A
    /// wait ends as in [`online`](Self::online). An open connection may be dead without knowing it; to
    /// probe it is for the driver.
    pub fn network_changed(&mut self, now: Instant) {
        self.come_soon(now);
    }

    /// Dials at once and counts anew, for a person who presses a button: after it gave up, or in place of a wait, even
    /// of one that the server asked for. It does nothing where there is a dial or a connection.
    pub fn dial_now(&mut self, now: Instant) {
        if matches!(self.state, State::Waiting { .. } | State::GaveUp(_)) {
            self.count_anew(now);
            self.state = State::Waiting {
                until: now,
                as_asked: false,
            };
        }
    }

    /// Ends it for good: nothing is dialled any more. A dial or connection that there is, the driver drops.
    pub fn close(&mut self) {
        self.state = State::Closed;
        self.handed = None;
    }

    /// The last dial.
    #[cfg(feature = "std")]
    pub(super) fn last(&self) -> DialId {
        self.last
    }

    /// From when on the open connection is healthy, if it is not lost before; never where that is not by time.
    #[cfg(feature = "std")]
    pub(super) fn healthy_from(&self) -> Instant {
        match (self.state, self.plan.valid().healthy) {
            (
                State::Open {
                    is_healthy: true, ..
                },
                _,
            ) => Instant::ZERO,
            (State::Open { since, .. }, Healthy::After(least)) => since.after(least),
            _ => Instant::NEVER,
        }
    }

    fn has_lasted(&self, since: Instant, now: Instant) -> bool {
        matches!(self.plan.valid().healthy, Healthy::After(least) if now.since(since) >= least)
    }

    fn ignores_hints(&self) -> bool {
        self.plan.valid().dials.policy().hint == HintMode::Ignore
    }

    fn count_anew(&mut self, now: Instant) {
        self.position = Position::FIRST_TRY;
        self.deadline = self.plan.valid().dials.deadline(now);
    }

    fn come_soon(&mut self, now: Instant) {
        if let State::Waiting {
            until,
            as_asked: false,
        } = &mut self.state
        {
            let policy = self.plan.valid().dials.policy();
            let spread = nanos(policy.base.min(policy.cap));
            let soon = now.after(Duration::from_nanos(uniform(&mut self.random, 0, spread)));
            *until = soon.min(*until);
        }
    }
}
