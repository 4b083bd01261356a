//! What does the first attempt of a guarded call hold, until it succeeds, fails or is dropped?

use core::task::Waker;
use std::sync::Arc;

use super::retrier::Parts;
use crate::breaker::Transition;
use crate::call::{Call, CallOptions, FirstTry, Flight};
use crate::guard::{Admission, Asking, Ended, Gate, Pass, Refused};
use crate::shared::Shared;
use crate::throttle::Priority;
use crate::time::Instant;

/// The first attempt under way. Dropped, it returns its pass, and the guards learn how long it
/// had lasted.
pub(super) struct FirstFlight<'r> {
    parts: &'r Parts,
    pass: Option<Pass>,
    /// The budget is to be told of the call's end.
    is_enrolled: bool,
    /// The operation is being executed: if that unwinds, the operation has panicked.
    pub is_running: bool,
}

impl<'r> FirstFlight<'r> {
    pub fn new(parts: &'r Parts, pass: Option<Pass>, is_enrolled: bool) -> Self {
        Self {
            parts,
            pass,
            is_enrolled,
            is_running: false,
        }
    }

    /// The change of the breaker's state that its admission made.
    pub fn transition(&self) -> Option<Transition> {
        self.pass.as_ref().and_then(Pass::transition)
    }

    /// The attempt has succeeded, and with it the call.
    #[inline]
    pub fn succeeded(&mut self) {
        let Parts { shared, engine } = self.parts;
        self.is_running = false;
        let hears_calls = shared.hears_calls();
        if self.pass.is_none() && !self.is_enrolled && !hears_calls {
            return;
        }
        let known = shared.reads_clock_at_end().then(|| engine.sleeper.now());
        if hears_calls {
            shared.on_success(known.unwrap_or(Instant::ZERO), None);
        }
        if core::mem::take(&mut self.is_enrolled) {
            shared.call_ended();
        }
        if let Some(pass) = self.pass.take() {
            let guards = shared.guards();
            let random = || engine.seed.draw();
            let now = || known.unwrap_or_else(|| engine.sleeper.now());
            if let Some(transition) = guards.finish(pass, Ended::Success, now, random) {
                engine.tell_transition(transition);
            }
        }
    }

    /// What it holds, as a call, for what follows a failure or a wait.
    pub fn take_call(&mut self, options: CallOptions, first: FirstTry) -> Call<Arc<Shared>> {
        let flight = Flight {
            number: 1,
            started: first.start(),
            pass: self.pass.take().unwrap_or_default(),
            paid: None,
        };
        let is_enrolled = core::mem::take(&mut self.is_enrolled);
        Call::of_flight(
            Arc::clone(&self.parts.shared),
            options,
            first,
            flight,
            is_enrolled,
        )
    }
}

/// Why a first attempt does not start at once.
pub(super) enum Halt {
    Refused(Refused),
    /// It waits; what it has gained already. Every engine asks again in the same turn, with a waker of
    /// its own.
    Queued(Box<Admission>),
}

/// The pass of a first attempt.
#[inline]
pub(super) fn admit(parts: &Parts, priority: Priority, first: &FirstTry) -> Result<Pass, Halt> {
    let Parts { shared, engine } = parts;
    let mut admission = Admission::default();
    let asking = Asking {
        priority,
        is_first_try: true,
        deadline: first.deadline,
        waker: Some(Waker::noop()), // asked again where it has to wait
    };
    let now = || first.started.unwrap_or_else(|| engine.sleeper.now());
    let mut random = || engine.seed.draw();
    let guards = shared.guards();
    match guards.admit(&mut admission, asking, now, &mut random) {
        Ok(Gate::Open(pass)) => Ok(pass),
        Ok(Gate::Wait(_) | Gate::Paced(_)) => Err(Halt::Queued(Box::new(admission))),
        Err(refused) => Err(Halt::Refused(refused)),
    }
}

impl Drop for FirstFlight<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.pass.is_some() || self.is_enrolled {
            self.dropped();
        }
    }
}

impl FirstFlight<'_> {
    #[cold]
    fn dropped(&mut self) {
        let Parts { shared, engine } = self.parts;
        if core::mem::take(&mut self.is_enrolled) {
            shared.call_ended();
        }
        let Some(pass) = self.pass.take() else {
            return;
        };
        let ended = if self.is_running {
            Ended::Panicked
        } else {
            Ended::Cancelled
        };
        let now = engine.sleeper.now();
        let random = || engine.seed.draw();
        let transition = shared.guards().finish(pass, ended, || now, random);
        // An observer that panics while another panic unwinds would abort the process.
        if let (Some(transition), false) = (transition, std::thread::panicking()) {
            engine.tell_transition(transition);
        }
    }
}
