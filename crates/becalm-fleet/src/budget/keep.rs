//! Who drives the exchanges with a store? A future, which the owner spawns.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use std::sync::Arc;

use becalm::rng::Seed;
use becalm::support::default_sleeper;
use becalm::time::Sleeper;

use super::bucket::{Answer, Exchange};
use super::config::Fleet;
use super::exchanges::Step;
use super::lease::FleetBudget;

/// Where the bucket of a fleet is.
///
/// It applies [`Bucket::exchange`](super::Bucket::exchange) to what all processes share, one exchange after the other.
pub trait Store: Send + Sync + 'static {
    /// Why there is no answer.
    type Error: Send;

    /// Makes one exchange. It may be sent again as it is: its number sees to it that it counts once.
    fn exchange(
        &self,
        fleet: &Fleet,
        exchange: &Exchange,
    ) -> impl Future<Output = Result<Answer, Self::Error>> + Send;
}

impl FleetBudget {
    /// Exchanges with this store until nobody holds the budget any more. Spawn it, once a process.
    ///
    /// Nothing waits for it: a store that is slow or away makes tokens scarce, and no call slower.
    pub fn keep<S: Store>(self: &Arc<Self>, store: S) -> impl Future<Output = ()> + Send + use<S> {
        self.keep_on(store, default_sleeper(), &Seed::entropy())
    }

    /// Exchanges with this store, on a clock and a source of randomness of your own, as in a test.
    pub fn keep_on<S: Store>(
        self: &Arc<Self>,
        store: S,
        sleeper: Arc<dyn Sleeper>,
        seed: &Seed,
    ) -> impl Future<Output = ()> + Send + use<S> {
        let (budget, bell) = (Arc::downgrade(self), Arc::clone(&self.bell));
        let fleet = *self.fleet();
        let mut exchanges = self.exchanges(seed.stream(), sleeper.now());
        async move {
            let mut out = pin!(None);
            let mut sent = 0;
            loop {
                let step = match budget.upgrade() {
                    Some(budget) => exchanges.poll(&budget, sleeper.now()),
                    None => return,
                };
                let wake_at = match step {
                    Step::WaitUntil(at) => at,
                    Step::Send(exchange) => {
                        sent = exchange.sequence;
                        let store = &store;
                        let sending = async move { store.exchange(&fleet, &exchange).await };
                        out.set(Some(sending));
                        continue;
                    }
                };
                let mut sleep = sleeper.sleep_until(wake_at);
                let answer = poll_fn(|context| {
                    if bell.has_rung(context.waker()) {
                        return Poll::Ready(None);
                    }
                    if let Some(out) = out.as_mut().as_pin_mut() {
                        if let Poll::Ready(answer) = out.poll(context) {
                            return Poll::Ready(Some(answer));
                        }
                    }
                    sleep.as_mut().poll(context).map(|()| None)
                })
                .await;
                let (Some(answer), Some(budget)) = (answer, budget.upgrade()) else {
                    continue;
                };
                out.set(None);
                match answer {
                    Ok(answer) => exchanges.answered(&budget, sleeper.now(), sent, answer),
                    Err(_) => exchanges.failed(&budget, sent),
                }
            }
        }
    }
}
