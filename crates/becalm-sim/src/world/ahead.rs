//! What will be needed soon? A large world does not fit into a cache, and most of an event's time
//! would pass in waiting for memory, one place after the other. So what the next events need is
//! read some events before, all at once: memory answers many reads in the time of one.
//!
//! Reading changes nothing: a recording is the same without it.

use std::hint::black_box;

use super::World;
use super::event::{Kind, parts};
use super::slab::NOWHERE;
use super::state::CallSlot;
use super::trace::Tracer;

/// Events between two looks ahead. The sorted run of the queue is rarely longer than some dozens,
/// and a core keeps some ten reads under way.
const EVENTS: usize = 8;

/// Below so many requests under way a world is in the cache anyway.
const LARGE: u32 = 1 << 12;

/// Which places to read.
#[derive(Default)]
struct Places {
    calls: Few,
    requests: Few,
}

/// A few places.
struct Few {
    places: [u32; 4 * EVENTS],
    len: usize,
}

impl Default for Few {
    fn default() -> Self {
        Self {
            places: [NOWHERE; 4 * EVENTS],
            len: 0,
        }
    }
}

impl Few {
    /// Past the end there is no need.
    #[inline]
    fn add(&mut self, place: u32) {
        if let Some(free) = self.places.get_mut(self.len) {
            *free = place;
            self.len += 1;
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
        let mut places = Places::default();
        for what in (0..EVENTS).map_while(|n| self.queue.upcoming(n)) {
            match parts(what) {
                Some((Kind::Timer, call, _)) => places.calls.add(call),
                Some((Kind::Served | Kind::Answer | Kind::Arrive, request, _)) => {
                    places.requests.add(request);
                }
                _ => (),
            }
        }
        // Those that are next in a queue or a time-out, where it is likely whose turn comes.
        if let [lane] = &*self.lanes {
            lane.iter()
                .take(EVENTS)
                .for_each(|timeout| places.requests.add(timeout.request));
        }
        if let [service] = &*self.services {
            if let [instance] = &*service.instances {
                let queue = instance.queue.iter().take(EVENTS);
                queue.for_each(|next| places.requests.add(next.request));
            }
        }
        for request in places.requests.iter() {
            if let Some(request) = self.requests.get(request) {
                if black_box(request.is_awaited) {
                    places.calls.add(request.call);
                }
            }
        }
        let slots = places.calls.iter().filter_map(|call| self.calls.get(call));
        slots.for_each(read);
    }
}

/// Something of each of its cache lines that an attempt needs.
#[inline]
fn read(slot: &CallSlot) {
    black_box(slot.timer_at);
    if let Some(call) = &slot.call {
        black_box(call.attempt_number());
        black_box(call.next_probe());
    }
}
