//! How does a program hear what is published, and when messages may be missing?
//!
//! A [`Subscription`] has a connection of its own, subscribes again after each loss, and says so: Redis keeps no message for one who is not
//! there. What must not be lost belongs in a [stream](crate::streams).
//!
//! ```no_run
//! # async fn reload() {}
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use becalm_redis::Connection;
//! use becalm_redis::subscription::{Event, Topic};
//!
//! let redis = Connection::open("redis://127.0.0.1/")?;
//! let mut prices = redis.subscribe([Topic::from("prices"), Topic::pattern("prices.*")]);
//! while let Some(event) = prices.next().await {
//!     match event? {
//!         Event::Message(message) => println!("{}: {}", message.get_channel_name(), message.get_payload::<String>()?),
//!         Event::Subscribed(_) | Event::MayHaveMissed => reload().await, // what is so by now, since no message told
//!         Event::Lost(error) => eprintln!("prices are old from here on: {error}"),
//!         Event::Refused(topic, error) | Event::Interrupted(topic, error) => eprintln!("{topic:?}: {error}"),
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What happens
//!
//! | when | then |
//! |---|---|
//! | the connection is lost: the server, a network, `CLIENT KILL` | it is dialled again, at the pace of the [`Connection`] that it is of and by the same [`Reconnect`](crate::Reconnect); all topics are subscribed again. [`Event::Lost`], then [`Event::MayHaveMissed`] |
//! | nothing comes for as long as [`Builder::idle`](crate::Builder::idle) (30 s, at least 100 ms) | the server is asked by `PING`. If nothing comes for as long as an answer may take ([`Builder::response_timeout`](crate::Builder::response_timeout), 1 s), the connection is lost: one that is half open is found |
//! | you are slower than those who publish | nothing is read ahead, so that memory stays what one message takes. The server keeps what you have not read, up to its `client-output-buffer-limit` (for subscriptions 32 MB, or 8 MB for a minute), and then closes: you get what the network holds, then [`Event::Lost`] and [`Event::MayHaveMissed`] |
//! | a message is longer than [`Builder::answer_bytes`](crate::Builder::answer_bytes) | the connection is lost, the message is skipped |
//! | the server refuses a topic: a right, a channel of another node of a cluster | [`Event::Refused`], and the others go on |
//! | a node of a cluster cannot serve a sharded channel now (CLUSTERDOWN, TRYAGAIN), or its slot leaves the node | [`Event::Interrupted`], and the others go on. It is asked for again, at first after 25 to 50 ms, then ever later, up to once in 0.5 to 1 s; then [`Event::MayHaveMissed`] |
//! | dialling is given up: a login, a certificate, the end of a policy | an error, and then `None` |
//! | the subscription is dropped | its connection closes |
//!
//! Nothing runs while nobody waits in [`Subscription::next`], but for a dial that has begun.

mod confirmed;
mod messages;
mod topics;

use std::fmt;
use std::future::poll_fn;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use becalm::reconnect::{DialId, Next, Reconnector};
use becalm::rng::{Seed, SplitMix64, uniform};
use becalm::{Failure, time};
use futures_core::Stream;
use redis::{Cmd, Msg, RedisError, RedisResult};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep};

use crate::Connection;
use crate::dial::{Dialled, Dialler};

use confirmed::Confirmed;
pub(crate) use messages::Messages;
pub use topics::{Topic, Topics};

/// What a subscription has heard.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// From here on messages of this topic come. What was published before is missing.
    Subscribed(Topic),
    /// Something was published.
    Message(Msg),
    /// The connection is lost. Nothing is heard before it comes back, which it does by itself.
    Lost(RedisError),
    /// It has come back, and from here on all topics are heard again that were before and were not [interrupted](Self::Interrupted) since. What was published in between is missing, and what the server
    /// had not sent yet when the connection was lost.
    MayHaveMissed,
    /// The server does not let this topic be subscribed to, which is removed. A topic that was heard before may be refused after a loss.
    Refused(Topic, RedisError),
    /// This topic is not heard now, and is asked for again until it is: then [`MayHaveMissed`](Self::MayHaveMissed) tells, or
    /// [`Subscribed`](Self::Subscribed) where it never was heard. The others go on.
    Interrupted(Topic, RedisError),
}

/// What is published in some channels, over a connection that comes back: a stream of [`Event`]s. See the
/// [module](crate::subscription).
///
/// From [`Connection::subscribe`].
#[must_use = "nothing is subscribed to before it is asked for its next event"]
pub struct Subscription {
    dialler: Arc<Dialler>,
    idle: Duration,
    response_timeout: Duration,
    topics: Topics,
    confirmed: Confirmed,
    reconnector: Reconnector,
    began: Instant,
    line: Line,
    /// The next dial, or the next look at a connection that is silent.
    alarm: Option<Pin<Box<Sleep>>>,
    /// When topics are asked for again that were interrupted, and the last ceiling of that wait.
    again: Option<(Pin<Box<Sleep>>, Duration)>,
    random: SplitMix64,
    /// When something came last, or the first answer was asked for that is due.
    quiet_since: Instant,
}

/// The first ceiling of the wait before interrupted topics are asked for again, and the last.
const AGAIN: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

enum Line {
    /// With what ended its connection or its dial.
    Away(Option<RedisError>),
    Dialling(DialId, Dial),
    Open(DialId, Box<Messages>),
    Ended,
}

/// A task, so that a dial goes on, and lets others have their turn, while nobody waits.
struct Dial(JoinHandle<Dialled<Messages>>);

impl Drop for Dial {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Subscribes to these topics, over another connection that is dialled when the first event is asked for. See
    /// [`subscription`](crate::subscription).
    pub fn subscribe<T: Into<Topic>>(&self, topics: impl IntoIterator<Item = T>) -> Subscription {
        let core = &self.core;
        let now = Instant::now();
        Subscription {
            dialler: Arc::clone(&core.dialler),
            idle: core.idle.max(Duration::from_millis(100)),
            response_timeout: core.response_timeout,
            topics: Topics::new(topics.into_iter().map(Into::into).collect()),
            confirmed: Confirmed::default(),
            reconnector: Reconnector::of(
                &core.reconnect,
                Seed::entropy().stream(),
                time::Instant::ZERO,
            ),
            began: now,
            line: Line::Away(None),
            alarm: None,
            again: None,
            random: SplitMix64::new(RandomState::new().hash_one(0)),
            quiet_since: now,
        }
    }
}

impl Subscription {
    /// What to add topics to, and remove them from, also while [`next`](Self::next) waits.
    pub fn topics(&self) -> Topics {
        self.topics.clone()
    }

    /// The next event; `None` after an error, which is the end. A future that is dropped takes no event with it.
    ///
    /// # Errors
    ///
    /// Dialling was given up.
    pub async fn next(&mut self) -> Option<RedisResult<Event>> {
        poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<RedisResult<Event>>> {
        loop {
            let now = self.now();
            match &mut self.line {
                Line::Away(error) => match self.reconnector.next(now) {
                    Next::Dial(dial) => {
                        let dialler = Arc::clone(&self.dialler);
                        let task = tokio::spawn(async move { dialler.dial_for_messages().await });
                        self.line = Line::Dialling(dial.id, Dial(task));
                    }
                    Next::Wait(until) => {
                        self.look_in(until.since(now));
                        ready!(self.poll_alarm(context));
                    }
                    _ => {
                        let error = error.take();
                        self.line = Line::Ended;
                        return Poll::Ready(error.map(Err));
                    }
                },
                Line::Dialling(id, dial) => {
                    let id = *id;
                    match ready!(Pin::new(&mut dial.0).poll(context)) {
                        Ok(Ok(messages)) => self.open(id, messages),
                        Ok(Err((failure, error))) => self.lost(id, &failure, error),
                        // Its runtime has ended, and another may go on.
                        Err(error) => {
                            let error = io::Error::other(error).into();
                            self.lost(id, &Failure::transient(), error);
                        }
                    }
                }
                Line::Open(id, _) => {
                    let id = *id;
                    let event = ready!(self.poll_open(id, context));
                    return Poll::Ready(Some(Ok(event.unwrap_or_else(|error| {
                        self.lost(id, &Failure::transient(), error.clone());
                        Event::Lost(error)
                    }))));
                }
                Line::Ended => return Poll::Ready(None),
            }
        }
    }

    fn open(&mut self, id: DialId, mut messages: Messages) {
        // It is: there is no other dial.
        let _is_wanted = self.reconnector.opened(id, self.now());
        for command in self.confirmed.begin(&self.topics.anew()) {
            messages.send(&command);
        }
        self.line = Line::Open(id, Box::new(messages));
        self.expect_answer();
    }

    fn lost(&mut self, id: DialId, failure: &Failure, error: RedisError) {
        self.reconnector.failed(id, self.now(), failure);
        self.line = Line::Away(Some(error));
    }

    /// The next event of the connection that is open, or why it is of no use.
    fn poll_open(&mut self, id: DialId, context: &mut Context<'_>) -> Poll<RedisResult<Event>> {
        loop {
            if let Some(event) = self.confirmed.event() {
                if let Event::Refused(topic, _) = &event {
                    self.topics.refused(topic);
                }
                return Poll::Ready(Ok(event));
            }
            let was_due = self.confirmed.is_due();
            for (topic, is_wanted) in self.topics.changes(context.waker()) {
                let commands = self.confirmed.change(topic, is_wanted);
                self.send(commands);
            }
            self.asks_again(context);
            if self.confirmed.is_due() && !was_due {
                self.expect_answer();
            }
            let Line::Open(_, messages) = &mut self.line else {
                return Poll::Pending;
            };
            if let Poll::Ready(value) = messages.poll_value(context) {
                self.confirmed.heard(value?)?;
                self.quiet_since = Instant::now();
                self.reconnector.message(id);
                continue;
            }
            ready!(self.poll_alarm(context));
            self.look()?;
        }
    }

    /// Asks again for those that were interrupted, when it is time.
    fn asks_again(&mut self, context: &mut Context<'_>) {
        if self.confirmed.has_interrupted() {
            let mut ceiling = Duration::ZERO;
            let is_pending = self.again.as_mut().is_some_and(|(wait, last)| {
                ceiling = *last;
                wait.as_mut().poll(context).is_pending()
            });
            if !is_pending {
                if self.again.is_some() {
                    self.confirmed.begin_round();
                }
                ceiling = (ceiling * 2).clamp(AGAIN[0], AGAIN[1]);
                let most = u64::try_from(ceiling.as_millis()).unwrap_or(u64::MAX);
                let wait = Duration::from_millis(uniform(&mut self.random, most / 2, most));
                let mut wait = Box::pin(sleep(wait));
                let _ = wait.as_mut().poll(context);
                self.again = Some((wait, ceiling));
            }
        } else if self.confirmed.is_settled() {
            // All are asked for; those that are refused go on where they were.
            self.again = None;
        }
        let commands = self.confirmed.ask_again();
        self.send(commands);
    }

    fn send(&mut self, commands: Vec<Cmd>) {
        if let Line::Open(_, messages) = &mut self.line {
            for command in commands {
                messages.send(&command);
            }
        }
    }

    fn expect_answer(&mut self) {
        self.quiet_since = Instant::now();
        self.look_in(self.response_timeout);
    }

    /// Looks again, at the latest tomorrow: a setting may say never.
    fn look_in(&mut self, within: Duration) {
        let within = within.min(Duration::from_secs(86_400));
        self.alarm = Some(Box::pin(sleep(within)));
    }

    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.alarm {
            Some(alarm) => alarm.as_mut().poll(context),
            None => Poll::Ready(()),
        }
    }

    /// Looks at a connection over which nothing comes now. Asks whether the server is there, if that has been so for long.
    fn look(&mut self) -> RedisResult<()> {
        let is_due = self.confirmed.is_due();
        let within = if is_due {
            self.response_timeout
        } else {
            self.idle
        };
        let quiet = self.quiet_since.elapsed();
        if quiet < within {
            self.look_in(within.saturating_sub(quiet));
        } else if is_due {
            let silent = "the server answers no more";
            return Err(io::Error::new(io::ErrorKind::TimedOut, silent).into());
        } else {
            let ping = self.confirmed.ping();
            self.send(vec![ping]);
            self.expect_answer();
        }
        Ok(())
    }

    fn now(&self) -> time::Instant {
        time::Instant::ZERO.after(self.began.elapsed())
    }
}

/// As [`Subscription::next`].
impl Stream for Subscription {
    type Item = RedisResult<Event>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<RedisResult<Event>>> {
        self.poll_event(context)
    }
}

/// Without its login.
impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("topics", &self.topics)
            .finish_non_exhaustive()
    }
}
