//! When has a caller waited long enough? At the time-out of an attempt, and at the deadline of its
//! call.

use becalm::classify::{Cause, FailureKind};
use becalm::{Failure, StopReason};

use super::ceiling::STRIDE;
use super::event::Kind;
use super::lane::Timeout;
use super::progress::World;
use super::slab::NOWHERE;
use super::state::{Request, Source};
use super::trace::{Step, Tracer};

impl<T: Tracer> World<'_, T> {
    #[inline]
    pub(super) fn set_time_out(&mut self, at: u64, index: u32, request: u32, generation: u32) {
        let lane = &mut self.lanes[index as usize];
        let timeout = Timeout {
            at,
            request,
            generation,
        };
        if !lane.push(timeout) {
            self.schedule(at, Kind::GiveUp, request, generation);
        } else if !lane.is_armed {
            lane.is_armed = true;
            self.schedule(at, Kind::Lane, index, 0);
        }
    }

    /// The first time-out of a lane that still counted when it was set, and all that are due with it.
    pub(super) fn lane(&mut self, index: u32) {
        for popped in 1_u32.. {
            // Each may make a state.
            if popped % STRIDE == 0 && self.is_over() {
                return;
            }
            let lane = &mut self.lanes[index as usize];
            let Some(first) = lane.first() else {
                lane.is_armed = false;
                return;
            };
            let is_awaited = self.requests.is(first.request, first.generation)
                && self.requests[first.request].is_awaited;
            if is_awaited && first.at > self.now {
                self.schedule(first.at, Kind::Lane, index, 0);
                return;
            }
            lane.pop();
            if is_awaited {
                self.time_out(first.request, first.generation);
            } else {
                self.events += 1;
            }
        }
    }

    /// A caller has waited long enough for an attempt, or its call has come to its deadline.
    pub(super) fn time_out(&mut self, request: u32, generation: u32) {
        self.events += 1;
        if !self.requests.is(request, generation) || !self.requests[request].is_awaited {
            return;
        }
        let Request { call, number, .. } = self.requests[request];
        if self.calls[call].deadline <= self.now {
            self.cut(call);
            return;
        }
        self.count_time_out(call);
        self.leave(request);
        let timed_out = Cause::Kind(FailureKind::TimedOut);
        self.decide(call, number, Failure::transient().because(timed_out).into());
    }

    fn count_time_out(&mut self, call: u32) {
        if let Source::Client { population, .. } = self.calls[call].source {
            self.population_tallies[population as usize].timed_out += 1;
        }
    }

    /// The deadline cuts the call, with all its attempts.
    fn cut(&mut self, call: u32) {
        let mut request = self.calls[call].first_request;
        while request != NOWHERE {
            self.count_time_out(call);
            request = self.requests[request].next_copy;
        }
        self.cancel_call(call, Step::Cut);
        self.finish(call, Err(StopReason::DeadlineExceeded));
    }
}
