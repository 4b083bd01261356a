//! What will be needed soon? A large world does not fit into a cache, and most of an event's time
//! would pass in waiting for memory, one place after the other. So what the next events need is
//! read some events before, all at once: memory answers many reads in the time of one.
//!
//! Reading changes nothing: a recording is the same without it.

use std::hint::black_box;

use becalm::call::Call;
use becalm::shared::Shared;

use super::event::{Kind, parts};
use super::progress::World;
use super::slab::NOWHERE;
use super::state::Stage;
use super::trace::Tracer;

/// Events between two looks ahead. The sorted run of the queue is rarely longer than some dozens,
/// and a core keeps some ten reads in flight.
const EVENTS: usize = 8;

/// Below this many requests in flight a world is in the cache anyway.
const LARGE: u32 = 1 << 12;

/// Places of calls to read.
struct Calls {
    places: [u32; 4 * EVENTS],
    len: usize,
}

impl Calls {
    /// One more, if it is wanted; past the end there is no need. It does not branch: what it depends
    /// on may be on its way from memory.
    #[inline]
    fn add(&mut self, place: u32, is_wanted: bool) {
        if let Some(free) = self.places.get_mut(self.len) {
            *free = place;
            self.len += usize::from(is_wanted);
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        self.places.into_iter().take(self.len)
    }
}

impl<T: Tracer> World<'_, T> {
    /// An event was taken out.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        if self.requests.len() > LARGE {
            if self.until_look > 0 {
                self.until_look -= 1;
            } else if self.queue.upcoming(0).is_some() {
                self.until_look = EVENTS - 1;
                self.read_ahead();
            }
        }
    }

    #[inline(never)]
    fn read_ahead(&self) {
        let mut calls = Calls {
            places: [NOWHERE; 4 * EVENTS],
            len: 0,
        };
        let mut timers = 0;
        for what in (0..EVENTS).map_while(|n| self.queue.upcoming(n)) {
            if let Some((Kind::Timer, call, _)) = parts(what) {
                calls.add(call, true);
                timers += 1;
            }
        }
        let mut request = |place| {
            if let Some(request) = self.requests.get(place) {
                calls.add(request.call, request.is_awaited);
            }
        };
        for what in (0..EVENTS).map_while(|n| self.queue.upcoming(n)) {
            if let Some((Kind::Served | Kind::Answer | Kind::Arrive, place, _)) = parts(what) {
                request(place);
            }
        }
        // Those that are next in a queue or a time-out, where it is likely whose turn comes.
        if let [lane] = &*self.lanes {
            lane.iter()
                .take(EVENTS)
                .for_each(|timeout| request(timeout.request));
        }
        if let [service] = &*self.services {
            if let [instance] = &*service.instances {
                let queue = instance.queue.iter().take(EVENTS);
                queue.for_each(|next| request(next.request));
            }
        }
        let slots = || calls.iter().filter_map(|call| self.calls.get(call));
        slots().for_each(|slot| {
            black_box(slot.timer_at);
        });
        let wholes = slots().filter_map(|slot| match slot.stage {
            Stage::Whole(place) => self.wholes.get(place)?.as_ref(),
            _ => None,
        });
        wholes.for_each(read);
        // A retry is about to ask what its client shares.
        for slot in slots().take(timers) {
            black_box(slot.shared.map(Shared::waiting));
        }
    }
}

/// Something of each of its cache lines that an attempt needs.
#[inline]
fn read(call: &Call<&Shared>) {
    black_box(call.attempt_number());
    black_box(call.next_probe());
}
