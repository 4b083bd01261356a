//! What does a call do when something has happened to it? What the shipping object says.

use std::marker::PhantomData;
use std::task::Waker;

use becalm::rng::Random;
use becalm::{
    Failure, Scope, StopReason,
    call::{Call, CallOptions, Decision, Start},
    classify::Cause,
    classify::Verdict,
    scope::Told,
    shared::Shared,
    support::Unheld,
    time::Instant,
};

use crate::record::Began;

use super::arrivals::NEVER;
use super::event::Kind;
use super::progress::World;
use super::slab::{NOWHERE, Slab};
use super::state::{Answer, CallSlot, Phase, PopulationState, ServiceState, Source, Stage, Whole};
use super::trace::{Caller, Draws, Step, Traced, Tracer};

impl<T: Tracer> World<'_, T> {
    /// A call begins, and asks to start. It may be over when this returns.
    pub(super) fn begin(
        &mut self,
        source: Source,
        line: usize,
        first_owner: usize,
        options: &CallOptions,
        above: Scope,
    ) -> u32 {
        let now = Instant::from_nanos(self.now);
        let at = match self.calls.reuse() {
            Some(at) => at,
            None => self.calls.insert(CallSlot::empty(source)),
        };
        let plan = self.plan;
        let of = &plan.lines[line];
        let key = if of.is_keyed {
            self.random_of(source).next_u64()
        } else {
            0
        };
        let owner = of.owner(first_owner, key);
        let slot = &mut self.calls[at];
        slot.owner = owner;
        let is_first = if let Some(first) = &of.first {
            slot.try_first(first.again(now))
        } else {
            let shared = if of.only_deposits && !self.owners.has_state(owner) {
                &of.fresh
            } else {
                self.owners.state(owner, &plan.made, &of.fresh)
            };
            let first = Unheld::begin(shared, options, above, now);
            first.is_some_and(|first| slot.try_first(first))
        };
        if !is_first {
            let shared = self.owners.state(owner, &plan.made, &of.fresh);
            let call = Call::begin(shared, *options, above, now);
            slot.shared = Some(shared);
            slot.deadline = nanos(call.deadline());
            slot.stage = Stage::Whole(self.wholes.insert(Some(call)));
        }
        slot.source = source;
        slot.line = u32::try_from(line).unwrap_or(0);
        slot.number = self.calls_begun;
        slot.priority = options.priority;
        slot.began = Began {
            at: self.now,
            bucket: self.bucket,
            slice: self.slice,
        };
        slot.key = key;
        slot.first_request = NOWHERE;
        slot.next_sibling = NOWHERE;
        self.calls_begun += 1;
        self.tell(at, Step::Began);
        if let Source::Job { request, .. } = source {
            let job = &mut self.requests[request];
            self.calls[at].next_sibling = std::mem::replace(&mut job.first_child, at);
        }
        if is_first {
            self.calls[at].phase = Phase::Running;
            self.tell(at, Step::Started(1));
            self.send(at, 1, false);
        } else {
            self.poll_start(at);
        }
        at
    }

    /// The wait of a call is over.
    pub(super) fn timer(&mut self, call: u32, generation: u32) {
        let slot = &self.calls[call];
        let is_due = self.calls.is(call, generation)
            && slot.phase != Phase::Running
            && slot.timer_at == self.now;
        if is_due {
            self.events += 1;
            self.poll_start(call);
        }
    }

    /// A guard has woken a call.
    pub(super) fn woken(&mut self, call: u32) {
        let slot = &self.calls[call];
        if slot.is_taken() && slot.phase == Phase::AtGuard {
            self.poll_start(call);
        }
    }

    fn poll_start(&mut self, at: u32) {
        let now = self.now();
        let slot = &mut self.calls[at];
        let may_wait = self.plan.lines[slot.line as usize].may_wait;
        if may_wait && slot.waker.is_none() {
            slot.waker = Some(self.woken.waker(at));
        }
        let Some(call) = whole(&mut self.wholes, slot.stage) else {
            return;
        };
        let nobody = Waker::noop();
        let waker = match &slot.waker {
            Some(waker) if may_wait => waker,
            _ => nobody,
        };
        let stream = stream_of(&mut self.populations, &mut self.services, slot.source);
        let mut random = Draws::<T> {
            stream,
            bits: &mut self.bits,
            listener: PhantomData,
        };
        match call.poll_start(now, waker, &mut random) {
            Ok(Start::Go(attempt)) => {
                slot.phase = Phase::Running;
                self.tell(at, Step::Started(attempt.number()));
                self.send(at, attempt.number(), false);
                self.set_hedge(at);
            }
            Ok(Start::Wait(until)) => {
                slot.phase = Phase::AtGuard;
                // Time has to pass before it asks again.
                slot.timer_at = until.as_nanos().max(self.now + 1);
                let timer_at = slot.timer_at;
                self.tell(at, Step::Waits(until));
                let generation = self.calls.generation(at);
                self.schedule(timer_at, Kind::Timer, at, generation);
            }
            Ok(_) => (),
            Err(reason) => {
                self.tell(at, Step::Refused(reason));
                self.finish(at, Err(reason));
            }
        }
    }

    /// The shipping object hears that nobody waits for it any more.
    pub(super) fn cancel_call(&mut self, at: u32, step: Step) {
        let now = self.now();
        let slot = &mut self.calls[at];
        let stream = stream_of(&mut self.populations, &mut self.services, slot.source);
        let mut random = Draws::<T> {
            stream,
            bits: &mut self.bits,
            listener: PhantomData,
        };
        // One that holds nothing has nothing to return.
        if let Some(call) = whole(&mut self.wholes, slot.stage) {
            match step {
                Step::Cut => call.cut(now, &mut random),
                _ => call.cancel(now, &mut random),
            }
        }
        self.tell(at, step);
    }

    /// An answer comes to its caller.
    pub(super) fn answer(&mut self, request: u32, generation: u32) {
        if !self.requests.is(request, generation) {
            return;
        }
        self.events += 1;
        let here = &mut self.requests[request];
        here.is_awaited = false;
        let (call, number, answer, next_copy) =
            (here.call, here.number, here.answer, here.next_copy);
        // The service has answered and the client has the answer, so nothing refers to the request any more.
        self.requests.free(request);
        self.unlink(call, request, next_copy);
        if answer == Answer::Success && matches!(self.calls[call].stage, Stage::First(_)) {
            self.succeed_at_once(call);
            return;
        }
        let verdict = verdict(answer);
        if let (Verdict::Failure(_), Source::Client { population, .. }) =
            (verdict, self.calls[call].source)
        {
            self.population_tallies[population as usize].failed += 1;
        }
        self.decide(call, number, verdict);
    }

    pub(super) fn decide(&mut self, at: u32, number: u32, verdict: Verdict) {
        let now = self.now();
        let slot = &mut self.calls[at];
        let stream = stream_of(&mut self.populations, &mut self.services, slot.source);
        let mut random = Draws::<T> {
            stream,
            bits: &mut self.bits,
            listener: PhantomData,
        };
        let decision = match (slot.stage, verdict) {
            (Stage::First(first), Verdict::Failure(failure)) => {
                // What a call shares matters from here on.
                let line = &self.plan.lines[slot.line as usize];
                let made = &self.plan.made;
                let shared = self.owners.state(slot.owner, made, &line.fresh);
                // Its deadline was fixed at its beginning.
                let mut options = line.options;
                options.priority = slot.priority;
                match first.failed(shared, options, now, &failure, &mut random) {
                    Ok((delay, call)) => {
                        slot.shared = Some(shared);
                        slot.stage = Stage::Whole(self.wholes.insert(Some(call)));
                        Decision::RetryIn(delay)
                    }
                    Err(reason) => Decision::Stop(reason),
                }
            }
            // A first attempt that succeeds has been told already.
            (stage, verdict) => {
                let Some(call) = whole(&mut self.wholes, stage) else {
                    return;
                };
                call.on_outcome_of(number, now, verdict, &mut random)
            }
        };
        self.tell(at, Step::Decided(number, verdict, decision));
        match decision {
            Decision::Done => self.finish(at, Ok(())),
            Decision::RetryIn(delay) => {
                self.leave_all(at);
                let timer_at = self
                    .now
                    .saturating_add(super::plan::nanos(delay))
                    .min(NEVER - 1);
                let slot = &mut self.calls[at];
                slot.phase = Phase::Waiting;
                slot.hedge_at = NEVER;
                slot.timer_at = timer_at;
                let generation = self.calls.generation(at);
                self.schedule(timer_at, Kind::Timer, at, generation);
            }
            Decision::Stop(reason) => self.finish(at, Err(reason)),
            // Another copy decides.
            _ => (),
        }
    }

    /// The first attempt of a call has succeeded that holds nothing.
    fn succeed_at_once(&mut self, at: u32) {
        let slot = &self.calls[at];
        let line = &self.plan.lines[slot.line as usize];
        let is_counted = line.only_deposits
            && !self.owners.has_state(slot.owner)
            && self.owners.count_success(slot.owner);
        if !is_counted {
            let made = &self.plan.made;
            let shared = self.owners.state(slot.owner, made, &line.fresh);
            if let Stage::First(first) = slot.stage {
                first.succeeded(shared, Instant::from_nanos(self.now));
            }
        }
        self.tell(at, Step::Decided(1, Verdict::Success, Decision::Done));
        self.finish(at, Ok(()));
    }

    /// What there is of a call is gone, and what it holds goes back: who made it, to whom, and when it began.
    #[inline(always)]
    pub(super) fn let_go(&mut self, at: u32) -> (Source, u32, Began) {
        let slot = &mut self.calls[at];
        if let Stage::Whole(place) = slot.stage {
            self.wholes[place] = None;
            self.wholes.free(place);
        }
        slot.stage = Stage::Free;
        (slot.source, slot.line, slot.began)
    }

    /// A call is over: its attempts are left, its place is free, its caller goes on.
    pub(super) fn finish(&mut self, at: u32, ended: Result<(), StopReason>) {
        self.leave_all(at);
        let (source, line, began) = self.let_go(at);
        if let Source::Job { request, .. } = source {
            self.unlink_child(request, at);
        }
        self.calls.free(at);
        match source {
            Source::Client { population, client } => {
                self.client_call_ended(population, client, began, ended);
            }
            Source::Job { request, .. } => self.downstream_ended(request, line, ended),
        }
    }

    pub(super) fn tell(&mut self, at: u32, step: Step) {
        if !T::IS_ON {
            return;
        }
        let slot = &self.calls[at];
        let caller = match slot.source {
            Source::Client { population, client } => Caller::Client { population, client },
            Source::Job {
                service, instance, ..
            } => {
                let first = self.plan.first_line_of[service as usize];
                Caller::Instance {
                    service,
                    instance,
                    downstream: slot.line - u32::try_from(first).unwrap_or(0),
                }
            }
        };
        self.tracer.trace(Traced {
            call: slot.number,
            caller,
            now: Instant::from_nanos(self.now),
            step,
            bits: std::mem::take(&mut self.bits),
        });
    }
}

/// The shipping object of a call, apart from the rest of the world.
#[inline]
pub(super) fn whole<'w, 'a>(
    wholes: &'w mut Slab<Whole<'a>>,
    stage: Stage,
) -> Option<&'w mut Call<&'a Shared>> {
    match stage {
        Stage::Whole(place) => wholes[place].as_mut(),
        Stage::Free | Stage::First(_) => None,
    }
}

fn nanos(deadline: Option<Instant>) -> u64 {
    deadline.map_or(NEVER, Instant::as_nanos)
}

/// As `http` classifies a 503 and a 429, with the word of the layers below; for the lists of a policy, these statuses.
fn verdict(answer: Answer) -> Verdict {
    let (failure, status) = match answer {
        Answer::Success => return Verdict::Success,
        Answer::Failure => (Failure::transient(), 503),
        Answer::Throttled => (Failure::throttled(), 429),
        Answer::Permanent => (Failure::permanent(), 500),
        Answer::Told(reason) => {
            let said = Told::because(reason);
            let failure = Failure::transient();
            let failure = said.map_or(failure, |said| failure.hint(said.hint()));
            (failure, 503)
        }
    };
    failure.because(Cause::Status(status)).into()
}

/// The stream of a caller, apart from the rest of the world.
#[inline]
pub(super) fn stream_of<'s>(
    populations: &'s mut [PopulationState],
    services: &'s mut [ServiceState],
    source: Source,
) -> &'s mut crate::engine::Stream {
    match source {
        Source::Client { population, client } => {
            &mut populations[population as usize].streams[client as usize]
        }
        Source::Job {
            service, instance, ..
        } => &mut services[service as usize].instances[instance as usize].stream,
    }
}
