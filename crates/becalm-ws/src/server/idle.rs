//! How long has nothing happened on a connection that stays for its next request?

use std::task::{Context, Poll};
use std::time::Duration;

use becalm::time::{Instant, Sleep, Sleeper};

/// How long a connection may be silent that no layer ends with its answer: as long as proxies wait for what is behind them.
pub(super) const QUIET: Duration = Duration::from_secs(60);

/// Since when a connection of HTTP/2 is idle. The timer is set again when it fires, so that a byte sets none.
pub(super) struct Idle {
    since: Instant,
    timer: Sleep,
}

impl Idle {
    pub fn new(sleeper: &dyn Sleeper) -> Self {
        let since = sleeper.now();
        let timer = sleeper.sleep_until(since.after(QUIET));
        Self { since, timer }
    }

    /// Something happens now.
    pub fn ends(&mut self, now: Instant) {
        self.since = now;
    }

    /// Ready when it was idle for a minute.
    pub fn poll(
        &mut self,
        sleeper: &dyn Sleeper,
        is_working: bool,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        while self.timer.as_mut().poll(context).is_ready() {
            let now = sleeper.now();
            if is_working {
                self.ends(now);
            }
            let until = self.since.after(QUIET);
            if until <= now {
                return Poll::Ready(());
            }
            self.timer = sleeper.sleep_until(until);
        }
        Poll::Pending
    }
}

impl std::fmt::Debug for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Idle").field(&self.since).finish()
    }
}
