//! What do loops around a bare queue reach: the simulator's, and heaps?

use becalm_sim::engine::{EventQueue, Stream};

use super::heaps::{Binary, Quaternary};
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
pub const BINARY: Engine = Engine {
    package: "a binary heap in a loop",
    note: "",
    hold: |pending| hold(Binary::default(), pending),
    herd: |model| herd(Binary::default(), model),
};

/// What one would write for small queues.
pub const QUATERNARY: Engine = Engine {
    package: "a 4-ary heap in a loop",
    note: "",
    hold: |pending| hold(Quaternary::default(), pending),
    herd: |model| herd(Quaternary::default(), model),
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

impl Queue for Binary {
    fn push(&mut self, at: u64, what: u64) {
        Self::push(self, at, what);
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        Self::pop(self)
    }
}

impl Queue for Quaternary {
    fn push(&mut self, at: u64, what: u64) {
        Self::push(self, at, what);
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        Self::pop(self)
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
