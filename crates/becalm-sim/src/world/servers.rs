//! What does a service do with a request that comes, waits, or is not wanted any more?
//!
//! A refusal that costs something takes a worker, ahead of the queue: a service answers "no" as
//! soon as it can, so refusals alone can keep it from all other work. The answer comes when the
//! worker is done with it. A service that is down, and `CoDel`, refuse at no cost.

use crate::engine::Stream;
use crate::scenario::{Discipline, Routing, Service, Stale};

use super::bucket::TokenBucket;
use super::cache::Entries;
use super::codel::{Bounds, Head};
use super::event::Kind;
use super::plan::nanos;
use super::plan::shard;
use super::progress::World;
use super::slab::{NOWHERE, Slab};
use super::state::{Answer, Details, Instance, Place, Request, ServiceState, Waiting};
use super::trace::Tracer;

impl<T: Tracer> World<'_, T> {
    pub(super) fn make_services(&mut self, seed: u64) {
        for service in &self.plan.scenario.services {
            let name = &service.name;
            let mut stream = Self::stream(seed, 3, name, 0);
            let cache = service.cache.as_ref();
            self.services.push(ServiceState {
                instances: (0..service.instances)
                    .map(|instance| {
                        let stream = Self::stream(seed, 4, name, instance);
                        Instance::new(stream, service.scalability)
                    })
                    .collect(),
                limit: service.limit.map(TokenBucket::new),
                cache: cache.map(|cache| Entries::new(cache, &mut stream)),
                stream,
                next_instance: 0,
                speed: 1.0,
                failures: service.failures,
                latency: 0,
            });
        }
    }

    /// The service that a request is for.
    #[inline]
    pub(super) fn target_of(&self, request: u32) -> usize {
        self.plan.lines[self.requests[request].line as usize].target
    }

    #[inline]
    pub(super) fn service(&self, target: usize) -> &'_ Service {
        &self.plan.scenario.services[target]
    }

    /// Whether a service has a request that has not come to any end.
    pub(super) fn is_inside(&self, request: u32) -> bool {
        let place = self.requests[request].place;
        matches!(place, Place::Queued | Place::Working | Place::Calling)
    }

    /// A request comes to its service.
    pub(super) fn arrive(&mut self, request: u32, generation: u32) {
        if !self.requests.is(request, generation) {
            return;
        }
        self.events += 1;
        let here = &mut self.requests[request];
        let target = self.plan.lines[here.line as usize].target;
        let of = &self.plan.scenario.services[target];
        let state = &mut self.services[target];
        let tally = &mut self.service_tallies[target];
        tally.arrived += 1;
        if here.is_cancelled {
            tally.dropped += 1;
            self.end_unanswered(request);
            return;
        }
        let to = match of.instances {
            1 => 0,
            _ => route(of, state, self.details.get(request as usize)),
        };
        here.instance = to;
        here.since = self.now;
        let is_accepted = state
            .limit
            .as_mut()
            .is_none_or(|limit| limit.accepts(self.now));
        let instance = &mut state.instances[to as usize];
        if instance.down > 0 {
            tally.refused += 1;
            here.answer = Answer::Failure;
            self.reply(request, 0);
        } else if !is_accepted {
            self.refuse(request, target, Answer::Throttled);
        } else if instance.busy < of.workers {
            self.start(request, target, to);
        } else if of.queue.is_none_or(|places| instance.waiting < places) {
            here.place = Place::Queued;
            instance.waiting += 1;
            instance.queue.push_back(Waiting {
                request,
                generation,
            });
            tally.queued();
        } else {
            self.refuse(request, target, Answer::Failure);
        }
    }

    fn refuse(&mut self, request: u32, target: usize, answer: Answer) {
        let of = &self.plan.scenario.services[target];
        self.service_tallies[target].refused += 1;
        let generation = self.requests.generation(request);
        let here = &mut self.requests[request];
        here.answer = answer;
        if of.refusal.is_zero() {
            self.reply(request, 0);
            return;
        }
        here.place = Place::ToRefuse;
        let instance = &mut self.services[target].instances[here.instance as usize];
        instance.to_refuse.push_back(Waiting {
            request,
            generation,
        });
        let to = here.instance;
        self.work_on(target, to);
    }

    /// Free workers take what waits: refusals first.
    pub(super) fn work_on(&mut self, target: usize, to: u32) {
        let workers = self.plan.scenario.services[target].workers;
        loop {
            let instance = &mut self.services[target].instances[to as usize];
            if instance.busy >= workers || instance.down > 0 {
                return;
            }
            if !instance.to_refuse.is_empty() {
                self.refuse_next(target, to);
                continue;
            }
            if instance.queue.is_empty() {
                return;
            }
            if let Some(next) = self.dequeue(target, to) {
                self.start(next, target, to);
            }
        }
    }

    /// A free worker says no to the first who waits for that.
    fn refuse_next(&mut self, target: usize, to: u32) {
        let refusal = self.plan.scenario.services[target].refusal;
        let instance = &mut self.services[target].instances[to as usize];
        let Some(next) = instance.to_refuse.pop_front() else {
            return;
        };
        if self.requests.is(next.request, next.generation) {
            instance.busy += 1;
            self.set_work(next.request, target, Place::Refusing, nanos(refusal));
        }
    }

    /// The next of a queue that is not empty; `None` where the one that was taken out does not wait.
    #[inline]
    fn dequeue(&mut self, target: usize, to: u32) -> Option<u32> {
        let instance = &mut self.services[target].instances[to as usize];
        let next = match self.plan.scenario.services[target].discipline {
            Discipline::Fifo => instance.queue.pop_front()?,
            Discipline::Lifo => instance.queue.pop_back()?,
            Discipline::CoDel {
                target: wait,
                interval,
            } => {
                let bounds = Bounds {
                    target: nanos(wait),
                    interval: nanos(interval),
                };
                return self.dequeue_by(bounds, target, to);
            }
        };
        if !is_waiting(&self.requests, next) {
            return None;
        }
        instance.waiting -= 1;
        self.service_tallies[target].left_queue();
        Some(next.request)
    }

    /// The next of a queue whose waits are bounded so.
    fn dequeue_by(&mut self, bounds: Bounds, target: usize, to: u32) -> Option<u32> {
        let instance = &mut self.services[target].instances[to as usize];
        let requests = &self.requests;
        let tally = &mut self.service_tallies[target];
        let Instance {
            queue,
            waiting,
            codel,
            ..
        } = instance;
        let mut dropped = std::mem::take(&mut self.dropped);
        let head = || {
            while let Some(next) = queue.pop_front() {
                if is_waiting(requests, next) {
                    *waiting -= 1;
                    tally.left_queue();
                    return Some(Head {
                        request: next.request,
                        arrived_at: requests[next.request].since,
                        is_last: queue.is_empty(),
                    });
                }
            }
            None
        };
        let next = codel.dequeue(self.now, bounds, head, |request| dropped.push(request));
        for request in dropped.drain(..) {
            self.drop_unserved(request, target);
        }
        self.dropped = dropped;
        next
    }

    /// A free worker begins with a request.
    #[inline(always)]
    fn start(&mut self, request: u32, target: usize, to: u32) {
        let of = &self.plan.scenario.services[target];
        let is_late = of.stale == Stale::PastDeadline && {
            let details = self.details.get(request as usize);
            details.is_some_and(|it| it.gives_up_at <= self.now)
        };
        if is_late {
            self.drop_unserved(request, target);
            return;
        }
        let instance = &mut self.services[target].instances[to as usize];
        instance.busy += 1;
        let time = of.time.draw(&mut instance.stream);
        self.set_work(request, target, Place::Working, time);
    }

    /// It is not served, and its caller hears so.
    fn drop_unserved(&mut self, request: u32, target: usize) {
        self.service_tallies[target].dropped += 1;
        self.requests[request].answer = Answer::Failure;
        self.reply(request, 0);
    }

    /// The answer goes back, if anybody waits for it.
    #[inline(always)]
    pub(super) fn reply(&mut self, request: u32, latency: u64) {
        let here = &mut self.requests[request];
        here.place = Place::Done;
        if !here.is_awaited {
            self.requests.free(request);
            return;
        }
        let source = self.calls[here.call].source;
        // One that is lost leaves its caller waiting.
        if let Some(delay) = self.message(source) {
            let at = self.now.saturating_add(delay).saturating_add(latency);
            let generation = self.requests.generation(request);
            self.schedule(at, Kind::Answer, request, generation);
        }
    }

    fn end_unanswered(&mut self, request: u32) {
        self.requests[request].place = Place::Done;
        self.requests.free(request);
    }

    /// The caller of a request does not wait for it any more.
    #[inline(always)]
    pub(super) fn caller_left(&mut self, request: u32, line: u32, place: Place) {
        if matches!(place, Place::Done | Place::Lost) {
            self.end_unanswered(request);
            return;
        }
        let target = self.plan.lines[line as usize].target;
        if self.service(target).stale == Stale::Cancelled {
            self.cancel(request, target, place);
        }
    }

    /// The service hears that the caller has given a request up.
    fn cancel(&mut self, request: u32, target: usize, place: Place) {
        if place == Place::Travelling {
            self.requests[request].is_cancelled = true;
            return;
        }
        if self.is_inside(request) {
            self.service_tallies[target].dropped += 1;
        }
        let to = self.requests[request].instance;
        self.take_out(request, target);
        self.end_unanswered(request);
        self.work_on(target, to);
    }

    /// Takes a request out of where it is in its service: place, worker, calls.
    pub(super) fn take_out(&mut self, request: u32, target: usize) {
        let Request {
            place, instance, ..
        } = self.requests[request];
        match place {
            Place::Calling => self.cancel_children(request),
            Place::Working | Place::Refusing => self.leave_work(request, target),
            _ => (),
        }
        let instance = &mut self.services[target].instances[instance as usize];
        match place {
            Place::Queued => {
                instance.waiting -= 1;
                self.service_tallies[target].left_queue();
                self.requests[request].place = Place::Done;
                // What is left of those that went would pile up behind one that never comes.
                if instance.queue.len() > 2 * instance.waiting as usize + 64 {
                    let requests = &self.requests;
                    instance.queue.retain(|next| is_waiting(requests, *next));
                }
            }
            Place::Working | Place::Calling | Place::Refusing => {
                instance.busy -= 1;
                self.requests[request].place = Place::Done;
            }
            _ => self.requests[request].place = Place::Done,
        }
    }

    /// What an instance has is lost, and the callers hear so at once.
    pub(super) fn lose(&mut self, target: usize, to: u32) {
        for request in self.in_order(|place, of| {
            let is_here = !matches!(place, Place::Travelling | Place::Lost | Place::Done);
            is_here && of == (target, to)
        }) {
            if self.is_inside(request) {
                self.service_tallies[target].dropped += 1;
            }
            self.take_out(request, target);
            self.requests[request].answer = Answer::Failure;
            self.reply(request, 0);
        }
        let instance = &mut self.services[target].instances[to as usize];
        instance.queue.clear();
        instance.to_refuse.clear();
    }

    /// The requests for which this holds, given their place and their service and instance, in the
    /// order in which they were sent: that of their places in memory depends on others.
    pub(super) fn in_order(&self, is_wanted: impl Fn(Place, (usize, u32)) -> bool) -> Vec<u32> {
        let mut wanted: Vec<u32> = (0..self.requests.len())
            .filter(|request| {
                let here = &self.requests[*request];
                is_wanted(here.place, (self.target_of(*request), here.instance))
            })
            .collect();
        wanted.sort_unstable_by_key(|request| self.requests[*request].serial);
        wanted
    }

    /// Takes the calls of a request from it.
    pub(super) fn cancel_children(&mut self, request: u32) {
        loop {
            let child = self.requests[request].first_child;
            if child == NOWHERE {
                return;
            }
            self.cancel_child(child);
        }
    }
}

fn is_waiting(requests: &Slab<Request>, next: Waiting) -> bool {
    requests.is(next.request, next.generation) && requests[next.request].place == Place::Queued
}

/// The instance that gets a request. Only the least loaded is chosen among those that are up: a
/// balancer that counts what each has knows those that have lost it, and an instance that is down
/// would otherwise get everything.
fn route(of: &Service, state: &mut ServiceState, details: Option<&Details>) -> u32 {
    match of.routing {
        Routing::Random => below(&mut state.stream, of.instances),
        Routing::RoundRobin => {
            let to = state.next_instance;
            state.next_instance = (to + 1) % of.instances;
            to
        }
        Routing::LeastLoaded => {
            let instances = (0..).zip(&state.instances);
            let up = instances.filter(|(_, instance)| instance.down == 0);
            up.min_by_key(|(_, instance)| instance.load())
                .map_or(0, |(to, _)| to)
        }
        Routing::ByKey => shard(details.map_or(0, |it| it.key), of.instances),
    }
}

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(u64::from(bound))).unwrap_or(0)
}
