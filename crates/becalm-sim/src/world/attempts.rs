//! What happens to an attempt between its caller and its service? Sent, and left.

use becalm::time::ClockId;
use becalm::{Scope, time::Instant};

use super::arrivals::NEVER;
use super::event::Kind;
use super::progress::World;
use super::slab::NOWHERE;
use super::state::{Answer, Details, Place, Request, Source, Stage};
use super::trace::Tracer;

impl<T: Tracer> World<'_, T> {
    /// The attempt of this number is sent.
    pub(super) fn send(&mut self, at: u32, number: u32, is_hedge: bool) {
        let plan = self.plan;
        let slot = &self.calls[at];
        let index = slot.line;
        let line = &plan.lines[index as usize];
        let timeout = self.now.saturating_add(line.timeout);
        let (source, key, gives_up_at) = (slot.source, slot.key, timeout.min(slot.deadline));
        let is_first = number == 1;
        match source {
            Source::Client { population, .. } => {
                let tally = &mut self.population_tallies[population as usize];
                tally.attempts += 1;
                tally.first_tries += u32::from(is_first);
                tally.hedges += u32::from(is_hedge);
            }
            Source::Job { service, .. } => {
                let call = index as usize - plan.first_line_of[service as usize];
                self.service_tallies[service as usize].asked(call, is_first);
            }
        }
        let delay = self.message(source);
        let scope = if line.is_scoped {
            self.scope(at, number, delay.unwrap_or(0))
        } else {
            Scope::NONE
        };
        let slot = &mut self.calls[at];
        let serial = self.requests_sent;
        self.requests_sent += 1;
        let request = self.requests.insert(Request {
            serial,
            call: at,
            number,
            line: index,
            instance: 0,
            work: 0,
            since: 0,
            done_at: NEVER,
            priority: slot.priority,
            is_awaited: true,
            is_cancelled: false,
            is_miss: false,
            place: Place::Travelling,
            answer: Answer::Success,
            first_child: NOWHERE,
            next_copy: slot.first_request,
        });
        slot.first_request = request;
        if line.has_details {
            *self.details_of(request) = Details {
                gives_up_at,
                key,
                scope,
                ..Details::NONE
            };
        }
        let generation = self.requests.generation(request);
        if gives_up_at != NEVER {
            self.set_time_out(gives_up_at, index, request, generation);
        }
        let Some(delay) = delay else {
            self.requests[request].place = Place::Lost;
            return;
        };
        if let Source::Job { instance, .. } = source {
            let (refused_below, lost_below) = line.arrives_from;
            if instance < refused_below {
                self.requests[request].answer = Answer::Failure;
                self.reply(request, delay);
                return;
            }
            if instance < lost_below {
                self.requests[request].place = Place::Lost;
                return;
            }
        }
        self.schedule(self.now + delay, Kind::Arrive, request, generation);
    }

    /// What a service that asks knows of a request besides.
    #[inline]
    pub(super) fn details_of(&mut self, request: u32) -> &mut Details {
        let at = request as usize;
        if at >= self.details.len() {
            self.details.resize(at + 1, Details::NONE);
        }
        &mut self.details[at]
    }

    /// What the request says of the layers above it: as a header, written and read, so that it says
    /// what it would between two processes.
    fn scope(&mut self, at: u32, number: u32, delay: u64) -> Scope {
        use std::fmt::Write;
        let now = self.now();
        let slot = &self.calls[at];
        let scope = match &slot.stage {
            Stage::Free => Scope::NONE,
            Stage::First(first) => first.scope(&self.plan.lines[slot.line as usize].fresh),
            Stage::Whole(place) => {
                let call = self.wholes[*place].as_ref();
                call.map_or(Scope::NONE, |call| call.scope_of(number))
            }
        };
        let header = scope.encode(now, ClockId::PROCESS);
        self.header.clear();
        if let Some(header) = header {
            // Writing into a text does not fail.
            let _ = write!(self.header, "{header}");
        }
        let arrives = Instant::from_nanos(self.now + delay);
        Scope::decode(&self.header, arrives, ClockId::PROCESS)
    }

    /// Nobody waits for the attempts of a call any more.
    #[inline]
    pub(super) fn leave_all(&mut self, at: u32) {
        // Mostly none is left.
        while self.calls[at].first_request != NOWHERE {
            self.leave(self.calls[at].first_request);
        }
    }

    /// The caller does not wait for this attempt any more.
    #[inline(always)]
    pub(super) fn leave(&mut self, request: u32) {
        let here = &mut self.requests[request];
        here.is_awaited = false;
        let (call, line) = (here.call, here.line);
        let (next_copy, place) = (here.next_copy, here.place);
        self.unlink(call, request, next_copy);
        self.caller_left(request, line, place);
    }

    /// Takes an attempt out of those of its call.
    #[inline]
    pub(super) fn unlink(&mut self, call: u32, request: u32, next_copy: u32) {
        let slot = &mut self.calls[call];
        if slot.first_request == request {
            slot.first_request = next_copy;
        } else {
            self.unlink_later(call, request, next_copy);
        }
    }

    fn unlink_later(&mut self, call: u32, request: u32, next_copy: u32) {
        let mut before = self.calls[call].first_request;
        while before != NOWHERE && self.requests[before].next_copy != request {
            before = self.requests[before].next_copy;
        }
        if before != NOWHERE {
            self.requests[before].next_copy = next_copy;
        }
    }
}
