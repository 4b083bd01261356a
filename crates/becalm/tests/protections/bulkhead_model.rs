//! Does the semaphore behave, step by step, like a list of who runs and a list of who waits?
#![cfg(feature = "std")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Poll, Wake, Waker};

use becalm::bulkhead::{Bulkhead, Order, Semaphore, Waiter};
use becalm::rng::{Random, SplitMix64};

/// The slow one, obviously right: two lists and a number.
#[derive(Default)]
struct Model {
    limit: usize,
    bound: usize,
    is_lifo: bool,
    running: usize,
    /// Who waits, oldest first.
    queue: Vec<usize>,
    /// Who has been handed a place and does not know it yet. Runs already.
    granted: Vec<usize>,
    woken: Vec<usize>,
}

#[derive(Debug, PartialEq)]
enum Answer {
    Place,
    Wait,
    Full,
}

impl Model {
    fn try_acquire(&mut self) -> bool {
        let has_place = self.running < self.limit && self.queue.is_empty();
        self.running += usize::from(has_place);
        has_place
    }

    fn poll(&mut self, who: usize) -> Answer {
        if let Some(at) = self.granted.iter().position(|granted| *granted == who) {
            self.granted.remove(at);
            Answer::Place
        } else if self.queue.contains(&who) {
            Answer::Wait
        } else if self.try_acquire() {
            Answer::Place
        } else if self.queue.len() < self.bound {
            self.queue.push(who);
            Answer::Wait
        } else {
            Answer::Full
        }
    }

    fn cancel(&mut self, who: usize) {
        let had_place = self.granted.contains(&who);
        self.queue.retain(|waiting| *waiting != who);
        self.granted.retain(|granted| *granted != who);
        if had_place {
            self.release();
        }
    }

    fn release(&mut self) {
        self.running -= 1;
        self.hand_out();
    }

    fn hand_out(&mut self) {
        while self.running < self.limit && !self.queue.is_empty() {
            let is_newest = self.is_lifo && self.queue.len() * 2 > self.bound;
            let next = if is_newest { self.queue.len() - 1 } else { 0 };
            let who = self.queue.remove(next);
            self.running += 1;
            self.granted.push(who);
            self.woken.push(who);
        }
    }
}

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A number below `end`.
fn below(end: usize, random: &mut SplitMix64) -> usize {
    usize::try_from(random.next_u64() % end as u64).unwrap()
}

fn number(of: usize) -> u32 {
    u32::try_from(of).unwrap()
}

fn config(model: &Model) -> Bulkhead {
    Bulkhead::calls(number(model.limit))
        .waiting(number(model.bound))
        .order(if model.is_lifo {
            Order::Lifo
        } else {
            Order::Fifo
        })
}

/// A hundred configurations, ten thousand random steps each, with twelve callers.
#[test]
fn over_a_million_random_steps_it_equals_two_lists() {
    const CALLERS: usize = 12;
    let mut random = SplitMix64::new(11);
    let (mut waits, mut refusals, mut passed_on) = (0, 0, 0);
    for round in 0..100 {
        let mut model = Model {
            limit: 1 + below(4, &mut random),
            bound: below(10, &mut random),
            is_lifo: round % 2 == 1,
            ..Model::default()
        };
        let places = Semaphore::new(config(&model));
        let mut waiters: [Waiter; CALLERS] = Default::default();
        let woken: [Arc<Woken>; CALLERS] = Default::default();
        for step in 0..10_000 {
            let at = || format!("round {round}, step {step}");
            let who = below(CALLERS, &mut random);
            match below(100, &mut random) {
                0..15 => assert_eq!(places.try_acquire(), model.try_acquire(), "{}", at()),
                15..55 => {
                    let waker = Waker::from(Arc::clone(&woken[who]));
                    let found = match places.poll_acquire(&mut waiters[who], &waker) {
                        Poll::Ready(true) => Answer::Place,
                        Poll::Pending => Answer::Wait,
                        Poll::Ready(false) => Answer::Full,
                    };
                    let expected = model.poll(who);
                    waits += u32::from(expected == Answer::Wait);
                    refusals += u32::from(expected == Answer::Full);
                    assert_eq!(found, expected, "{}", at());
                    assert_eq!(waiters[who].is_waiting(), found == Answer::Wait);
                }
                55..65 => {
                    passed_on += u32::from(model.granted.contains(&who));
                    if below(2, &mut random) == 0 {
                        waiters[who] = Waiter::new();
                    } else {
                        waiters[who].cancel();
                    }
                    model.cancel(who);
                }
                65..97 => {
                    // Places that are handed over and not fetched are nobody's to give back.
                    if model.running > model.granted.len() {
                        places.release(None);
                        model.release();
                    }
                }
                _ => {
                    model.limit = 1 + below(4, &mut random);
                    model.bound = below(10, &mut random);
                    model.is_lifo = below(2, &mut random) == 0;
                    places.reconfigure(config(&model));
                    model.hand_out();
                }
            }
            let gauges = [places.in_flight(), places.waiting(), places.limit()];
            let numbers = [model.running, model.queue.len(), model.limit].map(number);
            assert_eq!(gauges, numbers, "{}", at());
            for (caller, woken) in woken.iter().enumerate() {
                let expected = model.woken.iter().filter(|who| **who == caller).count();
                let found = woken.0.swap(0, Ordering::Relaxed);
                assert_eq!(found, number(expected), "{}, caller {caller}", at());
            }
            model.woken.clear();
        }
    }
    assert!(
        waits > 100_000 && refusals > 20_000 && passed_on > 10_000,
        "{waits} waits, {refusals} refusals, {passed_on} places passed on"
    );
}
