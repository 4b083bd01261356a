//! What does a consumer do at any moment? It takes, hands out, settles, and says that it lives.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::{self, Display};
use std::future::pending;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use becalm::classify::{Class, redis as words};
use becalm::reconnect::NoConnection;
use becalm::rng::{Random, Seed, SplitMix64};
use becalm::time::Instant;
use becalm::{Cancel, Classify, Failure};
use becalm_fleet::consumer::{Consumer as Machine, Running, Settle, Take};
use redis::{RedisError, RedisResult};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{self, sleep, sleep_until};

use crate::connection::was_not_sent;
use crate::dial::{io_error, reply};
use crate::{Connection, Dedicated};

use super::Message;
use super::doorbell::ring;
use super::message::{Place, Source};
use super::store::{Move, Store, Taken};

/// A consumer of a stream, in a group. See the [module](crate::streams).
pub struct Consumer {
    pub(super) redis: Connection,
    pub(super) store: Store,
    pub(super) machine: Machine,
    pub(super) handler_timeout: Option<Duration>,
    pub(super) concurrency: NonZeroUsize,
    pub(super) claim_after: Duration,
    pub(super) start: String,
    pub(super) observer: Option<Arc<Observe>>,
}

impl Consumer {
    /// Hands each message to the handler, until the future `stop` ends, whatever it ends with. Then it takes nothing more, finishes what runs,
    /// gives back what has not begun, and comes back.
    ///
    /// `stop` is `tokio::signal::ctrl_c()`, a `oneshot::Receiver`, `cancelled_owned()` of a `CancellationToken`, or [`Cancel::cancelled`];
    /// [`pending::<()>()`](std::future::pending) never stops it. Dropping the future of `run` stops at once: other consumers claim what runs.
    ///
    /// What the error of a handler means, [`Classify`] says: permanent is dead at once, throttled with a hint waits for as long. A panic
    /// or the policy's `attempt_timeout` counts as transient. While Redis is away it waits for it.
    ///
    /// # Errors
    ///
    /// Redis refuses what no waiting mends: a login, a right, a key of another type. Handlers that run are dropped, and messages that were
    /// taken are claimed by others.
    pub async fn run<F, R, E>(self, stop: impl Future, handler: F) -> RedisResult<()>
    where
        F: Fn(Message) -> R,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Classify + Display + Send + 'static,
    {
        Session::new(self).run(pin!(stop), handler).await
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

pub(super) type Observe = dyn Fn(&Message, &Settle) + Send + Sync;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How a handler has failed, and what that means.
type Failed = (Failure, String);

/// The longest time without a look into the streams.
const LOOK: Duration = Duration::from_secs(5);

struct Session {
    of: Consumer,
    /// Cancelled when it is to stop.
    stop: Cancel,
    seed: Seed,
    began: time::Instant,
    /// Where the group begins, if it is to be made.
    start: String,
    handlers: JoinSet<Result<(), Failed>>,
    running: HashMap<Id, (Message, Running)>,
    settling: JoinSet<(Place, RedisResult<()>)>,
    /// All that is this consumer's: not begun, running, being settled.
    taken: HashSet<Place>,
    /// Not begun.
    held: VecDeque<Message>,
    asking: Option<Boxed<RedisResult<Taken>>>,
    keeping: Option<Boxed<RedisResult<()>>>,
    bell: Option<Boxed<Option<Dedicated>>>,
    of_bell: Option<Dedicated>,
    /// Nothing is asked before.
    quiet_until: time::Instant,
    claim_at: time::Instant,
    keep_at: time::Instant,
    takes: u64,
    /// In a row.
    refusals: u32,
}

impl Session {
    fn new(of: Consumer) -> Self {
        let now = time::Instant::now();
        Self {
            keep_at: now + of.claim_after / 3,
            start: of.start.clone(),
            of,
            stop: Cancel::new(),
            seed: Seed::entropy(),
            began: now,
            handlers: JoinSet::new(),
            running: HashMap::new(),
            settling: JoinSet::new(),
            taken: HashSet::new(),
            held: VecDeque::new(),
            asking: None,
            keeping: None,
            bell: None,
            of_bell: None,
            quiet_until: now,
            claim_at: now,
            takes: 0,
            refusals: 0,
        }
    }

    async fn run<F, R, E>(&mut self, mut stop: Pin<&mut impl Future>, handler: F) -> RedisResult<()>
    where
        F: Fn(Message) -> R,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Classify + Display + Send + 'static,
    {
        loop {
            if self.stop.is_cancelled() {
                self.give_back();
                if self.taken.is_empty() && self.asking.is_none() {
                    // It is no loss if this is.
                    let _ = self.of.store.leave().await;
                    return Ok(());
                }
            } else {
                self.begin(&handler);
                self.ask();
            }
            self.keep();
            let alarm = self.alarm();
            tokio::select! {
                _ = &mut stop, if !self.stop.is_cancelled() => self.stop.cancel(),
                Some(ended) = self.handlers.join_next_with_id() => self.handled(ended),
                Some(settled) = self.settling.join_next() => {
                    if let Ok((place, settled)) = settled {
                        self.taken.remove(&place);
                        settled?;
                    }
                }
                asked = done(&mut self.asking) => self.asked(asked).await?,
                _ = done(&mut self.keeping) => {}
                own = done(&mut self.bell) => {
                    self.of_bell = own;
                    self.quiet_until = time::Instant::now();
                }
                () = sleep_until(alarm) => {}
            }
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO.after(self.began.elapsed())
    }

    /// Hands out what is held, as far as the machine lets it.
    fn begin<F, R, E>(&mut self, handler: &F)
    where
        F: Fn(Message) -> R,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Classify + Display + Send + 'static,
    {
        let now = self.now();
        while let Some(message) = self.held.front() {
            let Some(running) = self.of.machine.begin(*message.delivery(), now) else {
                return;
            };
            let Some(message) = self.held.pop_front() else {
                return;
            };
            let bound = self.of.handler_timeout;
            let work = catch_unwind(AssertUnwindSafe(|| handler(message.clone())));
            let task = self.handlers.spawn(async move {
                let Ok(work) = work else {
                    return Err(panicked());
                };
                let ended = match bound {
                    Some(bound) => time::timeout(bound, work).await,
                    None => Ok(work.await),
                };
                match ended {
                    Ok(ended) => ended.map_err(|error| (error.classify(), error.to_string())),
                    Err(_) => Err((Failure::transient(), "the handler took too long".into())),
                }
            });
            self.running.insert(task.id(), (message, running));
        }
    }

    /// Asks for more, if there is room and it is time.
    fn ask(&mut self) {
        let now = time::Instant::now();
        if self.asking.is_some() || !self.held.is_empty() || now < self.quiet_until {
            return;
        }
        let room = self.of.concurrency.get().saturating_sub(self.taken.len());
        let count = match self.of.machine.next(self.now()) {
            Take::Any => room,
            Take::One => room.min(1),
            _ => 0,
        };
        if count == 0 {
            return;
        }
        // By turns, so that neither what is new nor what comes back waits for the other.
        self.takes += 1;
        let first = if self.takes.is_multiple_of(2) {
            Source::Again
        } else {
            Source::Stream
        };
        let is_due = now >= self.claim_at;
        if is_due {
            self.claim_at = now + self.spread(self.of.claim_after / 2);
        }
        let claim = is_due.then_some(self.of.claim_after);
        self.asking = Some(Box::pin(self.of.store.clone().take(count, first, claim)));
    }

    async fn asked(&mut self, asked: RedisResult<Taken>) -> RedisResult<()> {
        let now = time::Instant::now();
        let taken = match asked {
            Ok(taken) => taken,
            Err(error) if error.code() == Some("NOGROUP") => {
                let created = self.of.store.create(&self.start).await;
                return created.or_else(|error| self.refused(error));
            }
            Err(error) => return self.refused(error),
        };
        self.refusals = 0;
        // A group that is lost from here on has lost what was published meanwhile, unless it begins anew.
        "0".clone_into(&mut self.start);
        if taken.messages.is_empty() {
            let left = self.claim_at.saturating_duration_since(now);
            let within = taken.due.unwrap_or(LOOK).min(LOOK).min(left);
            self.quiet_until = now + within;
            if self.bell.is_none() {
                let (redis, store) = (self.of.redis.clone(), self.of.store.clone());
                let own = self.of_bell.take();
                self.bell = Some(Box::pin(ring(redis, own, store, taken.ends, LOOK)));
            }
        }
        for message in taken.messages {
            // Claimed from this one, which was silent for long and has it still.
            if self.taken.insert(message.place.clone()) {
                self.held.push_back(message);
            }
        }
        Ok(())
    }

    /// Waits before it asks again, or ends where that is of no use.
    fn refused(&mut self, error: RedisError) -> RedisResult<()> {
        if !is_transient(&error) {
            return Err(error);
        }
        self.refusals = self.refusals.saturating_add(1);
        let ceiling = Duration::from_millis(50 << self.refusals.min(5));
        self.quiet_until = time::Instant::now() + self.spread(ceiling);
        Ok(())
    }

    /// Decides about a message that a handler has ended with.
    fn handled(&mut self, ended: Result<(Id, Result<(), Failed>), JoinError>) {
        let (id, ended) = match ended {
            Ok(ended) => ended,
            Err(error) => (error.id(), Err(panicked())),
        };
        let Some((mut message, running)) = self.running.remove(&id) else {
            return;
        };
        let now = self.now();
        let settle = match ended {
            Ok(()) => self.of.machine.succeeded(running, now),
            Err((failure, mut error)) => {
                let end = (0..=1000.min(error.len()))
                    .rev()
                    .find(|it| error.is_char_boundary(*it));
                error.truncate(end.unwrap_or(0));
                message.history.failed = message.history.failed.saturating_add(1);
                message.history.error = error;
                let mut random = self.seed.stream();
                self.of.machine.failed(running, now, &failure, &mut random)
            }
        };
        if let Some(observer) = &self.of.observer {
            // The message is decided about, even if who is told of it panics.
            let _ = catch_unwind(AssertUnwindSafe(|| observer(&message, &settle)));
        }
        let has_failed = true;
        let to = match settle {
            Settle::Ack => Move::Done,
            Settle::Dead { reason } => Move::Dead {
                reason: reason.as_str(),
            },
            Settle::Later { delay, charged } => {
                message.history.charged += u32::from(charged);
                Move::Later { delay, has_failed }
            }
            Settle::Pause { delay, .. } => Move::Later { delay, has_failed },
            // What is not known yet takes nothing away.
            _ => Move::Later {
                delay: Duration::ZERO,
                has_failed,
            },
        };
        self.settle(message, to);
    }

    /// Gives back what was not begun, as it came.
    fn give_back(&mut self) {
        while let Some(message) = self.held.pop_front() {
            let (delay, has_failed) = (Duration::ZERO, false);
            self.settle(message, Move::Later { delay, has_failed });
        }
    }

    fn settle(&mut self, message: Message, to: Move) {
        let (store, stop) = (self.of.store.clone(), self.stop.clone());
        let mut random = self.seed.stream();
        self.settling.spawn(async move {
            let mut ceiling = Duration::from_millis(50);
            // If nothing is told, another claims it, and handles it again.
            while let Err(error) = store.settle(&message, &to).await {
                // A group that is lost is made again, and hands out what is left of it.
                if error.code() == Some("NOGROUP") {
                    break;
                }
                if !is_transient(&error) {
                    return (message.place, Err(error));
                }
                if stop.is_cancelled() {
                    break;
                }
                sleep(drawn(&mut random, ceiling)).await;
                ceiling = (ceiling * 2).min(Duration::from_secs(1));
            }
            (message.place, Ok(()))
        });
    }

    /// Says that it lives, if it is time.
    fn keep(&mut self) {
        let now = time::Instant::now();
        if now < self.keep_at || self.keeping.is_some() {
            return;
        }
        self.keep_at = now + self.of.claim_after / 3;
        if !self.taken.is_empty() {
            let places = self.taken.iter().cloned().collect();
            self.keeping = Some(Box::pin(self.of.store.clone().keep(places)));
        }
    }

    /// When there is something to do that nothing else tells.
    fn alarm(&self) -> time::Instant {
        let now = time::Instant::now();
        let pause = match self.of.machine.next(self.now()) {
            Take::NotBefore(until) => Some(now + until.since(self.now())),
            _ => None,
        };
        let quiet = Some(self.quiet_until).filter(|until| *until > now);
        let both = [pause, quiet].into_iter().flatten();
        // After the pause it may still be quiet, and the other way round.
        both.chain([self.keep_at.max(now + Duration::from_millis(1))])
            .min()
            .unwrap_or(now + LOOK)
    }

    /// Up to a quarter around this time.
    fn spread(&self, time: Duration) -> Duration {
        time * 3 / 4 + drawn(&mut self.seed.stream(), time / 2)
    }
}

fn panicked() -> Failed {
    (Failure::transient(), "the handler panicked".to_owned())
}

/// At random from nothing up to this.
fn drawn(random: &mut SplitMix64, most: Duration) -> Duration {
    let share = f64::from((random.next_u64() >> 32) as u32) / f64::from(u32::MAX);
    most.mul_f64(share)
}

/// Comes back once with what a future ends with, and never where there is none.
async fn done<T>(future: &mut Option<Boxed<T>>) -> T {
    let Some(running) = future else {
        return pending().await;
    };
    let value = running.await;
    *future = None;
    value
}

/// Whether waiting may mend it.
fn is_transient(error: &RedisError) -> bool {
    if let Some(reply) = reply(error) {
        return words::classify("EVALSHA", &reply).class != Class::Permanent;
    }
    let none = io_error(error).and_then(|io| io.get_ref()?.downcast_ref());
    if let Some(none) = none {
        let none: &NoConnection<RedisError> = none;
        return none.classify().class != Class::Permanent;
    }
    was_not_sent(error)
        || error.is_io_error()
        || error.is_timeout()
        || error.is_unrecoverable_error()
}
