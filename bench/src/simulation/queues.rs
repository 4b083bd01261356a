//! What do a loop around the simulator's event queue, and one around the standard library's heap,
//! reach?

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use becalm_sim::engine::{EventQueue, Stream};

use super::herd::{Client, Herd, hold_time};
use super::{Advance, Engine};

/// The queue of the simulator.
pub const OURS: Engine = Engine {
    package: "becalm-sim",
    note: "its event queue in a loop",
    hold: |pending| hold(EventQueue::default(), pending),
    herd: |model| herd(EventQueue::default(), model),
};

/// What one would write at first.
pub const HEAP: Engine = Engine {
    package: "a binary heap in a loop",
    note: "",
    hold: |pending| hold(Heap::default(), pending),
    herd: |model| herd(Heap::default(), model),
};

trait Queue {
    fn push(&mut self, at: u64, what: u64);
    fn pop(&mut self) -> Option<(u64, u64)>;
}

impl Queue for EventQueue {
    fn push(&mut self, at: u64, what: u64) {
        Self::push(self, at, what);
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        Self::pop(self).map(|event| (event.at, event.what))
    }
}

/// With a number for each event, so that equal times keep their order.
#[derive(Default)]
struct Heap {
    events: BinaryHeap<Reverse<(u64, u64, u64)>>,
    pushed: u64,
}

impl Queue for Heap {
    fn push(&mut self, at: u64, what: u64) {
        self.events.push(Reverse((at, self.pushed, what)));
        self.pushed += 1;
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        self.events.pop().map(|Reverse((at, _, what))| (at, what))
    }
}

fn hold(mut queue: impl Queue + 'static, pending: u64) -> Advance {
    let mut random = Stream::of(1, pending);
    for what in 0..pending {
        queue.push(hold_time(&mut random), what);
    }
    Box::new(move |events| {
        for _ in 0..events {
            if let Some((at, what)) = queue.pop() {
                queue.push(at + hold_time(&mut random), what);
            }
        }
        events
    })
}

fn herd(mut queue: impl Queue, model: &Herd) -> u64 {
    let mut clients: Vec<Client> = (0..model.clients).map(Client::of).collect();
    for (client, number) in clients.iter_mut().zip(0..) {
        queue.push(client.delay(), number);
    }
    let mut attempts = 0;
    while let Some((at, number)) = queue.pop() {
        attempts += 1;
        let client = usize::try_from(number)
            .ok()
            .and_then(|at| clients.get_mut(at));
        if let Some(client) = client.filter(|_| at < model.refused_until) {
            queue.push(at + client.delay(), number);
        }
    }
    attempts
}
