//! What do the clients of one policy do? What an application would, and everything is counted.

use std::io;
use std::sync::Arc;

use becalm::classify::judged;
use becalm::http::{Exchange, classify_status};
use becalm::rng::Seed;
use becalm::{
    Attempt, Classify, Operation, Policy, Retrier, classify::Verdict, policy::InvalidPolicy,
};
use http::StatusCode;

use super::client::{Broken, Connections};
use super::ledger::{Count, Ledger};
use super::server::{self, Service};

/// One policy's clients with their service.
#[derive(Debug)]
pub struct Party {
    retrier: Retrier,
    connections: Connections,
    ledger: Arc<Ledger>,
}

impl Party {
    /// Starts a service, and clients that have not called yet.
    ///
    /// # Errors
    ///
    /// The service cannot listen, or the policy is refused.
    pub async fn start(
        name: &'static str,
        policy: Policy,
        service: Service,
        seed: u64,
        ledger: Arc<Ledger>,
    ) -> Result<Self, Unready> {
        let address = server::start(service, ledger.clone()).await?;
        let builder = policy.builder().name(name).seed(Seed::fixed(seed));
        Ok(Self {
            retrier: builder.build()?,
            connections: Connections::to(address),
            ledger,
        })
    }

    /// Where everything is counted.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// One call.
    pub async fn call(&self) {
        let began = self.ledger.begins();
        let answered = self
            .retrier
            .retry(|attempt| async move { judged(self.attempt(attempt).await, verdict) });
        match answered.await {
            Ok(_) => self.ledger.succeeded(began),
            Err(gave_up) => self.ledger.gave_up(gave_up.reason()),
        }
    }

    async fn attempt(&self, attempt: Attempt) -> Result<StatusCode, Broken> {
        self.ledger.add(if attempt.is_hedge() {
            Count::Hedge
        } else if attempt.number() == 1 {
            Count::FirstTry
        } else {
            Count::Retry
        });
        let _in_flight = self.ledger.fly();
        let answer = self.connections.get().await;
        if matches!(answer, Err(Broken::Connect(_))) {
            self.ledger.add(Count::Unconnected);
        }
        answer
    }
}

/// By the status, as for any idempotent request.
fn verdict(answer: Result<&StatusCode, &Broken>) -> Verdict {
    match answer {
        Ok(status) => classify_status(*status, Exchange::new(Operation::Idempotent, 1)),
        Err(broken) => broken.classify().into(),
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
