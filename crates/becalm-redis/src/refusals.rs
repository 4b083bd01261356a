//! Who asks again whether a server still refuses, and who waits to hear it?
//!
//! A server that loads its data, runs a long script or has lost its replicas refuses all commands of its clients at once. Each
//! waits for as long as it would for a connection, and one of them asks, at growing intervals. When it is accepted, the
//! others are sent.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use becalm::rng::{SplitMix64, uniform};
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::time::{Instant, sleep, timeout_at};

/// What a server says in place of executing while it is in a state that passes.
const PASSING: [&str; 6] = [
    "BUSY",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "NOREPLICAS",
    "READONLY",
];

/// Whether the state that this word tells of passes.
pub(crate) fn passes(code: &str) -> bool {
    PASSING.contains(&code)
}

/// The first ceiling of the waits between two questions, in milliseconds, and the last: those between two dials.
const CEILINGS: [u64; 2] = [50, 1_000];

/// Those whose commands are refused.
#[derive(Debug)]
pub(crate) struct Refusals {
    asks: Mutex<()>,
    /// How many were accepted that had been refused before.
    accepted: watch::Sender<u64>,
}

impl Refusals {
    pub fn new() -> Self {
        Self {
            asks: Mutex::default(),
            accepted: watch::Sender::new(0),
        }
    }

    /// Begins the wait of a command that was refused for the first time.
    pub fn begin(&self, patience: Duration) -> Waiting<'_> {
        Waiting {
            refusals: self,
            until: Instant::now() + patience,
            accepted: self.accepted.subscribe(),
            asks: None,
            was_woken: false,
            random: SplitMix64::new(RandomState::new().hash_one(0)),
            ceiling: CEILINGS[0],
        }
    }
}

/// The wait of one command.
pub(crate) struct Waiting<'a> {
    refusals: &'a Refusals,
    until: Instant,
    accepted: watch::Receiver<u64>,
    /// It is the one that asks.
    asks: Option<MutexGuard<'a, ()>>,
    /// It was woken, and refused again: the state of the others is not its own.
    was_woken: bool,
    random: SplitMix64,
    ceiling: u64,
}

impl Waiting<'_> {
    /// Waits until it is worth a try. Not if that would be too late.
    pub async fn may_try(&mut self) -> bool {
        if self.asks.is_none() {
            let turn = self.refusals.asks.lock();
            tokio::select! {
                biased;
                _ = timeout_at(self.until, self.accepted.changed()) => {
                    if Instant::now() >= self.until {
                        return false;
                    }
                    if !std::mem::replace(&mut self.was_woken, true) {
                        return true;
                    }
                }
                asks = turn => self.asks = Some(asks),
            }
        }
        let interval = Duration::from_millis(uniform(&mut self.random, 1, self.ceiling));
        self.ceiling = CEILINGS[1].min(self.ceiling * 2);
        if self.until.saturating_duration_since(Instant::now()) < interval {
            return false;
        }
        sleep(interval).await;
        true
    }

    /// The command was accepted: so will those of the others be.
    pub fn was_accepted(self) {
        drop(self.asks);
        self.refusals.accepted.send_modify(|count| *count += 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::task::JoinSet;

    use super::*;

    /// How many questions there are while all commands are refused for so long, and who was answered.
    async fn ask(commands: usize, refused: Duration, patience: Duration) -> (u32, usize) {
        let refusals = Arc::new(Refusals::new());
        let asked = Arc::<AtomicU32>::default();
        let end = Instant::now() + refused;
        let mut all = JoinSet::new();
        for _ in 0..commands {
            let (refusals, asked) = (refusals.clone(), asked.clone());
            all.spawn(async move {
                let mut waiting = refusals.begin(patience);
                while waiting.may_try().await {
                    if Instant::now() >= end {
                        waiting.was_accepted();
                        return true;
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                false
            });
        }
        let answered = all
            .join_all()
            .await
            .into_iter()
            .filter(|is_answered| *is_answered);
        (asked.load(Ordering::Relaxed), answered.count())
    }

    #[tokio::test(start_paused = true)]
    async fn one_asks_for_all_and_all_are_sent_when_it_is_accepted() {
        let (asked, answered) = ask(2_000, Duration::from_secs(3), Duration::from_secs(15)).await;
        assert_eq!(answered, 2_000);
        assert!((4..40).contains(&asked), "{asked}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_waited_for_as_long_as_it_may_is_told() {
        let (_, answered) = ask(100, Duration::from_secs(20), Duration::from_secs(15)).await;
        assert_eq!(answered, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_one_that_asks_is_dropped_another_does() {
        let refusals = Refusals::new();
        let mut first = refusals.begin(Duration::from_secs(15));
        assert!(first.may_try().await);
        let mut second = refusals.begin(Duration::from_secs(15));
        let is_waiting = tokio::time::timeout(Duration::from_secs(9), second.may_try()).await;
        assert!(is_waiting.is_err());
        drop(first);
        assert!(second.may_try().await);
    }
}
