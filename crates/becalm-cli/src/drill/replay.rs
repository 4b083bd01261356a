//! How do all policies get the same calls at the same time, each with its own service?
//!
//! Open loop: a call begins when the recording says so, however the earlier ones end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm::Policy;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::ledger::Ledger;
use super::party::Party;
use super::server::Service;
use super::unready::Unready;
use super::wire::Wire;

/// How long calls may go on after the last arrival; longer ones are cut off.
pub const DRAIN: Duration = Duration::from_secs(2);

/// Between the start of the services and that of the drill.
pub const LEAD: Duration = Duration::from_millis(200);

/// What the load generator did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Played {
    /// When each call began, from the start: no sooner than it was due.
    pub began: Vec<Duration>,
    /// By how much a call was late at worst.
    pub lateness: Duration,
}

/// Everything that is ready to begin.
#[derive(Debug)]
pub struct Replay {
    start: Instant,
    parties: Vec<Arc<Party>>,
    end: End,
}

/// When no more calls begin, from the start: it may be set while they do.
#[derive(Debug, Clone)]
pub struct End(Arc<AtomicU64>);

impl End {
    /// With the last arrival.
    pub fn open() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// Calls that are due at this time, or later, do not begin.
    pub fn set(&self, at: Duration) {
        let at = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        self.0.store(at, Ordering::Relaxed);
    }

    fn is_before(&self, at: Duration) -> bool {
        at.as_nanos() >= u128::from(self.0.load(Ordering::Relaxed))
    }
}

impl Replay {
    /// Starts a service for every policy, and its clients; calls arrive from `start` on, for this
    /// `length`.
    ///
    /// # Errors
    ///
    /// A service cannot listen, or a policy is refused.
    pub async fn prepare<'a>(
        start: Instant,
        length: Duration,
        service: Service,
        wire: Wire,
        policies: impl Iterator<Item = (&'a str, &'a Policy)>,
        seed: u64,
    ) -> Result<Self, Unready> {
        let mut parties = Vec::new();
        let mut seed = seed;
        for (name, policy) in policies {
            let ledger = Arc::new(Ledger::new(start, length + DRAIN));
            seed = seed.wrapping_add(1);
            let party = Party::start(name, policy.clone(), service, wire, seed, ledger).await?;
            parties.push(Arc::new(party));
        }
        Ok(Self {
            start,
            parties,
            end: End::open(),
        })
    }

    /// Clients that are ready, and the end of their calls.
    pub fn of(start: Instant, party: Party, end: End) -> Self {
        Self {
            start,
            parties: vec![Arc::new(party)],
            end,
        }
    }

    /// Where the counts of each policy are kept, in the order of the policies.
    pub fn ledgers(&self) -> Vec<Arc<Ledger>> {
        let ledgers = self.parties.iter().map(|party| party.ledger().clone());
        ledgers.collect()
    }

    /// Makes every call at its time, and waits until all have ended or [`DRAIN`] is over.
    pub async fn run(self, arrivals: Vec<Duration>) -> Played {
        let mut calls = JoinSet::new();
        let mut played = Played::default();
        for at in arrivals {
            sleep_until(self.start + at).await;
            if self.end.is_before(at) {
                break;
            }
            let began = self.start.elapsed();
            played.lateness = played.lateness.max(began.saturating_sub(at));
            played.began.push(began);
            for party in &self.parties {
                let party = party.clone();
                calls.spawn(async move { party.call().await });
            }
            while calls.try_join_next().is_some() {}
        }
        let all = async { while calls.join_next().await.is_some() {} };
        // Cut off or not: what was counted stands.
        let _ = timeout(DRAIN, all).await;
        played
    }
}
