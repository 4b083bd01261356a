//! Does the queue give events in the order of time and of their pushes, whatever the times?

use std::collections::BTreeMap;

use becalm::rng::Random as _;
use becalm_sim::engine::{Event, EventQueue, Stream};
use proptest::prelude::*;

/// The queue beside a sorted map that numbers its pushes.
#[derive(Default)]
struct Both {
    queue: EventQueue,
    sorted: BTreeMap<(u64, u64), u64>,
    pushed: u64,
    now: u64,
}

impl Both {
    /// A queue that is made for this many events. The number decides how many it sorts at once.
    fn for_pending(events: usize) -> Self {
        Self {
            queue: EventQueue::for_pending(events),
            ..Self::default()
        }
    }

    fn push(&mut self, at: u64) {
        self.queue.push(at, self.pushed);
        self.sorted
            .insert((at.max(self.now), self.pushed), self.pushed);
        self.pushed += 1;
    }

    fn pop(&mut self) -> Option<Event> {
        let expected = self.sorted.pop_first();
        let expected = expected.map(|((at, _), what)| Event { at, what });
        assert_eq!(self.queue.pop(), expected);
        self.now = expected.map_or(self.now, |event| event.at);
        expected
    }

    fn look(&mut self) {
        let next = self.sorted.first_key_value().map(|((at, _), _)| *at);
        assert_eq!(self.queue.next_at(), next);
        assert_eq!(self.queue.len(), self.sorted.len());
        assert_eq!(self.queue.is_empty(), self.sorted.is_empty());
        assert_eq!(self.queue.now(), self.now);
        for (n, expected) in self.sorted.values().enumerate().take(5) {
            match self.queue.upcoming(n) {
                Some(what) => assert_eq!(what, *expected),
                None => break,
            }
        }
    }

    fn pop_until(&mut self, latest: u64) {
        if self.queue.next_at().is_some_and(|at| at <= latest) {
            let expected = self
                .sorted
                .pop_first()
                .map(|((at, _), what)| Event { at, what });
            assert_eq!(self.queue.pop_until(latest), expected);
            self.now = expected.map_or(self.now, |event| event.at);
        } else {
            assert_eq!(self.queue.pop_until(latest), None);
        }
    }

    fn drain(&mut self) {
        while self.pop().is_some() {}
        self.look();
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// So many events, so far from now.
    After(u64, usize),
    /// An event at a time of its own, past or to come.
    At(u64),
    /// So many events in steps from now on: times that the queue has sorted already.
    Between(u64, usize),
    Pop(usize),
    PopUntil(u64),
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    // Distances of every magnitude.
    let distance = (0_u32..64, any::<u64>()).prop_map(|(bits, any)| any >> bits);
    prop_oneof![
        4 => (distance.clone(), 1_usize..4).prop_map(|(distance, times)| Step::After(distance, times)),
        1 => (0_u64..3, 1_usize..300).prop_map(|(distance, times)| Step::After(distance, times)),
        1 => any::<u64>().prop_map(Step::At),
        1 => (u64::MAX - 70..=u64::MAX).prop_map(Step::At),
        1 => (0_u64..2000, 1_usize..600).prop_map(|(width, times)| Step::Between(width, times)),
        4 => (1_usize..20).prop_map(Step::Pop),
        1 => (1_usize..500).prop_map(Step::Pop),
        2 => distance.prop_map(Step::PopUntil),
        2 => Just(Step::Look),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn events_come_in_the_order_of_time_and_of_their_pushes(
        steps in prop::collection::vec(step(), 1..80),
        is_for_many in any::<bool>(),
    ) {
        let mut both = Both::for_pending(if is_for_many { 2_000_000 } else { 0 });
        for step in steps {
            match step {
                Step::After(distance, times) => {
                    for _ in 0..times {
                        both.push(both.now.saturating_add(distance));
                    }
                }
                Step::At(at) => both.push(at),
                Step::Between(width, times) => {
                    for n in 0..times as u64 {
                        both.push(both.now.saturating_add(n * 7919 % (width + 1)));
                    }
                }
                Step::Pop(times) => {
                    for _ in 0..times {
                        both.pop();
                    }
                }
                Step::PopUntil(distance) => both.pop_until(both.now.saturating_add(distance)),
                Step::Look => both.look(),
            }
        }
        both.drain();
    }
}

/// Pops one and pushes one, over and over, at distances that `distance` draws.
fn hold(pending: u64, steps: u64, mut distance: impl FnMut(&mut Stream) -> u64) {
    hold_in(Both::default(), pending, steps, &mut distance);
    hold_in(Both::for_pending(300_000), pending, steps, &mut distance);
}

fn hold_in(mut both: Both, pending: u64, steps: u64, distance: &mut dyn FnMut(&mut Stream) -> u64) {
    let mut random = Stream::of(5, pending);
    for _ in 0..pending {
        both.push(distance(&mut random));
    }
    for n in 0..steps {
        let event = both.pop().expect("as many are pushed as popped");
        both.push(event.at.saturating_add(distance(&mut random)));
        if n % 64 == 0 {
            both.look();
        }
    }
    both.drain();
}

#[test]
fn a_population_that_is_held_stays_in_order_at_every_size() {
    for pending in [1, 2, 60, 70, 300, 5000] {
        hold(pending, 3 * pending + 500, |random| {
            random.below(1_000_000_000)
        });
    }
}

#[test]
fn near_and_far_times_mixed_stay_in_order() {
    hold(2000, 6000, |random| {
        let bits = random.below(60);
        random.next_u64() >> (4 + bits)
    });
}

#[test]
fn thousands_of_pushes_just_before_what_is_sorted_already_stay_in_order() {
    let (mut both, mut random) = (Both::default(), Stream::of(6, 0));
    // Few and far apart: one run holds them all, up to a second from here.
    for n in 1..=60 {
        both.push(1 << 30 | n << 20);
    }
    both.pop();
    for _ in 0..3000 {
        both.push(both.now + random.below(1 << 24));
        if random.chance(0.3) {
            both.pop();
        }
        if random.chance(0.01) {
            both.look();
        }
    }
    both.drain();
}

#[test]
fn events_of_one_time_come_in_the_order_of_their_pushes_however_many() {
    let mut both = Both::default();
    for _ in 0..3000 {
        both.push(77_777_777_777);
    }
    both.look();
    for _ in 0..1500 {
        both.pop();
        // At once: behind all that wait for the same time.
        both.push(0);
    }
    both.drain();
}

#[test]
fn the_last_time_that_there_is_can_be_reached() {
    let mut both = Both::default();
    for at in [u64::MAX, u64::MAX - 1, u64::MAX, 0, 1] {
        both.push(at);
    }
    both.drain();
    both.push(3);
    assert_eq!(both.pop().map(|event| event.at), Some(u64::MAX));
}

#[test]
fn an_event_is_sixteen_bytes() {
    assert_eq!(size_of::<Event>(), 16);
}

#[test]
fn memory_for_more_events_than_there_can_be_is_not_reserved() {
    assert!(EventQueue::for_pending(usize::MAX).is_empty());
}
