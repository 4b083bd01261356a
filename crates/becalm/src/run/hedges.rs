//! Which copies of the operation run beside an attempt?

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::scope::{Entered, Scope};

/// The hedges beside an attempt: no allocation where there is none.
pub(super) struct Hedges<Fut>(Option<Box<List<Fut>>>);

/// Boxed, so that an attempt without hedges carries one word for them.
struct List<Fut> {
    hedges: Vec<Hedge<Fut>>,
}

struct Hedge<Fut> {
    number: u32,
    future: Pin<Box<Fut>>,
}

/// A hedge that has ended.
pub(super) struct Ended<O> {
    pub number: u32,
    /// What its scope has become.
    pub inside: Scope,
    pub output: O,
}

impl<Fut> Hedges<Fut> {
    #[inline]
    pub const fn none() -> Self {
        Self(None)
    }

    pub fn are_none(&self) -> bool {
        self.0.is_none()
    }

    pub fn push(&mut self, number: u32, future: Fut) {
        let hedge = Hedge {
            number,
            future: Box::pin(future),
        };
        let list = self.0.get_or_insert_with(|| {
            let hedges = Vec::new();
            Box::new(List { hedges })
        });
        list.hedges.push(hedge);
    }

    /// Drops the hedge of this number, if there is one.
    pub fn remove(&mut self, number: u32) {
        if let Some(list) = &mut self.0 {
            list.hedges.retain(|hedge| hedge.number != number);
        }
    }

    /// Drops all of them.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl<Fut: Future> Hedges<Fut> {
    /// Polls each in its scope, up to the first that has ended, which is taken out. `heard` is told
    /// what has become of the scope of one that is pending.
    pub fn poll(
        &mut self,
        mut scope_of: impl FnMut(u32) -> Scope,
        mut heard: impl FnMut(Scope),
        context: &mut Context<'_>,
    ) -> Option<Ended<Fut::Output>> {
        let hedges = &mut self.0.as_mut()?.hedges;
        for at in 0..hedges.len() {
            let hedge = &mut hedges[at];
            let entered = Entered::new(scope_of(hedge.number));
            let polled = hedge.future.as_mut().poll(context);
            let inside = entered.leave();
            match polled {
                Poll::Ready(output) => {
                    let Hedge { number, .. } = hedges.swap_remove(at);
                    return Some(Ended {
                        number,
                        inside,
                        output,
                    });
                }
                Poll::Pending => heard(inside),
            }
        }
        None
    }
}
