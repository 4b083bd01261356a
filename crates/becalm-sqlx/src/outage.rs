//! What have the transactions of a database lost together, and what do they wait for together?
//!
//! A server that restarts takes all connections of a pool with it. One that lies idle is found dead by the `BEGIN` of its next
//! transaction: nothing was done, so another is taken at once. When as many were found dead as the pool has, or none is to be
//! had, all wait, and one of them asks at growing intervals. What was in flight is lost together, and charged once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use becalm::classify::Loss;
use becalm::rng::{Seed, SplitMix64, uniform};
use sqlx::{Error, Executor};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::failed::passes;
use crate::source::Source;

/// The first ceiling of the waits between two questions, in milliseconds, and the last: those between two dials.
const CEILINGS: [u64; 2] = [50, 1_000];

/// How long one question may take, where the patience leaves more: a server that is stopped accepts, and answers nothing.
const QUESTION: Duration = Duration::from_secs(10);

/// What a database knows of its server.
#[derive(Debug)]
pub(crate) struct Outage {
    /// How many connections were found dead since one was good.
    dead: AtomicUsize,
    /// Whether a connection was lost, or found dead, since one was good.
    is_suspect: AtomicBool,
    is_away: AtomicBool,
    asks: tokio::sync::Mutex<()>,
    /// How many times the server was back.
    back: watch::Sender<u64>,
    /// What is lost with the connections of now.
    loss: Mutex<Loss>,
}

impl Outage {
    pub fn new() -> Self {
        Self {
            dead: AtomicUsize::new(0),
            is_suspect: AtomicBool::new(false),
            is_away: AtomicBool::new(false),
            asks: tokio::sync::Mutex::default(),
            back: watch::Sender::new(0),
            loss: Mutex::new(Loss::unique()),
        }
    }

    /// What a transaction that begins now would be lost with.
    pub fn loss(&self) -> Loss {
        *self.loss.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It has come about: what begins from here on is lost with another.
    pub fn has_lost(&self, loss: Loss) {
        self.is_suspect.store(true, Ordering::SeqCst);
        let mut now = self.loss.lock().unwrap_or_else(PoisonError::into_inner);
        if *now == loss {
            *now = Loss::unique();
        }
    }

    /// Whether the server may be away, where no connection comes in time.
    pub fn is_suspect(&self) -> bool {
        self.is_suspect.load(Ordering::SeqCst)
    }

    /// Whether it is known that the server is away, so that one asks for it.
    pub fn is_away(&self) -> bool {
        self.is_away.load(Ordering::SeqCst)
    }

    /// Nobody answers: who comes from here on waits at the cost of no attempt's time.
    pub fn has_begun(&self) {
        self.is_suspect.store(true, Ordering::SeqCst);
        self.is_away.store(true, Ordering::SeqCst);
    }

    /// A transaction has begun.
    pub fn is_over(&self) {
        if !self.is_suspect() {
            return;
        }
        self.is_suspect.store(false, Ordering::SeqCst);
        self.dead.store(0, Ordering::SeqCst);
        if self.is_away.swap(false, Ordering::SeqCst) {
            self.back.send_modify(|times| *times += 1);
        }
    }

    /// A connection was found dead: whether another may be taken at once, where there are so many.
    pub fn may_replace(&self, connections: usize) -> bool {
        self.is_suspect.store(true, Ordering::SeqCst);
        self.dead.fetch_add(1, Ordering::SeqCst) < connections
    }

    /// Begins the waits of one attempt, which end at this time.
    pub fn wait(&self, until: Instant) -> Wait<'_> {
        Wait {
            outage: self,
            until,
            was_woken: false,
            random: Seed::entropy().stream(),
            ceiling: CEILINGS[0],
        }
    }
}

/// The waits of one attempt.
pub(crate) struct Wait<'o> {
    outage: &'o Outage,
    until: Instant,
    /// The server was back, and yet it is waited for again.
    was_woken: bool,
    random: SplitMix64,
    ceiling: u64,
}

impl Wait<'_> {
    /// Waits until the server is back. The error is why it is not, or why this will not pass; without one it is too late.
    pub async fn for_return<S: Source>(&mut self, source: &S) -> Result<(), Option<Error>> {
        let mut back = self.outage.back.subscribe();
        self.outage.has_begun();
        if std::mem::replace(&mut self.was_woken, true) {
            self.pause().await?;
        }
        let asks = tokio::select! {
            biased;
            changed = timeout_at(self.until, back.changed()) => {
                return changed.map(drop).map_err(|_| None);
            }
            asks = self.outage.asks.lock() => asks,
        };
        loop {
            self.pause().await?;
            let by = self.until.min(Instant::now() + QUESTION);
            match timeout_at(by, ask(source)).await {
                Ok(Ok(())) => {
                    drop(asks);
                    self.outage.is_over();
                    return Ok(());
                }
                Ok(Err(error)) if !passes(&error, true) => return Err(Some(error)),
                Ok(Err(error)) if Instant::now() >= self.until => return Err(Some(error)),
                _ => (),
            }
        }
    }

    /// A part of the ceiling, unless that would be too late.
    async fn pause(&mut self) -> Result<(), Option<Error>> {
        let pause = Duration::from_millis(uniform(&mut self.random, 1, self.ceiling));
        self.ceiling = CEILINGS[1].min(self.ceiling * 2);
        if self.until.saturating_duration_since(Instant::now()) < pause {
            return Err(None);
        }
        sleep(pause).await;
        Ok(())
    }
}

/// Asks for a connection, and whether there is a server behind it: a pooler may answer for it.
async fn ask<S: Source>(source: &S) -> Result<(), Error> {
    let mut connection = source.connection().await?;
    let answered = connection.execute("SELECT 1").await;
    if answered.is_err() {
        crate::source::Pooled::discard(connection);
    }
    answered.map(drop)
}
