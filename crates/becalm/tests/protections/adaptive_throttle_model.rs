//! Does the adaptive throttle behave, step by step, like the formula over a list of all requests?

use std::collections::VecDeque;
use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::{
    Throttle,
    throttle::{AdaptiveThrottle, Priority},
    time::Instant,
};

/// The slow one, obviously right: each request of the last ten slices, by the list.
struct List {
    k: f64,
    max: f64,
    slice: u64,
    /// The slice, the priority, and whether it was accepted.
    requests: VecDeque<(u64, Priority, bool)>,
}

impl List {
    fn probability(&mut self, now: Instant, priority: Priority) -> f64 {
        let current = now.as_nanos() / self.slice;
        while self
            .requests
            .front()
            .is_some_and(|(slice, ..)| slice + 10 <= current)
        {
            self.requests.pop_front();
        }
        let level = priority as i32;
        // K - 1 is halved from each priority to the next.
        let k = 1.0 + (self.k - 1.0) * 2_f64.powi(1 - level);
        let excess = |(requests, accepts): (f64, f64)| requests - k * accepts;
        let own = self.count(|of| of == priority);
        let above = self.count(|of| of <= priority);
        let below = self.count(|of| of > priority);
        // What is left when those below are shed as far as they may be.
        let own_left = excess(self.count(|of| of >= priority)) - self.max * below.0;
        let above_left = excess(self.count(|_| true)) - self.max * below.0;
        let borne = f64::max(excess(own).min(own_left), excess(above).min(above_left));
        (borne.max(0.0) / (own.0 + 1.0)).min(self.max)
    }

    /// Requests of some priorities, and how many of them were accepted.
    fn count(&self, counts: impl Fn(Priority) -> bool) -> (f64, f64) {
        let (mut requests, mut accepts) = (0.0, 0.0);
        for (_, priority, accepted) in &self.requests {
            if counts(*priority) {
                requests += 1.0;
                accepts += f64::from(u8::from(*accepted));
            }
        }
        (requests, accepts)
    }

    fn add(&mut self, now: Instant, priority: Priority, accepted: bool) {
        let slice = now.as_nanos() / self.slice;
        self.requests.push_back((slice, priority, accepted));
    }
}

/// Fifty servers, twenty thousand steps each, whose share of accepts changes now and then.
#[test]
fn over_a_million_random_steps_it_equals_the_formula_over_a_list_of_all_requests() {
    let mut random = SplitMix64::new(7);
    let (mut shed, mut doubted, mut sure) = (0_u32, 0_u32, 0_u32);
    for round in 0..50 {
        let k = [1.0, 1.1, 1.5, 2.0, 3.0][round % 5];
        let max = [1.0, 0.9, 0.5][round % 3];
        let window = Duration::from_millis(1000 + random.next_u64() % 100_000);
        let throttle = AdaptiveThrottle::new(Throttle::accepts(k).within(window).max(max));
        let slice = u64::try_from(window.as_nanos()).unwrap() / 10;
        let requests = VecDeque::new();
        let mut list = List {
            k,
            max,
            slice,
            requests,
        };
        let (mut now, mut healthy) = (Instant::ZERO, 16);
        for step in 0..20_000 {
            if random.next_u64() % 100 == 0 {
                healthy = random.next_u64() % 17;
            }
            // Some dozens in a window, and sometimes a long pause.
            let pause = match random.next_u64() % 1000 {
                0 => slice * 12,
                n => slice * n / 2000,
            };
            now = now.after(Duration::from_nanos(pause));
            let priority = Priority::ALL[(random.next_u64() % 4) as usize];
            let p = list.probability(now, priority);
            let at = format!("round {round}, step {step}");
            let probability = throttle.probability(now, priority);
            assert!(
                (probability - p).abs() < 1e-9,
                "{at}: {probability} instead of {p}"
            );
            let bits = random.next_u64();
            #[expect(clippy::cast_precision_loss)]
            let drawn = bits as f64 / 2_f64.powi(64);
            if (drawn - p).abs() < 1e-9 && p > 0.0 {
                continue; // too near for the list's arithmetic
            }
            let admitted = throttle.admit(now, priority, || bits).is_ok();
            assert_eq!(admitted, drawn >= p, "{at}: {drawn} against {p}");
            let accepted = admitted && random.next_u64() % 16 < healthy;
            list.add(now, priority, accepted);
            if accepted {
                throttle.on_accepted(now, priority);
            } else if admitted {
                throttle.on_rejected(now, priority);
            }
            shed += u32::from(!admitted);
            doubted += u32::from(p > 0.0);
            sure += u32::from(p <= 0.0);
        }
    }
    assert!(
        shed > 100_000 && doubted > 200_000 && sure > 200_000,
        "{shed} shed, {doubted} in doubt, {sure} not"
    );
}
