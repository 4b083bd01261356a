//! How does a timer fire that several tasks poll in turn, some of them on runtimes that have ended?

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::Arc;

use super::{Instant, Sleep, Sleeper, before, default_sleeper};

/// A timer that is set anew by each who polls it. One of tokio's belongs to the runtime on which it was made: polled on another it panics
/// when the first has ended, and never fires while that is not driven.
pub(crate) fn sleep_anywhere(sleeper: &Arc<dyn Sleeper>, at: Instant) -> Sleep {
    Box::pin(Anywhere {
        sleeper: Arc::clone(sleeper),
        at,
        last: None,
    })
}

/// The output of a future, unless it takes longer, on whichever runtimes it is polled.
pub async fn within<F: Future>(longest: Duration, future: F) -> Option<F::Output> {
    let sleeper = default_sleeper();
    let timer = sleep_anywhere(&sleeper, sleeper.now().after(longest));
    before(future, Some(timer)).await
}

struct Anywhere {
    sleeper: Arc<dyn Sleeper>,
    at: Instant,
    last: Option<Sleep>,
}

impl Future for Anywhere {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.sleeper.now() >= self.at {
            return Poll::Ready(());
        }
        let mut sleep = self.sleeper.sleep_until(self.at);
        let polled = sleep.as_mut().poll(context);
        self.last = Some(sleep);
        polled
    }
}
