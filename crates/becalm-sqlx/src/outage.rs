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
use crate::open::Open;
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
    asks: tokio::sync::Mutex<Questions>,
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
            asks: tokio::sync::Mutex::new(Questions::after(0)),
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
        // One that has begun while another was found dead may have left any of the three behind alone.
        let dead = self.dead.load(Ordering::SeqCst);
        if dead > 0 || self.is_suspect() || self.is_away() {
            self.dead.store(0, Ordering::SeqCst);
            self.answers();
        }
    }

    /// The server answers. Whether a transaction can begin is yet to be seen.
    fn answers(&self) {
        self.is_suspect.store(false, Ordering::SeqCst);
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

/// When the next question is due. It outlives who asks, so that the intervals grow also where each has little time.
#[derive(Debug)]
struct Questions {
    ceiling: u64,
    next: Option<Instant>,
    /// How many times the server was back before.
    times: u64,
}

impl Questions {
    const fn after(times: u64) -> Self {
        Self {
            ceiling: CEILINGS[0],
            next: None,
            times,
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
            let pause = drawn(&mut self.random, &mut self.ceiling);
            if self.until.saturating_duration_since(Instant::now()) < pause {
                return Err(None);
            }
            sleep(pause).await;
        }
        let mut asks = tokio::select! {
            biased;
            changed = timeout_at(self.until, back.changed()) => {
                return changed.map(drop).map_err(|_| None);
            }
            asks = self.outage.asks.lock() => asks,
        };
        let times = *self.outage.back.borrow();
        if asks.times != times {
            *asks = Questions::after(times);
        }
        loop {
            let Questions { ceiling, next, .. } = &mut *asks;
            let at = *next.get_or_insert_with(|| Instant::now() + drawn(&mut self.random, ceiling));
            if at > self.until {
                drop(asks); // to who has more time
                let changed = timeout_at(self.until, back.changed()).await;
                return changed.map(drop).map_err(|_| None);
            }
            if let Ok(changed) = timeout_at(at, back.changed()).await {
                return changed.map(drop).map_err(|_| None);
            }
            *next = None;
            let by = self.until.min(Instant::now() + QUESTION);
            match timeout_at(by, ask(source)).await {
                Ok(Ok(())) => {
                    // Before the next may ask: all wake, and none does.
                    self.outage.answers();
                    return Ok(());
                }
                Ok(Err(error)) if !passes(&error, true) => return Err(Some(error)),
                Ok(Err(error)) if Instant::now() >= self.until => return Err(Some(error)),
                _ => (),
            }
        }
    }
}

/// A part of the ceiling, which grows.
fn drawn(random: &mut SplitMix64, ceiling: &mut u64) -> Duration {
    let drawn = Duration::from_millis(uniform(random, 1, *ceiling));
    *ceiling = CEILINGS[1].min(*ceiling * 2);
    drawn
}

/// Asks for a connection, and whether there is a server behind it: a pooler may answer for it.
async fn ask<S: Source>(source: &S) -> Result<(), Error> {
    let mut open = Open::idle(source.connection().await?);
    open.connection().execute("SELECT 1").await?;
    open.give_back();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use sqlx::Postgres;
    use sqlx::pool::PoolConnection;

    use super::*;
    use crate::source::Connecting;

    /// Counts who asks for it.
    #[derive(Default)]
    struct Nowhere(AtomicU32);

    impl Source for Nowhere {
        type Connection = PoolConnection<Postgres>;

        fn connection(&self) -> Connecting<'_, Self::Connection> {
            self.0.fetch_add(1, Ordering::SeqCst);
            Box::pin(async { Err(Error::Io(io::ErrorKind::ConnectionRefused.into())) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_intervals_grow_also_where_each_who_asks_has_little_time() {
        let (outage, source) = (Outage::new(), Nowhere::default());
        for _ in 0..300 {
            let until = Instant::now() + Duration::from_millis(100);
            let waited = outage.wait(until).for_return(&source).await;
            assert!(waited.is_err());
        }
        let asked = source.0.load(Ordering::SeqCst);
        assert!((20..120).contains(&asked), "{asked} questions in 30 s");
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_who_wait_ask_as_one() {
        let (outage, source) = (Arc::new(Outage::new()), Arc::new(Nowhere::default()));
        let mut tasks = tokio::task::JoinSet::new();
        let until = Instant::now() + Duration::from_secs(30);
        for _ in 0..1_000 {
            let (outage, source) = (Arc::clone(&outage), Arc::clone(&source));
            tasks.spawn(async move { outage.wait(until).for_return(&*source).await.is_err() });
        }
        assert!(tasks.join_all().await.into_iter().all(|is_late| is_late));
        let asked = source.0.load(Ordering::SeqCst);
        assert!((20..120).contains(&asked), "{asked} questions in 30 s");
    }

    #[test]
    fn an_outage_that_began_while_another_ended_ends_too() {
        let outage = Outage::new();
        outage.has_begun();
        // What the end of the other does between the two stores of the beginning.
        outage.is_suspect.store(false, Ordering::SeqCst);
        outage.is_over();
        assert!(!outage.is_away(), "a transaction has begun since");
    }
}
