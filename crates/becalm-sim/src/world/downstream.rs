//! What does a request need of other services, and what if it does not get it?
//!
//! First its own work, then a look into the cache, then the calls. If one of them gives up, the
//! request fails, and its other calls are cancelled.

use std::time::Duration;

use becalm::{Scope, StopReason};

use crate::scenario::Stale;

use super::arrivals::NEVER;
use super::ceiling::STRIDE;
use super::progress::World;
use super::slab::NOWHERE;
use super::state::{Answer, Details, Place, Source};
use super::trace::{Step, Tracer};

impl<T: Tracer> World<'_, T> {
    /// The work of the service itself is done.
    pub(super) fn own_work_done(&mut self, request: u32, target: usize) {
        if let Some(cache) = &self.services[target].cache {
            let key = self.details.get(request as usize).map_or(0, |it| it.key);
            let has = cache.has(key, self.now);
            let tally = &mut self.service_tallies[target];
            tally.hits += u32::from(has);
            tally.misses += u32::from(!has);
            if has {
                self.complete(request, target, Answer::Success);
                return;
            }
            self.requests[request].is_miss = true;
        }
        if self.service(target).calls.is_empty() {
            self.all_calls_done(request, target);
            return;
        }
        let here = &mut self.requests[request];
        here.place = Place::Calling;
        here.done_at = NEVER;
        self.details_of(request).step = 0;
        self.make_calls(request, target);
    }

    /// Makes the calls of the step that the request has come to: all of them, or the first.
    fn make_calls(&mut self, request: u32, target: usize) {
        let step = self.details_of(request).step as usize;
        let Some(downstream) = self.plan.scenario.services[target].calls.get(step) else {
            self.all_calls_done(request, target);
            return;
        };
        self.details_of(request).calls_left = downstream.fan_out;
        let at_once = if downstream.at_once {
            downstream.fan_out
        } else {
            1
        };
        let generation = self.requests.generation(request);
        for call in 0..at_once {
            if call % STRIDE == STRIDE - 1 && self.is_over() {
                return;
            }
            // One that is refused at once ends the request.
            let goes_on = self.requests.is(request, generation)
                && self.requests[request].place == Place::Calling;
            if !goes_on {
                return;
            }
            self.make_call(request, target);
        }
    }

    fn make_call(&mut self, request: u32, target: usize) {
        let Details {
            gives_up_at,
            scope,
            step,
            ..
        } = *self.details_of(request);
        let here = &self.requests[request];
        let of = &self.plan.scenario.services[target];
        if of.stale == Stale::PastDeadline && gives_up_at <= self.now {
            self.service_tallies[target].dropped += 1;
            self.fail_unserved(request, target);
            return;
        }
        let (instance, priority) = (here.instance, here.priority);
        let line_at = self.plan.first_line_of[target] + step as usize;
        let line = &self.plan.lines[line_at];
        let mut options = line.options;
        options.priority = priority;
        if line.propagates && gives_up_at != NEVER {
            let left = gives_up_at.saturating_sub(self.now);
            options.deadline = Some(Duration::from_nanos(left.min(line.deadline)));
        }
        let above = if line.propagates { scope } else { Scope::NONE };
        let source = Source::Job {
            request,
            service: u32::try_from(target).unwrap_or(0),
            instance,
        };
        let plan = self.plan;
        let shared = plan.of_instance(line_at, instance);
        self.begin(source, line_at, shared, &options, above);
    }

    /// A call of a request has ended.
    pub(super) fn downstream_ended(
        &mut self,
        request: u32,
        line: u32,
        ended: Result<(), StopReason>,
    ) {
        let target = self.target_of(request);
        if let Err(reason) = ended {
            self.cancel_children(request);
            let line = &self.plan.lines[line as usize];
            let answer = if line.fails_for_good {
                Answer::Permanent
            } else if line.propagates && reason.is_told_above() {
                Answer::Told(reason)
            } else {
                Answer::Failure
            };
            self.complete(request, target, answer);
            return;
        }
        let here = self.details_of(request);
        here.calls_left = here.calls_left.saturating_sub(1);
        let (step, calls_left) = (here.step, here.calls_left);
        here.step += u32::from(calls_left == 0);
        let at_once = self.plan.scenario.services[target].calls.get(step as usize);
        let at_once = at_once.is_some_and(|downstream| downstream.at_once);
        if calls_left == 0 {
            self.make_calls(request, target);
        } else if !at_once {
            self.make_call(request, target);
        }
    }

    #[inline(always)]
    fn all_calls_done(&mut self, request: u32, target: usize) {
        let here = &self.requests[request];
        if let (true, Some(cache)) = (here.is_miss, &mut self.services[target].cache) {
            if here.is_awaited || cache.keeps_late_fills {
                let details = self.details.get(request as usize);
                cache.fill(details.map_or(0, |it| it.key), self.now);
            }
        }
        self.complete(request, target, Answer::Success);
    }

    /// The service ends a request in its middle: the worker is free.
    fn fail_unserved(&mut self, request: u32, target: usize) {
        let to = self.requests[request].instance;
        self.take_out(request, target);
        self.requests[request].answer = Answer::Failure;
        self.reply(request, 0);
        self.work_on(target, to);
    }

    /// The caller does not want its call any more.
    pub(super) fn cancel_child(&mut self, call: u32) {
        self.cancel_call(call, Step::Cancelled);
        self.leave_all(call);
        self.let_go(call);
        if let Source::Job { request, .. } = self.calls[call].source {
            self.unlink_child(request, call);
        }
        self.calls.free(call);
    }

    /// Takes a call out of the list of those that its request makes.
    pub(super) fn unlink_child(&mut self, request: u32, call: u32) {
        let next = self.calls[call].next_sibling;
        let first = self.requests[request].first_child;
        if first == call {
            self.requests[request].first_child = next;
            return;
        }
        let mut before = first;
        while before != NOWHERE && self.calls[before].next_sibling != call {
            before = self.calls[before].next_sibling;
        }
        if before != NOWHERE {
            self.calls[before].next_sibling = next;
        }
    }
}
