//! Does an adaptive limit find the capacity of a server, lose it fast when the server slows down,
//! and find it again? A server of ten workers, ten milliseconds each, in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use becalm::Instant;
use becalm::bulkhead::{Aimd, Bulkhead, Gradient, Limit, Outcome, Sample, Semaphore};
use becalm::rng::{Random, SplitMix64};

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLI;

/// Calls arrive at random, take a place or are turned away, queue at the server for a worker, and
/// are served in a fixed time.
struct World {
    places: Semaphore,
    random: SplitMix64,
    now: u64,
    /// Mean nanoseconds between two calls.
    gap: u64,
    next_call: u64,
    /// Nanoseconds of work in each call.
    service: u64,
    workers: usize,
    /// Calls beyond this many in the server's queue are dropped at once.
    room: usize,
    /// When calls began that wait for a worker.
    queue: VecDeque<u64>,
    /// When a worker ends, and when its call began.
    busy: BinaryHeap<Reverse<(u64, u64)>>,
    served: u64,
    dropped: u64,
    turned_away: u64,
    slept_in_server: u64,
}

impl World {
    fn new(limit: Limit, seed: u64) -> Self {
        Self {
            places: Semaphore::new(Bulkhead::limited(limit)),
            random: SplitMix64::new(seed),
            now: 0,
            // Three times what the server can serve.
            gap: SECOND / 3000,
            next_call: 0,
            service: 10 * MILLI,
            workers: 10,
            room: usize::MAX,
            queue: VecDeque::new(),
            busy: BinaryHeap::new(),
            served: 0,
            dropped: 0,
            turned_away: 0,
            slept_in_server: 0,
        }
    }

    /// Runs on for this long; returns the mean limit, sampled at every millisecond.
    fn run(&mut self, seconds: f64) -> f64 {
        let end = self.now + (seconds * 1e9) as u64;
        let (mut sum, mut samples, mut sample_at) = (0.0, 0.0, self.now);
        loop {
            let done = self.busy.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
            let next = done.min(self.next_call);
            while sample_at < next.min(end) {
                sum += f64::from(self.places.limit());
                samples += 1.0;
                sample_at += MILLI;
            }
            if next >= end {
                self.now = end;
                return sum / samples;
            }
            self.now = next;
            if done <= self.next_call {
                self.busy
                    .pop()
                    .map(|Reverse((_, began))| self.end(began, Outcome::Completed));
                self.begin_work();
            } else {
                self.arrive();
                // Uniform from 0 to twice the mean.
                self.next_call = self.now + self.random.next_u64() % (2 * self.gap);
            }
        }
    }

    fn arrive(&mut self) {
        if !self.places.try_acquire() {
            self.turned_away += 1;
        } else if self.queue.len() >= self.room && self.busy.len() >= self.workers {
            self.end(self.now, Outcome::Dropped);
        } else {
            self.queue.push_back(self.now);
            self.begin_work();
        }
    }

    fn begin_work(&mut self) {
        while self.busy.len() < self.workers {
            let Some(began) = self.queue.pop_front() else {
                return;
            };
            let u = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let service = if std::env::var("EXP").is_ok() {
                (self.service as f64 * -(1.0 - u).ln()) as u64
            } else {
                self.service
            };
            self.busy.push(Reverse((self.now + service, began)));
        }
    }

    fn end(&mut self, began: u64, outcome: Outcome) {
        match outcome {
            Outcome::Completed => self.served += 1,
            Outcome::Dropped => self.dropped += 1,
        }
        self.slept_in_server += self.now - began;
        self.places.release(Some(Sample {
            took: Duration::from_nanos(self.now - began),
            now: Instant::from_nanos(self.now),
            outcome,
        }));
    }

    /// Calls per second served over the next seconds.
    fn rate(&mut self, seconds: f64) -> f64 {
        let before = self.served;
        self.run(seconds);
        (self.served - before) as f64 / seconds
    }
}

#[test]
fn light() {
    for gap in [SECOND / 500, SECOND / 200, SECOND / 20] {
        let mut w = World::new(Limit::Gradient(Gradient::default()), 1);
        w.gap = gap;
        println!(
            "{:?}",
            (0..100).map(|_| w.run(2.0) as u32).collect::<Vec<_>>()
        );
        println!(
            "turned away {} of {}",
            w.turned_away,
            w.served + w.turned_away
        );
    }
}
fn main_figures(limit: Limit) {
    for seed in 1..4 {
        let mut w = World::new(limit, seed);
        for _ in 0..10 {
            let m = w.run(0.1);
            print!("{m:.1} ");
        }
        println!();
        let a = w.run(5.0);
        let r = w.rate(5.0);
        println!("settled {a:.1} rate {r:.0} limit {}", w.places.limit());
        let probe = (0..70).map(|_| w.run(1.0) as u32).collect::<Vec<_>>();
        println!("{probe:?}");
        println!("rate over 2 min {:.0}", w.rate(120.0));
        w.service = 100 * MILLI;
        for _ in 0..40 {
            let m = w.run(0.1);
            print!("{m:.1} ");
        }
        println!();
        let s = (0..80).map(|_| w.run(1.0) as u32).collect::<Vec<_>>();
        println!("{s:?}");
        w.service = 10 * MILLI;
        for _ in 0..20 {
            let m = w.run(0.1);
            print!("{m:.1} ");
        }
        println!();
    }
}

#[test]
fn figures() {
    main_figures(Limit::Gradient(Gradient::default()));
}

#[test]
fn figures_aimd() {
    for seed in 1..3 {
        let mut w = World::new(Limit::Aimd(Aimd::default()), seed);
        w.room = 10;
        println!("{:?}", (0..10).map(|_| w.run(0.1)).collect::<Vec<_>>());
        println!("{} rate {}", w.run(5.0), w.rate(5.0));
        w.service = 100 * MILLI;
        println!("{:?}", (0..10).map(|_| w.run(1.0)).collect::<Vec<_>>());
        w.workers = 2;
        w.room = 2;
        println!("{:?}", (0..30).map(|_| w.run(0.1)).collect::<Vec<_>>());
        w.workers = 10;
        w.room = 10;
        w.service = 10 * MILLI;
        println!("{:?}", (0..30).map(|_| w.run(0.1)).collect::<Vec<_>>());
    }
}
