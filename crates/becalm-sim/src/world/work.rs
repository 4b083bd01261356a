//! When is a worker done? Work goes on at the speed that triggers leave.

use super::arrivals::NEVER;
use super::event::Kind;
use super::pace::{Mark, Pace, at_speed, done_in};
use super::progress::World;
use super::state::{Answer, Place};
use super::trace::Tracer;

impl<T: Tracer> World<'_, T> {
    /// A worker has so much to do, at full speed.
    #[inline(always)]
    pub(super) fn set_work(&mut self, request: u32, target: usize, place: Place, work: u64) {
        let speed = self.services[target].speed;
        let generation = self.requests.generation(request);
        let here = &mut self.requests[request];
        here.place = place;
        here.since = self.now;
        if self.plan.scenario.services[target].scalability.is_some() {
            self.enter_work(request, target, work);
            return;
        }
        here.work = work;
        here.done_at = self.now.saturating_add(at_speed(work, speed));
        let done_at = here.done_at;
        self.schedule(done_at, Kind::Served, request, generation);
    }

    /// A worker is done, unless that was put off.
    pub(super) fn served(&mut self, request: u32, generation: u32) {
        if !self.requests.is(request, generation) || self.requests[request].done_at != self.now {
            return;
        }
        let here = &self.requests[request];
        let target = self.plan.lines[here.line as usize].target;
        match here.place {
            Place::Working => {
                self.events += 1;
                self.leave_work(request, target);
                self.own_work_done(request, target);
            }
            Place::Refusing => {
                self.events += 1;
                self.take_out(request, target);
                let to = self.requests[request].instance;
                self.reply(request, 0);
                self.work_on(target, to);
            }
            _ => (),
        }
    }

    /// A request is served to its end.
    #[inline(always)]
    pub(super) fn complete(&mut self, request: u32, target: usize, answer: Answer) {
        let state = &mut self.services[target];
        let here = &mut self.requests[request];
        let to = here.instance;
        let instance = &mut state.instances[to as usize];
        instance.busy -= 1;
        let fails = state.failures > 0.0 && instance.stream.chance(state.failures);
        here.answer = match answer {
            Answer::Success if fails => Answer::Failure,
            answer => answer,
        };
        let tally = &mut self.service_tallies[target];
        tally.served += 1;
        tally.stale += u32::from(!here.is_awaited);
        let latency = state.latency;
        let has_more = !instance.queue.is_empty() || !instance.to_refuse.is_empty();
        self.reply(request, latency);
        if has_more {
            self.work_on(target, to);
        }
    }

    /// The speed of a service changes: running work goes on at the new one.
    pub(super) fn set_speed(&mut self, target: usize, speed: f64) {
        let shares_pace = self.service(target).scalability.is_some();
        let instances = self.service(target).instances;
        if shares_pace {
            (0..instances).for_each(|to| self.at_pace(target, to, |_| ()));
        }
        let before = std::mem::replace(&mut self.services[target].speed, speed);
        if shares_pace {
            (0..instances).for_each(|to| self.at_pace(target, to, |_| ()));
            return;
        }
        for request in self.in_order(|place, (of, _)| {
            matches!(place, Place::Working | Place::Refusing) && of == target
        }) {
            let here = &self.requests[request];
            let done = done_in(self.now - here.since, before);
            let left = here.work.saturating_sub(done);
            let place = here.place;
            self.set_work(request, target, place, left);
        }
    }
}

impl<T: Tracer> World<'_, T> {
    /// A request comes to those that an instance works on, and slows them down.
    fn enter_work(&mut self, request: u32, target: usize, work: u64) {
        let here = &mut self.requests[request];
        let (to, serial) = (here.instance, here.serial);
        here.done_at = NEVER;
        let mut mark = 0;
        self.at_pace(target, to, |pace| mark = pace.enter(work, serial, request));
        self.requests[request].work = mark;
    }

    /// A request is not worked on any more, and the others go faster for it.
    #[inline]
    pub(super) fn leave_work(&mut self, request: u32, target: usize) {
        if self.service(target).scalability.is_some() {
            self.leave_pace(request, target);
        }
    }

    fn leave_pace(&mut self, request: u32, target: usize) {
        let here = &self.requests[request];
        let (to, at, serial) = (here.instance, here.work, here.serial);
        let mark = Mark {
            at,
            serial,
            request,
        };
        self.at_pace(target, to, |pace| pace.leave(mark));
    }

    /// What changes the speed of those that an instance works on changes who is done next, and when.
    fn at_pace(&mut self, target: usize, to: u32, change: impl FnOnce(&mut Pace)) {
        let state = &mut self.services[target];
        let speed = state.speed;
        let Some(pace) = &mut state.instances[to as usize].pace else {
            return;
        };
        pace.count(self.now, speed);
        change(pace);
        let first = pace.first(speed);
        let before = std::mem::replace(&mut pace.next, first.map(|(request, _)| request));
        if let Some(before) = before.filter(|before| first.is_none_or(|(it, _)| it != *before)) {
            self.requests[before].done_at = NEVER;
        }
        if let Some((request, at)) = first {
            if self.requests[request].done_at != at {
                self.requests[request].done_at = at;
                let generation = self.requests.generation(request);
                self.schedule(at, Kind::Served, request, generation);
            }
        }
    }
}
