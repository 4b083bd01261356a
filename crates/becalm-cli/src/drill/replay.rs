//! How do all policies get the same calls at the same time, each with its own service?
//!
//! Open loop: a call begins when the recording says so, whatever became of those before it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use becalm::http::{Exchange, classify_status};
use becalm::rng::Seed;
use becalm::{Classify, InvalidPolicy, Operation, Retrier, Verdict};
use http::StatusCode;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::client::{Broken, Connections};
use super::ledger::{Count, Ledger};
use super::server::{self, Hang};
use super::setup::Setup;
use super::variant::Variant;

/// How long calls may go on after the last arrival; longer ones are cut off.
pub const DRAIN: Duration = Duration::from_secs(2);

/// Between the start of the services and that of the drill.
const LEAD: Duration = Duration::from_millis(200);

/// One policy's clients with their service.
#[derive(Debug)]
struct Party {
    retrier: Retrier,
    connections: Connections,
    ledger: Arc<Ledger>,
}

impl Party {
    async fn attempt(&self) -> Result<StatusCode, Broken> {
        let answer = self.connections.get().await;
        if matches!(answer, Err(Broken::Connect(_))) {
            self.ledger.add(Count::Unconnected);
        }
        answer
    }

    /// One call: what an application would write.
    async fn call(&self) {
        let answered = self.retrier.retry(|attempt| {
            self.ledger.add(if attempt.number() == 1 {
                Count::FirstTry
            } else {
                Count::Retry
            });
            self.attempt()
        });
        match answered.classify_with(verdict).await {
            Ok(_) => self.ledger.add(Count::Succeeded),
            Err(gave_up) => self.ledger.gave_up(gave_up.reason()),
        }
    }
}

/// By the status, as for any idempotent request.
fn verdict(answer: Result<&StatusCode, &Broken>) -> Verdict {
    match answer {
        Ok(status) => classify_status(*status, Exchange::new(Operation::Idempotent, 1)),
        Err(broken) => broken.classify().into(),
    }
}

/// Everything that is ready to begin.
#[derive(Debug)]
pub struct Replay {
    start: Instant,
    parties: Vec<Arc<Party>>,
}

impl Replay {
    /// Starts a service for every policy, and its clients.
    pub async fn prepare(setup: &Setup, variants: &[Variant], seed: u64) -> Result<Self, Unready> {
        let start = Instant::now() + LEAD;
        let hang = Hang {
            from: start + setup.before,
            to: start + setup.trigger_end(),
        };
        let mut parties = Vec::new();
        let mut seed = seed;
        for variant in variants {
            let ledger = Arc::new(Ledger::new(start, setup.length() + DRAIN));
            let address = server::start(setup, hang, ledger.clone()).await;
            seed = seed.wrapping_add(1);
            let builder = variant.policy.clone().builder();
            parties.push(Arc::new(Party {
                retrier: builder.name(variant.name).seed(Seed::fixed(seed)).build()?,
                connections: Connections::to(address?),
                ledger,
            }));
        }
        Ok(Self { start, parties })
    }

    /// The moment of the first arrival's zero.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// Where the counts of each policy are kept, in the order of the variants.
    pub fn ledgers(&self) -> Vec<Arc<Ledger>> {
        let ledgers = self.parties.iter().map(|party| party.ledger.clone());
        ledgers.collect()
    }

    /// Makes every call at its time, and waits until all have ended or [`DRAIN`] is over. Returns
    /// by how much a call was late at worst.
    pub async fn run(self, arrivals: Vec<Duration>) -> Duration {
        let mut calls = JoinSet::new();
        let mut latest = Duration::ZERO;
        for at in arrivals {
            let due = self.start + at;
            sleep_until(due).await;
            latest = latest.max(due.elapsed());
            for party in &self.parties {
                let party = party.clone();
                calls.spawn(async move { party.call().await });
            }
            while calls.try_join_next().is_some() {}
        }
        let all = async { while calls.join_next().await.is_some() {} };
        // Cut off or not: what was counted stands.
        let _ = timeout(DRAIN, all).await;
        latest
    }
}

/// Why the drill cannot begin.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unready {
    /// A service cannot listen.
    Listen(io::Error),
    /// A policy is refused.
    Policy(InvalidPolicy),
}

impl From<io::Error> for Unready {
    fn from(error: io::Error) -> Self {
        Self::Listen(error)
    }
}

impl From<InvalidPolicy> for Unready {
    fn from(invalid: InvalidPolicy) -> Self {
        Self::Policy(invalid)
    }
}

impl std::fmt::Display for Unready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Listen(error) => write!(
                f,
                "cannot listen on a port of 127.0.0.1: {error}; allow this process to open sockets"
            ),
            Self::Policy(invalid) => write!(f, "the policy is refused: {invalid}"),
        }
    }
}

impl std::error::Error for Unready {}
