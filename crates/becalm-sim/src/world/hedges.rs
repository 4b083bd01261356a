//! When does a call send a second copy beside a slow attempt? When the shipping object says so.

use std::marker::PhantomData;

use becalm::time::Instant;

use super::arrivals::NEVER;
use super::calls::{stream_of, whole};
use super::event::Kind;
use super::progress::World;
use super::state::Phase;
use super::trace::{Draws, Step, Tracer};

impl<T: Tracer> World<'_, T> {
    pub(super) fn set_hedge(&mut self, at: u32) {
        let now = self.now();
        let slot = &mut self.calls[at];
        if !self.plan.lines[slot.line as usize].may_hedge {
            return;
        }
        let Some(call) = whole(&mut self.wholes, slot.stage) else {
            return;
        };
        let due = call.hedge_at(now);
        slot.hedge_at = due.map_or(NEVER, Instant::as_nanos);
        let (hedge_at, generation) = (slot.hedge_at, self.calls.generation(at));
        self.schedule(hedge_at, Kind::Hedge, at, generation);
    }

    /// A hedge is due.
    pub(super) fn hedge(&mut self, at: u32, generation: u32) {
        let now = self.now();
        let is_due = self.calls.is(at, generation)
            && self.calls[at].phase == Phase::Running
            && self.calls[at].hedge_at == self.now;
        if !is_due {
            return;
        }
        self.events += 1;
        let slot = &mut self.calls[at];
        let Some(call) = whole(&mut self.wholes, slot.stage) else {
            return;
        };
        let stream = stream_of(&mut self.populations, &mut self.services, slot.source);
        let mut random = Draws::<T> {
            stream,
            bits: &mut self.bits,
            listener: PhantomData,
        };
        let started = call.start_hedge(now, &mut random);
        self.tell(at, Step::Hedged(started.map(|attempt| attempt.number())));
        if let Some(attempt) = started {
            self.send(at, attempt.number(), true);
            self.set_hedge(at);
        }
    }
}
