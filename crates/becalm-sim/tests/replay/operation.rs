//! What is retried in a replay? Something that ends when it is told to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use becalm::{Attempt, Failure, classify::Verdict};

/// The attempts of one call: those that started, and what is to become of them.
#[derive(Debug, Clone, Default)]
pub struct Attempts(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    /// Since the last look: the number, and whether it is a hedge.
    started: Vec<(u32, bool)>,
    answers: BTreeMap<u32, Verdict>,
    waiting: BTreeMap<u32, Waker>,
}

impl Attempts {
    /// An attempt starts.
    pub fn start(&self, attempt: Attempt) -> Running {
        let started = (attempt.number(), attempt.is_hedge());
        self.0.borrow_mut().started.push(started);
        Running {
            attempts: self.clone(),
            number: attempt.number(),
        }
    }

    /// Those that started since the last look.
    pub fn take_started(&self) -> Vec<(u32, bool)> {
        std::mem::take(&mut self.0.borrow_mut().started)
    }

    /// This one comes to its end.
    pub fn answer(&self, number: u32, verdict: Verdict) {
        let mut state = self.0.borrow_mut();
        state.answers.insert(number, verdict);
        if let Some(waker) = state.waiting.remove(&number) {
            waker.wake();
        }
    }
}

/// An attempt under way.
pub struct Running {
    attempts: Attempts,
    number: u32,
}

impl Future for Running {
    type Output = Result<(), Failure>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.attempts.0.borrow_mut();
        match state.answers.remove(&self.number) {
            Some(Verdict::Success) => Poll::Ready(Ok(())),
            Some(Verdict::Failure(failure)) => Poll::Ready(Err(failure)),
            Some(other) => unreachable!("no service says {other:?}"),
            None => {
                state.waiting.insert(self.number, context.waker().clone());
                Poll::Pending
            }
        }
    }
}
