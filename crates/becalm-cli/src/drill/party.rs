//! What do the clients of one policy do? What an application would, and everything is counted.

use std::sync::Arc;

use becalm::classify::judged;
use becalm::http::{Exchange, classify_status};
use becalm::rng::Seed;
use becalm::{Attempt, Classify, Operation, Policy, Retrier, StopReason, classify::Verdict};
use http::StatusCode;

use super::client::{Broken, Connections};
use super::http_client::HttpClient;
use super::ledger::{Count, Ledger};
use super::server::{self, Service};
use super::unready::Unready;
use super::wire::Wire;

/// One policy's clients with their service.
#[derive(Debug)]
pub struct Party {
    clients: Clients,
    ledger: Arc<Ledger>,
}

#[derive(Debug)]
enum Clients {
    Own(Retrier, Connections),
    Reqwest(HttpClient),
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
        wire: Wire,
        seed: u64,
        ledger: Arc<Ledger>,
    ) -> Result<Self, Unready> {
        let address = server::start(service, ledger.clone()).await?;
        let builder = policy.builder().name(name).seed(Seed::fixed(seed));
        let clients = match wire {
            Wire::Own => Clients::Own(builder.build()?, Connections::to(address)),
            Wire::Reqwest => Clients::Reqwest(HttpClient::to(address, builder, ledger.clone())?),
        };
        Ok(Self { clients, ledger })
    }

    /// Where everything is counted.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// One call.
    pub async fn call(&self) {
        let began = self.ledger.begins();
        let answered = match &self.clients {
            Clients::Own(retrier, connections) => self.get(retrier, connections).await,
            Clients::Reqwest(client) => client.call().await,
        };
        match answered {
            Ok(()) => self.ledger.succeeded(began),
            Err(reason) => self.ledger.gave_up(reason),
        }
    }

    async fn get(&self, retrier: &Retrier, connections: &Connections) -> Result<(), StopReason> {
        let answered = retrier.retry(|attempt| async move {
            judged(self.attempt(attempt, connections).await, verdict)
        });
        let answered = answered.await;
        answered.map(drop).map_err(|gave_up| gave_up.reason())
    }

    async fn attempt(
        &self,
        attempt: Attempt,
        connections: &Connections,
    ) -> Result<StatusCode, Broken> {
        self.ledger.add(if attempt.is_hedge() {
            Count::Hedge
        } else if attempt.number() == 1 {
            Count::FirstTry
        } else {
            Count::Retry
        });
        let _in_flight = self.ledger.fly();
        let answer = connections.get().await;
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
