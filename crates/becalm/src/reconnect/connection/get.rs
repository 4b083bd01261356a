//! How does a command wait for the connection?

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use crate::time::{OneOfAll, Sleep};

use super::{Held, NoConnection, SharedConnection};

/// The future of [`SharedConnection::get`].
#[must_use = "futures do nothing unless polled"]
pub struct Get<C, E> {
    of: SharedConnection<C, E>,
    within: Option<Duration>,
    /// From the first wait on.
    waiting: Option<(OneOfAll, Option<Sleep>)>,
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
        if let Some((connection, id)) = core.open() {
            this.waiting = None;
            let of = this.of.clone();
            return Poll::Ready(Ok(Held { connection, id, of }));
        }
        let (one, cut) = this.waiting.get_or_insert_with(|| {
            let cut = |within| core.sleeper.sleep_until(core.sleeper.now().after(within));
            (core.waiting.one(), this.within.map(cut))
        });
        one.wake(context.waker());
        if let Some(ended) = core.advance() {
            this.waiting = None;
            let of = this.of.clone();
            return Poll::Ready(ended.map(|(connection, id)| Held { connection, id, of }));
        }
        match cut.as_mut().map(|cut| cut.as_mut().poll(context)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(core.too_late())),
            Some(Poll::Pending) | None => Poll::Pending,
        }
    }
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
