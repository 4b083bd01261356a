//! How long does a call wait for a login? As long as it has time, before its attempts and between them.

use core::time::Duration;
use std::error::Error;

use crate::run::{Retrier, before_attempts};
use crate::time::{Instant, Sleeper, before};

use super::Login;

impl<V: Clone + Send + 'static> Login<V> {
    /// As [`ready`](Self::ready), before the attempts of a call begin: within the call's time, which is shorter by that. The deadline
    /// that is left.
    pub async fn ready_for<F, E>(
        &self,
        retrier: &Retrier,
        deadline: Option<Duration>,
        fetch: impl Fn(bool) -> F + Clone + Send + 'static,
    ) -> Option<Duration>
    where
        F: Future<Output = Result<V, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        before_attempts(retrier, deadline, self.ready(fetch)).await
    }

    /// As [`ready`](Self::ready), but comes back at this time if the login takes longer.
    pub async fn ready_by<F, E>(
        &self,
        sleeper: &dyn Sleeper,
        ends: Instant,
        fetch: impl Fn(bool) -> F + Clone + Send + 'static,
    ) where
        F: Future<Output = Result<V, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let timer = (ends != Instant::NEVER).then(|| sleeper.sleep_until(ends));
        before(self.ready(fetch), timer).await;
    }
}
