//! Where does one consumer stand, and what happens to what it handles?
//!
//! The pause is a [circuit breaker](becalm::breaker) over the handlers: closed, it takes any number; open, none; half-open, one. What a
//! failure says about its message is decided here, when to come back by the [policy](becalm::Policy).

use core::time::Duration;

use becalm::breaker::{CircuitBreaker, Outcome, Permit, State};
use becalm::policy::InvalidPolicy;
use becalm::rng::Random;
use becalm::support::{Lone, Position};
use becalm::time::Instant;
use becalm::{Class, Failure, Hint};

use super::{Consume, Delivery, Settle};

/// One consumer, without IO. Make one for each dependency that its handlers call, in each process: what it has seen succeed is what counts.
///
/// ```
/// use becalm_fleet::consumer::{Consume, Consumer, Delivery, Settle, Take};
/// use becalm::{Failure, rng::SplitMix64, time::Instant};
///
/// let (now, mut random) = (Instant::ZERO, SplitMix64::new(7));
/// let mut consumer = Consumer::new(Consume::default())?;
/// for _ in 0..2 {
///     let running = consumer.begin(Delivery::default(), now).expect("nothing has failed yet");
///     let settle = consumer.failed(running, now, &Failure::transient(), &mut random);
///     assert!(matches!(settle, Settle::Later { charged: false, .. })); // nothing else has succeeded
/// }
/// let third = consumer.begin(Delivery::default(), now).expect("two may be chance");
/// let settle = consumer.failed(third, now, &Failure::transient(), &mut random);
/// let Settle::Pause { pause, .. } = settle else { panic!() };
/// assert_eq!(consumer.next(now), Take::NotBefore(now.after(pause)));
/// assert_eq!(consumer.next(now.after(pause)), Take::One);
/// # Ok::<(), becalm::policy::InvalidPolicy>(())
/// ```
#[derive(Debug)]
pub struct Consumer {
    lone: Lone,
    pause: CircuitBreaker,
    is_probing: bool,
    /// The pause that a server has asked for.
    not_before: Instant,
    /// When the last of those began that have succeeded.
    succeeded: Option<Instant>,
}

/// What a consumer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Take {
    /// As many messages as the driver likes.
    Any,
    /// One message: a probe.
    One,
    /// None before this moment.
    NotBefore(Instant),
    /// None before the probe has ended.
    AfterProbe,
}

/// A message that a handler works on. It goes back to [`succeeded`](Consumer::succeeded), [`failed`](Consumer::failed) or
/// [`released`](Consumer::released).
#[derive(Debug)]
#[must_use = "a probe that never comes back keeps the consumer paused for ever"]
pub struct Running {
    delivery: Delivery,
    began: Instant,
    permit: Permit,
}

impl Running {
    /// What was known of it when it began.
    pub const fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// Whether it decides whether the consumer goes on.
    pub const fn is_probe(&self) -> bool {
        self.permit.is_probe()
    }
}

impl Consumer {
    /// A consumer that takes messages.
    ///
    /// # Errors
    ///
    /// The settings are invalid.
    pub fn new(consume: Consume) -> Result<Self, InvalidPolicy> {
        consume.validate()?;
        let Consume { policy, pause } = consume;
        Ok(Self {
            lone: Lone::new(policy, Duration::ZERO)?,
            pause: CircuitBreaker::new(pause).map_err(InvalidPolicy::Breaker)?,
            is_probing: false,
            not_before: Instant::ZERO,
            succeeded: None,
        })
    }

    /// What it may take now. It says the same until something ends or time passes.
    pub fn next(&self, now: Instant) -> Take {
        if self.is_probing {
            return Take::AfterProbe;
        }
        if now < self.not_before {
            return Take::NotBefore(self.not_before);
        }
        match self.pause.would_admit(now) {
            Err(refused) => Take::NotBefore(refused.until.unwrap_or(Instant::NEVER)),
            Ok(()) if self.pause.state(now) == State::Closed => Take::Any,
            Ok(()) => Take::One,
        }
    }

    /// Begins a message; `None` while the consumer pauses. A message that was taken before stays with its driver until
    /// [`next`](Self::next) lets it begin.
    pub fn begin(&mut self, delivery: Delivery, now: Instant) -> Option<Running> {
        if !matches!(self.next(now), Take::Any | Take::One) {
            return None;
        }
        let permit = self.pause.admit(|| now).ok()?;
        self.is_probing = permit.is_probe();
        Some(Running {
            delivery,
            began: now,
            permit,
        })
    }

    /// The handler has done it. A probe ends the pause.
    pub fn succeeded(&mut self, running: Running, now: Instant) -> Settle {
        // What began before an outage and ended in it proves nothing about what has failed meanwhile.
        self.succeeded = self.succeeded.max(Some(running.began));
        self.ended(running, Outcome::Success, now, &mut || 0);
        Settle::Ack
    }

    /// The handler has failed. `random` is drawn from for the delay and the pause: take fresh bits, such as those of
    /// [`Seed::entropy`](becalm::rng::Seed).
    pub fn failed<R: Random + ?Sized>(
        &mut self,
        running: Running,
        now: Instant,
        failure: &Failure,
        random: &mut R,
    ) -> Settle {
        let Running {
            delivery, began, ..
        } = running;
        let last_failed = delivery
            .since_failed
            .map_or(began, |since| began.before(since));
        let others_succeed = self.succeeded.is_some_and(|since| since > last_failed);
        let is_final = failure.class == Class::Permanent || failure.hint == Some(Hint::Stop);
        // What is wrong with one message tells nothing about the others: poison keeps no pause up.
        let is_its_own = is_final || others_succeed || delivery.charged > 0;
        let outcome = if is_its_own {
            Outcome::Cancelled
        } else {
            Outcome::Failure
        };
        let paused_for = self.ended(running, outcome, now, random);
        // Others have succeeded, but none does now.
        let is_paused = self.pause.state(now) != State::Closed;
        let charged = others_succeed && !is_paused;
        let age = delivery.age.saturating_add(now.since(began));
        let oldest = self.lone.policy().deadline;
        let left = |oldest: Duration| now.after(oldest.saturating_sub(age));
        let deadline = oldest.map_or(Instant::NEVER, left);
        // What is not charged uses up nothing.
        let attempt = if charged {
            delivery.charged.saturating_add(1)
        } else {
            0
        };
        let mut position = Position::new(attempt, delivery.failed);
        let delay = (self.lone).delay(&mut position, now, deadline, failure, random);
        let delay = match delay {
            Ok(delay) => delay,
            Err(reason) => return Settle::Dead { reason },
        };
        let Some(paused_for) = paused_for else {
            return Settle::Later { delay, charged };
        };
        // A delay that was drawn is remembered for the next draw; one that was asked for is not.
        let is_asked_for = position.drawn().is_none();
        let pause = paused_for.max(if is_asked_for { delay } else { Duration::ZERO });
        self.not_before = now.after(pause);
        Settle::Pause { delay, pause }
    }

    /// Nobody will tell how it ends: the handler was dropped, its message goes back as it came.
    pub fn released(&mut self, running: Running) {
        self.is_probing &= !running.is_probe();
        self.pause.release(running.permit);
    }

    /// Tells the pause, and how long it is from now on if this has begun it.
    fn ended<R: Random + ?Sized>(
        &mut self,
        running: Running,
        outcome: Outcome,
        now: Instant,
        random: &mut R,
    ) -> Option<Duration> {
        self.is_probing &= !running.is_probe();
        let took = now.since(running.began);
        let bits = || random.next_u64();
        let change = self
            .pause
            .record(running.permit, outcome, || now, took, bits)?;
        change.open_for
    }
}
