//! Does an adaptive limit find the capacity of a server, lose it fast when the server slows down,
//! and find it again? A server of ten workers, ten milliseconds each, in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use becalm::bulkhead::{Aimd, Bulkhead, Gradient, Limit, Outcome, Sample, Semaphore};
use becalm::rng::{Random, SplitMix64};
use becalm::time::Instant;

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
    /// Whether one call in ten is eleven times the work of the others, with the same mean.
    is_uneven: bool,
    workers: usize,
    /// Calls beyond this many in the server's queue are dropped at once.
    room: usize,
    /// When calls began that wait for a worker.
    queue: VecDeque<u64>,
    /// When a worker ends, and when its call began.
    busy: BinaryHeap<Reverse<(u64, u64)>>,
    served: u32,
    turned_away: u64,
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
            is_uneven: false,
            workers: 10,
            room: usize::MAX,
            queue: VecDeque::new(),
            busy: BinaryHeap::new(),
            served: 0,
            turned_away: 0,
        }
    }

    /// Runs on for this long; returns the mean limit, sampled at every millisecond.
    fn run(&mut self, millis: u64) -> f64 {
        let end = self.now + millis * MILLI;
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
                if let Some(Reverse((_, began))) = self.busy.pop() {
                    self.end(began, Outcome::Completed);
                }
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
            let work = match self.is_uneven {
                false => self.service,
                true if self.random.next_u64() % 10 == 0 => self.service * 11 / 2,
                true => self.service / 2,
            };
            self.busy.push(Reverse((self.now + work, began)));
        }
    }

    fn end(&mut self, began: u64, outcome: Outcome) {
        self.served += u32::from(outcome == Outcome::Completed);
        self.places.release(Some(Sample {
            took: Duration::from_nanos(self.now - began),
            now: Instant::from_nanos(self.now),
            outcome,
        }));
    }

    /// Calls served over the next milliseconds, and the mean limit.
    fn served_in(&mut self, millis: u64) -> (f64, f64) {
        let before = self.served;
        let limit = self.run(millis);
        (f64::from(self.served - before), limit)
    }
}

const SEEDS: std::ops::Range<u64> = 0..5;

fn gradient() -> Limit {
    Limit::Gradient(Gradient::default())
}

#[track_caller]
fn assert_near(found: f64, expected: f64, tolerance: f64, what: &str) {
    let error = (found - expected).abs();
    assert!(error <= tolerance, "{what}: {found} instead of {expected}");
}

/// The root of L = 1.25 x workers + sqrt(L): where the gradient comes to rest.
fn rest(workers: f64) -> f64 {
    let root = f64::midpoint(1.0, (1.0 + 5.0 * workers).sqrt());
    root * root
}

#[test]
fn the_gradient_settles_where_its_formula_says_and_nothing_is_idle() {
    for seed in SEEDS {
        for workers in [3_u32, 10, 40] {
            let mut world = World::new(gradient(), seed);
            world.workers = workers as usize;
            world.gap = world.service / u64::from(workers) / 3;
            world.run(1500);
            let (served, limit) = world.served_in(10_000);
            let expected = rest(f64::from(workers));
            // Of whole calls, as the limit and its root are.
            assert_near(limit, expected, 1.2, "limit");
            assert_near(served, f64::from(workers) * 1000.0, 0.5, "served in 10 s");
        }
    }
}

/// A baseline that is a slow average follows the queue up, and the limit with it to its maximum.
#[test]
fn ten_minutes_of_overload_do_not_move_the_gradient() {
    let mut world = World::new(gradient(), 1);
    world.run(1500);
    let before = world.served;
    for second in 0..600 {
        let limit = world.run(1000);
        assert!((10.0..18.0).contains(&limit), "{limit} in second {second}");
    }
    // What ten probes cost.
    let lost = 600_000 - (world.served - before);
    assert!(lost < 1500, "{lost} calls lost");
}

#[test]
fn the_gradient_falls_when_calls_take_ten_times_as_long_and_finds_the_new_capacity() {
    for seed in SEEDS {
        let mut world = World::new(gradient(), seed);
        world.run(5000);
        world.service = 100 * MILLI;
        world.run(500);
        assert!(world.places.limit() <= 8, "{}", world.places.limit());
        world.run(1500);
        assert_eq!(world.places.limit(), 1);
        // At the minimum it learns that calls now take 100 ms; ten workers are ten workers.
        world.run(8000);
        assert_near(
            world.run(20_000),
            rest(10.0),
            1.0,
            "limit of the slow server",
        );
        world.service = 10 * MILLI;
        world.run(1000);
        let (served, limit) = world.served_in(5000);
        assert_near(limit, rest(10.0), 1.5, "limit when fast again");
        assert!(served >= 4990.0, "{served} served in 5 s");
    }
}

#[test]
fn uneven_calls_neither_starve_the_gradient_nor_blow_it_up() {
    for seed in SEEDS {
        let mut world = World::new(gradient(), seed);
        world.is_uneven = true;
        world.run(2000);
        for _ in 0..100 {
            let limit = world.run(2000);
            assert!((7.0..30.0).contains(&limit), "{limit}");
        }
        let (served, _) = world.served_in(100_000);
        assert!(served > 96_000.0, "{served} of 100000 served");
    }
}

#[test]
fn light_traffic_is_not_turned_away_and_raises_no_limit() {
    for seed in SEEDS {
        for gap in [SECOND / 200, SECOND / 20] {
            let mut world = World::new(gradient(), seed);
            world.gap = gap;
            world.run(300_000);
            assert_eq!((world.turned_away, world.places.limit()), (0, 20));
        }
    }
}

/// A server that queues ten calls and drops more: 20 at once is what it takes.
#[test]
fn aimd_settles_below_what_the_server_drops() {
    for seed in SEEDS {
        let mut world = World::new(Limit::Aimd(Aimd::default()), seed);
        world.room = 10;
        world.run(1000);
        let (served, limit) = world.served_in(10_000);
        assert!((18.0..21.0).contains(&limit), "{limit}");
        assert_near(served, 10_000.0, 15.0, "served in 10 s");
    }
}

#[test]
fn aimd_falls_with_the_server_and_rises_with_it() {
    for seed in SEEDS {
        let mut world = World::new(Limit::Aimd(Aimd::default()), seed);
        world.room = 10;
        world.run(5000);
        // Four at once is what it takes now.
        (world.workers, world.room) = (2, 2);
        world.run(500);
        assert_near(world.run(5000), 4.0, 0.5, "limit of two workers");
        (world.workers, world.room) = (10, 10);
        world.run(500);
        assert_near(world.run(5000), 19.5, 1.0, "limit of ten workers");
    }
}

#[test]
fn aimd_told_what_is_slow_needs_no_drops() {
    for seed in SEEDS {
        let mut aimd = Aimd::default();
        aimd.slow = Some(Duration::from_millis(15));
        let mut world = World::new(Limit::Aimd(aimd), seed);
        world.run(1000);
        // 15 at once take 15 ms each, more where the workers end together.
        let (served, limit) = world.served_in(10_000);
        assert!((10.0..15.0).contains(&limit), "{limit}");
        assert_near(served, 10_000.0, 15.0, "served in 10 s");
    }
}
