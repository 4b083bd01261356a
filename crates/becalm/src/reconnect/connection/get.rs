//! How does a command wait for the connection?

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use crate::time::{Instant, OneOfAll, Sleep};

use super::{Held, NoConnection, SharedConnection};

/// The future of [`SharedConnection::get`].
#[must_use = "futures do nothing unless polled"]
pub struct Get<C, E> {
    of: SharedConnection<C, E>,
    within: Option<Duration>,
    /// From the first wait on.
    waiting: Option<Waiting>,
}

struct Waiting {
    one: OneOfAll,
    cut: Option<Sleep>,
    /// While there is no place on the connection: when there will be one for everybody.
    place: Option<(Instant, Sleep)>,
}

impl<C, E> Get<C, E> {
    pub(super) fn new(of: SharedConnection<C, E>, within: Option<Duration>) -> Self {
        Self {
            of,
            within,
            waiting: None,
        }
    }
}

impl<C: Clone + Send + 'static, E: Send + 'static> Future for Get<C, E> {
    type Output = Result<Held<C, E>, NoConnection<E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let core = &*this.of.core;
        let held = |(connection, lease), of: &SharedConnection<C, E>| Held {
            connection,
            lease,
            of: of.clone(),
        };
        if let Some(open) = core.open() {
            this.waiting = None;
            return Poll::Ready(Ok(held(open, &this.of)));
        }
        let waiting = this.waiting.get_or_insert_with(|| {
            let cut = |within| core.sleeper.sleep_until(core.sleeper.now().after(within));
            Waiting {
                one: core.waiting.one(),
                cut: this.within.map(cut),
                place: None,
            }
        });
        waiting.one.wake(context.waker());
        if let Some(ended) = core.advance() {
            this.waiting = None;
            return Poll::Ready(ended.map(|open| held(open, &this.of)));
        }
        if is_ready(waiting.cut.as_mut(), context) {
            return Poll::Ready(Err(core.too_late()));
        }
        // A healthy connection has a place for everybody, and no event tells of that.
        let healthy_at = core.is_full_until();
        if waiting.place.as_ref().map(|(at, _)| *at) != healthy_at {
            waiting.place = healthy_at.map(|at| (at, core.sleeper.sleep_until(at)));
        }
        if is_ready(waiting.place.as_mut().map(|(_, sleep)| sleep), context) {
            waiting.place = None;
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

fn is_ready(sleep: Option<&mut Sleep>, context: &mut Context<'_>) -> bool {
    sleep.is_some_and(|sleep| sleep.as_mut().poll(context).is_ready())
}

/// Who goes may have been woken in the place of all.
impl<C, E> Drop for Get<C, E> {
    fn drop(&mut self) {
        if self.waiting.take().is_some() {
            self.of.core.waiting.wake();
        }
    }
}

impl<C, E> fmt::Debug for Get<C, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Get")
            .field("within", &self.within)
            .finish_non_exhaustive()
    }
}
