//! What does a call wait for before its attempts? What serves all of them, such as a login or a connection.

use core::time::Duration;

use crate::policy::Mode;
use crate::scope::Scope;
use crate::time::{Instant, before};

use super::Retrier;

/// Waits for this before the attempts of a call begin: within the call's time, which is shorter by that. The deadline that is left.
pub async fn before_attempts(
    retrier: &Retrier,
    deadline: Option<Duration>,
    ready: impl Future,
) -> Option<Duration> {
    let sleeper = retrier.sleeper();
    let began = sleeper.now();
    let policy = retrier.policy();
    let deadline = deadline.or(policy.deadline);
    let ends = if policy.mode == Mode::Enforce {
        let own = deadline.map_or(Instant::NEVER, |deadline| began.after(deadline));
        let above = Scope::current().deadline(sleeper.clock());
        above.map_or(own, |above| above.min(own))
    } else {
        Instant::NEVER
    };
    let timer = (ends != Instant::NEVER).then(|| sleeper.sleep_until(ends));
    before(ready, timer).await;
    let waited = sleeper.now().since(began);
    deadline.map(|deadline| deadline.saturating_sub(waited))
}
