//! How do all policies get the same calls at the same time, each with its own service?
//!
//! Open loop: a call begins when the recording says so, however the earlier ones end.

use std::sync::Arc;
use std::time::Duration;

use becalm::Policy;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::ledger::Ledger;
use super::party::Party;
use super::server::Service;
use super::wire::Wire;

/// How long calls may go on after the last arrival at least; longer ones are cut off.
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
    /// A call that is later than this does not begin, and none after it.
    latest: Duration,
    /// How long calls may go on after the last arrival.
    drain: Duration,
}

/// When no more calls begin, from the start: it may be set while they do.
#[derive(Debug, Clone)]
pub struct End(Arc<watch::Sender<Duration>>);

impl End {
    /// With the last arrival.
    pub fn open() -> Self {
        Self(Arc::new(watch::Sender::new(Duration::MAX)))
    }

    /// Calls that are due at this time, or later, do not begin.
    pub fn set(&self, at: Duration) {
        self.0.send_replace(at);
    }

    /// Waits until a call is due, or the end is there before it: whether it may begin.
    async fn is_behind(&self, start: Instant, due: Duration) -> bool {
        let mut end = self.0.subscribe();
        loop {
            let known = *end.borrow_and_update();
            tokio::select! {
                biased;
                _ = end.changed() => {}
                () = sleep_until(start + due.min(known)) => return due < known,
            }
        }
    }
}

/// How long calls may go on after the last arrival where a client waits so long for an attempt: as long as for the slowest
/// answer.
pub fn drain(patience: Duration) -> Duration {
    DRAIN.max(patience)
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
    ) -> Result<Self, String> {
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
            latest: Duration::MAX,
            drain: DRAIN,
        })
    }

    /// Clients that are ready, and the end of their calls. If one of them is late by more than the `patience` with which they
    /// wait for an attempt, this process stood still: what was due meanwhile would come all at once, so that nothing more
    /// begins.
    pub fn of(start: Instant, party: Party, end: End, patience: Duration) -> Self {
        Self {
            start,
            parties: vec![Arc::new(party)],
            end,
            latest: patience,
            drain: drain(patience),
        }
    }

    /// Where the counts of each policy are kept, in the order of the policies.
    pub fn ledgers(&self) -> Vec<Arc<Ledger>> {
        let ledgers = self.parties.iter().map(|party| party.ledger().clone());
        ledgers.collect()
    }

    /// Makes every call at its time, and waits until all have ended or their time to do so is over.
    pub async fn run(self, arrivals: Vec<Duration>) -> Played {
        let mut calls = JoinSet::new();
        let mut played = Played::default();
        for at in arrivals {
            if !self.end.is_behind(self.start, at).await {
                break;
            }
            let began = self.start.elapsed();
            let late = began.saturating_sub(at);
            played.lateness = played.lateness.max(late);
            if late > self.latest {
                break;
            }
            played.began.push(began);
            for party in &self.parties {
                let party = party.clone();
                calls.spawn(async move { party.call().await });
            }
            while calls.try_join_next().is_some() {}
        }
        let all = async { while calls.join_next().await.is_some() {} };
        // Cut off or not: what was counted stands.
        let _ = timeout(self.drain, all).await;
        played
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Ask;
    use crate::client::Connections;
    use crate::ledger::Count;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Calls that nobody answers, for clients that wait for a minute.
    fn replay(start: Instant, end: &End) -> Replay {
        let nobody = Connections::to(([127, 0, 0, 1], 1).into(), Ask::default());
        let ledger = Arc::new(Ledger::new(start, MINUTE));
        let mut policy = Policy::default();
        policy.attempts = 1;
        let party = Party::of(nobody, "nobody", policy, 7, ledger).unwrap();
        Replay::of(start, party, end.clone(), MINUTE)
    }

    #[tokio::test]
    async fn calls_that_were_missed_while_the_drill_stood_still_are_not_made_up_for() {
        let start = Instant::now() - 60 * MINUTE;
        let missed = (0..50).map(|minute| minute * MINUTE).collect();
        let played = replay(start, &End::open()).run(missed).await;
        assert_eq!(played.began, []);
        assert!(played.lateness >= 60 * MINUTE, "{played:?}");
    }

    #[tokio::test]
    async fn an_end_does_not_wait_for_the_next_call_but_for_its_own_time() {
        let start = Instant::now();
        let end = End::open();
        let replay = replay(start, &end);
        let ledger = replay.ledgers().remove(0);
        end.set(60 * MINUTE);
        let running = tokio::spawn(replay.run(vec![Duration::ZERO, 30 * MINUTE]));
        while ledger.recording().total(Count::Call) == 0 {
            tokio::task::yield_now().await;
        }
        let soon = start.elapsed() + MINUTE / 300;
        end.set(soon);
        let played = timeout(MINUTE, running).await.unwrap().unwrap();
        assert_eq!(played.began.len(), 1);
        assert!(start.elapsed() >= soon, "until then it may be put off");
    }
}
