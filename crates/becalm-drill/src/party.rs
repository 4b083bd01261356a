//! What do the clients of one policy do? What an application would, and everything is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use becalm::classify::judged;
use becalm::http::{Exchange, classify_status};
use becalm::rng::Seed;
use becalm::run::RetrierBuilder;
use becalm::shared::Shared;
use becalm::{Attempt, Classify, Policy, Retrier, StopReason, classify::Verdict};
use http::StatusCode;

use super::ask::Ask;
use super::client::{Broken, Connections};
#[cfg(feature = "http")]
use super::http_client::HttpClient;
use super::ledger::{Count, Ledger};
use super::server::{self, Service};
use super::wire::Wire;

/// One policy's clients with their service.
#[derive(Debug)]
pub struct Party {
    clients: Clients,
    ledger: Arc<Ledger>,
    /// The service counts for itself what arrives at it.
    is_counted: bool,
    calls: AtomicU64,
}

#[derive(Debug)]
enum Clients {
    Own(Retrier, Connections),
    #[cfg(feature = "http")]
    Reqwest(HttpClient),
}

impl Party {
    /// Starts a service, and clients that have not called yet.
    ///
    /// # Errors
    ///
    /// The service cannot listen, or the policy is refused.
    pub async fn start(
        name: &str,
        policy: Policy,
        service: Service,
        wire: Wire,
        seed: u64,
        ledger: Arc<Ledger>,
    ) -> Result<Self, String> {
        let address = server::start(service, ledger.clone()).await;
        let address = address.map_err(|error| {
            format!(
                "cannot listen on a port of 127.0.0.1: {error}; allow this process to open sockets"
            )
        })?;
        let builder = policy.builder().name(name).seed(Seed::fixed(seed));
        let clients = match wire {
            Wire::Own => Clients::Own(built(builder)?, Connections::to(address, Ask::default())),
            #[cfg(feature = "http")]
            Wire::Reqwest => Clients::Reqwest(HttpClient::to(address, builder, ledger.clone())?),
        };
        Ok(Self {
            clients,
            ledger,
            is_counted: true,
            calls: AtomicU64::new(0),
        })
    }

    /// Clients of a service that runs already, and tells nothing of itself: what is sent counts as
    /// arrived, and what it answers with 503 as refused.
    ///
    /// # Errors
    ///
    /// The policy is refused.
    pub fn of(
        connections: Connections,
        name: &str,
        policy: Policy,
        seed: u64,
        ledger: Arc<Ledger>,
    ) -> Result<Self, String> {
        let builder = policy.builder().name(name).seed(Seed::fixed(seed));
        Ok(Self {
            clients: Clients::Own(built(builder)?, connections),
            ledger,
            is_counted: false,
            calls: AtomicU64::new(0),
        })
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
            #[cfg(feature = "http")]
            Clients::Reqwest(client) => client.call().await,
        };
        match answered {
            Ok(()) => self.ledger.succeeded(began),
            Err(reason) => self.ledger.gave_up(reason),
        }
    }

    async fn get(&self, retrier: &Retrier, connections: &Connections) -> Result<(), StopReason> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let answered = retrier.retry(|attempt| async move {
            let number = attempt.number();
            let answer = self.attempt(attempt, call, connections).await;
            judged(answer, |answer| verdict(answer, connections.ask(), number))
        });
        let lists = AsRef::<Shared>::as_ref(retrier).retry_on();
        let answered = if connections.ask().is_repeated(lists.as_deref()) {
            answered.await
        } else {
            answered.not_idempotent().await
        };
        answered.map(drop).map_err(|gave_up| gave_up.reason())
    }

    async fn attempt(
        &self,
        attempt: Attempt,
        call: u64,
        connections: &Connections,
    ) -> Result<StatusCode, Broken> {
        self.ledger.add(if attempt.is_hedge() {
            Count::Hedge
        } else if attempt.number() == 1 {
            Count::FirstTry
        } else {
            Count::Retry
        });
        if !self.is_counted {
            self.ledger.add(Count::Arrived);
        }
        let _in_flight = self.ledger.fly();
        let answer = connections.send(call).await;
        match &answer {
            Err(Broken::Short(_)) => self.ledger.add(Count::Unconnected),
            Ok(status) if !self.is_counted && *status == StatusCode::SERVICE_UNAVAILABLE => {
                self.ledger.add(Count::Refused);
            }
            _ => {}
        }
        answer
    }
}

/// By the status, as for any request that may be repeated. A redirect is no answer to who does not follow it: an overloaded
/// gateway may send all its callers to a page that says sorry.
fn verdict(answer: Result<&StatusCode, &Broken>, ask: &Ask, attempt: u32) -> Verdict {
    match answer {
        Ok(status) if status.is_redirection() => status.classify().into(),
        Ok(status) => classify_status(*status, Exchange::new(ask.operation(), attempt)),
        Err(broken) => broken.classify().into(),
    }
}

/// A retrier of a policy, or why that is refused.
///
/// # Errors
///
/// A sentence.
fn built(builder: RetrierBuilder) -> Result<Retrier, String> {
    builder
        .build()
        .map_err(|invalid| format!("the policy is refused: {invalid}"))
}

#[cfg(test)]
mod tests {
    use becalm::Class;

    use super::*;

    #[test]
    fn a_call_that_is_sent_elsewhere_has_failed_for_good() {
        let of = |status: u16| {
            let status = StatusCode::from_u16(status).unwrap();
            verdict(Ok(&status), &Ask::default(), 1)
        };
        for status in [200, 204, 299] {
            assert_eq!(of(status), Verdict::Success, "{status}");
        }
        for status in [301, 302, 304, 307, 399] {
            let Verdict::Failure(failure) = of(status) else {
                panic!("{status} succeeds");
            };
            assert_eq!(failure.class, Class::Permanent, "{status}");
        }
    }
}
