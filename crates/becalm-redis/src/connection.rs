//! How is a command sent over a connection that comes and goes, and when is it sent again?

use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use becalm::classify::Classify;
use becalm::reconnect::{Plan, SharedConnection};
use becalm::support::before_attempts;
use becalm::{Attempt, Effect, Failure, Operation, Retrier};
use redis::aio::ConnectionLike;
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, RedisResult, Value};
use tokio::time::Instant;

use crate::commands::Repeat;
use crate::counted;
use crate::dedicated::Dedicated;
use crate::dial::{Dialler, Wire};
use crate::failed::{Failed, Many, Request, has_broken, is_late, refusing_word};
use crate::fence::{Client, LateCopies};
use crate::refusals::{Refusals, Waiting, passes};

/// A connection to Redis that its clones share, and that comes back by itself.
///
/// It is one of [`ConnectionLike`], so that typed commands, pipelines, `MULTI` by [`Pipeline::atomic`] and scripts work over it as
/// over redis's own.
#[derive(Clone)]
pub struct Connection {
    pub(crate) core: Arc<Core>,
    rule: Rule,
}

/// Who says whether a command is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Table,
    /// The table, for a caller who reads no answer.
    Effect,
    Always,
    /// As always, and a copy that comes late finds what the other has done.
    Numbered,
    Never,
}

pub(crate) struct Core {
    pub shared: SharedConnection<Wire, RedisError>,
    pub reconnect: Plan,
    pub dialler: Arc<Dialler>,
    pub refusals: Refusals,
    pub commands: Retrier,
    pub patience: Duration,
    pub response_timeout: Duration,
    pub late_copies: LateCopies,
    pub idle: Duration,
}

impl Connection {
    pub(crate) fn new(core: Core) -> Self {
        Self {
            core: Arc::new(core),
            rule: Rule::Table,
        }
    }

    fn by(&self, rule: Rule) -> Self {
        Self {
            core: Arc::clone(&self.core),
            rule,
        }
    }

    /// This connection for commands whose answers you do not read: what they leave is all that counts.
    ///
    /// Otherwise a repetition of `SADD` that answers 0 is an error ([`is_answer_unknown`]), since its first sending may
    /// have added what it did not count any more. Here it is what it answers. Answers that a pipeline ignores
    /// ([`Pipeline::ignore`]) need no such connection.
    ///
    /// ```
    /// # async fn run(redis: becalm_redis::Connection) -> redis::RedisResult<()> {
    /// use redis::AsyncCommands;
    ///
    /// let () = redis.for_effect().sadd("seen", 17).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn for_effect(&self) -> Self {
        self.by(Rule::Effect)
    }

    /// This connection for commands that may be sent again, whatever the table says: a script of your own that leaves the same
    /// the second time.
    ///
    /// ```
    /// # async fn run(redis: becalm_redis::Connection) -> redis::RedisResult<()> {
    /// let mut redis = redis.repeatable();
    /// redis::cmd("EVAL").arg("return redis.call('set', KEYS[1], ARGV[1])")
    ///     .arg(1).arg("greeting").arg("hello")
    ///     .exec_async(&mut redis)
    ///     .await
    /// # }
    /// ```
    #[must_use]
    pub fn repeatable(&self) -> Self {
        self.by(Rule::Always)
    }

    /// For scripts that see, by a number or by what is there, whether they have run.
    pub(crate) fn numbered(&self) -> Self {
        self.by(Rule::Numbered)
    }

    /// This connection for commands that are sent once, whatever the table says, unless they are proved unsent: a `SET` of a key that
    /// others write, too.
    #[must_use]
    pub fn once(&self) -> Self {
        self.by(Rule::Never)
    }

    /// A connection of your own, for what changes or holds one: `WATCH`, `SELECT`, `BLPOP`. It is dialled once, at the
    /// pace of this one, and does not come back; its commands wait for as long as their answers take.
    ///
    /// # Errors
    ///
    /// The login or the dial has failed, or has taken longer than its bound: [`Builder::login_timeout`](crate::Builder::login_timeout),
    /// [`Builder::dial_timeout`](crate::Builder::dial_timeout).
    pub async fn dedicated(&self) -> RedisResult<Dedicated> {
        let dialled = self.core.dialler.dial(self.core.response_timeout, false);
        let mut wire = dialled.await.map_err(|(_, error)| error)?;
        wire.redis.set_response_timeout(Duration::MAX);
        Ok(Dedicated::new(wire, self.get_db()))
    }

    pub(crate) async fn send<R: Request>(&self, request: R) -> RedisResult<R::Answer> {
        let operation = match (request.repeat(self.rule == Rule::Table), self.rule) {
            (Repeat::Dedicated, _) => return Err(request.elsewhere().unwrap_or_else(refusal)),
            (Repeat::Freely, Rule::Table | Rule::Effect) | (_, Rule::Always | Rule::Numbered) => {
                Operation::Idempotent
            }
            (Repeat::Once, Rule::Table | Rule::Effect) | (_, Rule::Never) => {
                Operation::NotIdempotent
            }
        };
        let past = &Past {
            may_repeat: operation == Operation::Idempotent,
            ..Past::default()
        };
        let attempt = |attempt| async move {
            let is_repetition = past.may_be_done.swap(true, Ordering::Relaxed);
            let answer = self.attempt(request, attempt, past).await;
            if let Err(failed) = &answer
                && failed.classify().effect == Effect::Unsent
            {
                past.may_be_done.store(is_repetition, Ordering::Relaxed);
            }
            answer.map(|answer| (answer, is_repetition || past.is_done_in_part()))
        };
        let mut call = self.core.commands.retry(attempt);
        if self.core.commands.policy().attempt_timeout.is_some() && !self.core.shared.is_open() {
            // What serves all attempts takes the time of none.
            let connected = self.core.shared.get(Some(self.core.patience));
            let connected = before_attempts(&self.core.commands, None, connected);
            if let Some(deadline) = Box::pin(connected).await {
                call = call.deadline(deadline);
            }
        }
        if operation != Operation::Idempotent {
            call = call.operation(operation);
        }
        match call.await {
            Ok((answer, is_repetition)) => {
                let is_read = self.rule == Rule::Table;
                if is_repetition && is_read && !request.is_certain(&answer) {
                    return Err(RedisError::from((ErrorKind::Client, ANSWER_UNKNOWN)));
                }
                Ok(answer)
            }
            Err(gave_up) => match gave_up.into_error() {
                Some(failed) => failed.into_result(),
                None => Err(RedisError::from((ErrorKind::Client, NOT_SENT))),
            },
        }
    }

    /// Waits while the server refuses everything, and is refused itself after as long as it may wait for a connection.
    async fn attempt<R: Request>(
        &self,
        request: R,
        attempt: Attempt,
        past: &Past,
    ) -> Result<R::Answer, Failed<R::Answer>> {
        let limit = attempt.timeout().map(|within| Instant::now() + within);
        let mut waiting = None;
        loop {
            let within = limit.map(|limit| limit.saturating_duration_since(Instant::now()));
            let failed = match self.send_once(request, within, past).await {
                Err(failed) if past.is_refused_for_now::<R>(&failed) => failed,
                ended => {
                    // An error of its own is an answer, too.
                    let is_answered = match &ended {
                        Ok(_) => true,
                        Err(failed) => refusing_word::<R>(failed).is_some(),
                    };
                    if let Some(waiting) = waiting.filter(|_| is_answered) {
                        Waiting::was_accepted(waiting);
                    }
                    return ended;
                }
            };
            let patience = within.map_or(self.core.patience, |it| it.min(self.core.patience));
            let waiting = waiting.get_or_insert_with(|| self.core.refusals.begin(patience));
            if !waiting.may_try().await {
                return Err(failed.at_last());
            }
        }
    }

    fn minds_late_copies(&self) -> bool {
        self.rule != Rule::Numbered && self.core.late_copies == LateCopies::Refuse
    }

    async fn send_once<R: Request>(
        &self,
        request: R,
        within: Option<Duration>,
        past: &Past,
    ) -> Result<R::Answer, Failed<R::Answer>> {
        let patience = within.map_or(self.core.patience, |within| within.min(self.core.patience));
        let mut held = loop {
            let held = self.core.shared.get(Some(patience)).await;
            let held = held.map_err(Failed::NoConnection)?;
            if !held.counts.is_silent_for(self.core.response_timeout) {
                break held;
            }
            held.lost();
        };
        if let Some(first) = past.first()
            && let Err(error) = first.is_over_before(&held.client)
            && self.minds_late_copies()
            && request.writes()
        {
            return Err(Failed::Broken(Failure::permanent(), error));
        }
        let in_short = within.filter(|within| *within < self.core.response_timeout);
        if let Some(within) = in_short {
            held.redis.set_response_timeout(within);
        }
        let Wire {
            redis,
            counts,
            client,
            ..
        } = &mut *held;
        let mark = counts.mark();
        let waiting = counted::Waiting(counts, mark);
        let sending = Sending { past, over: client };
        let sent = request.send(redis).await;
        if sent.is_ok() {
            mem::forget(waiting);
        } else {
            drop(waiting);
        }
        mem::forget(sending);
        let failed = match sent {
            Ok(answer) => match request.refusal(&answer) {
                Some(failure) => Failed::Refused(failure, answer),
                None => return Ok(answer),
            },
            Err(error) => {
                // One who had less time than an answer may take knows nothing of the connection.
                let is_silent =
                    || is_late(&error) && in_short.is_none() && held.counts.is_silent_since(mark);
                let is_lost = has_broken(&error) || is_silent();
                let failed = Failed::of(request, error, &held.counts, mark);
                if failed.classify().effect != Effect::Unsent {
                    past.was_sent_over(&held.client);
                }
                if is_lost {
                    failed.lost_with(held.lost())
                } else {
                    failed
                }
            }
        };
        // A replica is not to be written to: the master is elsewhere, and so is a new connection.
        if refusing_word::<R>(&failed).is_some_and(|word| word == "READONLY") {
            held.lost();
        }
        Err(failed)
    }
}

/// What the attempts of a command so far have left.
#[derive(Default)]
struct Past {
    may_repeat: bool,
    /// Whether an attempt may have taken effect, in part or as a whole, also one that was cut.
    may_be_done: AtomicBool,
    /// Whether the server has executed a part of a pipeline and refused another.
    done_in_part: AtomicBool,
    /// What the last that may have taken effect went over.
    first: Mutex<Option<Arc<Client>>>,
}

impl Past {
    /// Whether the server has not done all of it, and will soon.
    fn is_refused_for_now<R: Request>(&self, failed: &Failed<R::Answer>) -> bool {
        let is_undone = failed.classify().effect == Effect::Unsent;
        let waits = (is_undone || self.may_repeat)
            && refusing_word::<R>(failed).is_some_and(|word| passes(&word));
        self.done_in_part
            .fetch_or(waits && !is_undone, Ordering::Relaxed);
        waits
    }

    fn is_done_in_part(&self) -> bool {
        self.done_in_part.load(Ordering::Relaxed)
    }

    fn first(&self) -> Option<Arc<Client>> {
        let first = self.first.lock();
        first.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn was_sent_over(&self, client: &Arc<Client>) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        *first = Some(Arc::clone(client));
    }
}

/// An attempt that is being sent. One that is cut may have been.
struct Sending<'a> {
    past: &'a Past,
    over: &'a Arc<Client>,
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.past.was_sent_over(self.over);
    }
}

const ANSWER_UNKNOWN: &str = "the command took effect, and its answer is unknown: it was sent twice, and the second \
    answer may be of what the first has done (Connection::for_effect() takes it)";

/// Whether a command took effect, once or twice with one outcome, and only its answer is unknown.
///
/// Its first answer was lost, and what the repetition answered may come of the first sending: 0 of a `SADD`, whose
/// member was there. Nothing tells whether it was you who added it.
pub fn is_answer_unknown(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Client && error.to_string().starts_with(ANSWER_UNKNOWN)
}

const NOT_SENT: &str = "the command was not sent";

/// Whether this is of a command that its retrier let through no more: its deadline, its breaker.
#[cfg(feature = "streams")]
pub(crate) fn was_not_sent(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Client && error.to_string().starts_with(NOT_SENT)
}

fn refusal() -> RedisError {
    RedisError::from((
        ErrorKind::Client,
        "the command changes or holds the connection, which others share: send it over Connection::dedicated()",
    ))
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(self.send(command))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(self.send(Many {
            pipeline,
            offset,
            count,
        }))
    }

    fn get_db(&self) -> i64 {
        self.core.dialler.info.redis_settings().db()
    }
}

/// Without its login.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.core.dialler.info.addr();
        f.debug_struct("Connection")
            .field("address", &format_args!("{address}"))
            .finish_non_exhaustive()
    }
}
