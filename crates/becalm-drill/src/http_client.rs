//! How do the calls of one policy go through becalm-reqwest? As an application would make them; an
//! observer counts their attempts.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use becalm::StopReason;
use becalm::classify::Effect;
use becalm::observe::{About, Event, Observer};
use becalm::run::{Last, RetrierBuilder, Stopped};
use becalm_reqwest::{Client, NoAnswer};

use super::ledger::{Count, InFlight, Ledger};

/// The clients of one policy, which share connections and retrier.
#[derive(Debug)]
pub struct HttpClient {
    client: Client,
    url: String,
    ledger: Arc<Ledger>,
}

impl HttpClient {
    /// No connections yet. reqwest keeps as many as it likes.
    ///
    /// # Errors
    ///
    /// The policy is refused, or reqwest cannot build its client.
    pub fn to(
        address: SocketAddr,
        retrier: RetrierBuilder,
        ledger: Arc<Ledger>,
    ) -> Result<Self, String> {
        let retrier = retrier.observer(Attempts(ledger.clone())).build();
        let retrier = retrier.map_err(|invalid| format!("the policy is refused: {invalid}"))?;
        // A proxy of the environment is not for this machine.
        let reqwest = reqwest::Client::builder().no_proxy();
        Ok(Self {
            client: Client::new(reqwest, &retrier)
                .map_err(|error| format!("reqwest cannot build its client: {error}"))?,
            url: format!("http://{address}/"),
            ledger,
        })
    }

    /// One call.
    pub async fn call(&self) -> Result<(), StopReason> {
        FLYING.scope(RefCell::default(), self.get()).await
    }

    async fn get(&self) -> Result<(), StopReason> {
        match self.client.get(&self.url).send().await {
            Ok(answer) => {
                let stopped = answer.extensions().get().map(Stopped::reason);
                stopped.map_or(Ok(()), Err)
            }
            Err(no_answer) => {
                // Of a failure that is followed by no attempt the observer does not hear the effect.
                if flying(|flying| !flying.is_empty()) && is_unconnected(&no_answer) {
                    self.ledger.add(Count::Unconnected);
                }
                Err(no_answer.reason())
            }
        }
    }
}

fn is_unconnected(no_answer: &NoAnswer) -> bool {
    matches!(no_answer.last(), Last::Error(error) if error.is_connect())
}

tokio::task_local! {
    /// The attempts of the call that runs. They end with it at the latest.
    static FLYING: RefCell<Vec<InFlight>>;
}

fn flying<T: Default>(with: impl FnOnce(&mut Vec<InFlight>) -> T) -> T {
    FLYING
        .try_with(|flying| with(&mut flying.borrow_mut()))
        .unwrap_or_default()
}

/// Counts attempts as they begin and end.
struct Attempts(Arc<Ledger>);

impl Attempts {
    fn begins(&self, count: Count) {
        self.0.add(count);
        flying(|flying| flying.push(self.0.fly()));
    }
}

impl Observer for Attempts {
    fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
        match event {
            Event::Attempt { number: 1, .. } => self.begins(Count::FirstTry),
            Event::Attempt { .. } => self.begins(Count::Retry),
            Event::Hedge { .. } => self.begins(Count::Hedge),
            Event::Beaten { .. } => flying(|flying| drop(flying.pop())),
            Event::Retry { effect, .. } => {
                flying(Vec::clear);
                if *effect == Effect::Unsent {
                    self.0.add(Count::Unconnected);
                }
            }
            _ => (),
        }
    }
}
