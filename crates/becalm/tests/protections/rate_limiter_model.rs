//! Does the rate limiter behave, step by step, like the specification written down plainly?

use std::time::Duration;

use becalm::rng::{Random, SplitMix64};
use becalm::{
    rate::{AdaptiveRate, RateLimiter},
    time::Instant,
};

/// The AWS SDKs' retry specification, word by word, in seconds and whole tokens. A bucket below
/// zero is owed to those who wait.
#[derive(Default)]
struct Specification {
    fill_rate: f64,
    max_capacity: f64,
    capacity: f64,
    last_fill: f64,
    enabled: bool,
    measured: f64,
    last_bucket: f64,
    count: f64,
    w_max: f64,
    last_throttle: f64,
}

impl Specification {
    fn fill(&mut self, now: f64) {
        let filled = self.capacity + (now - self.last_fill) * self.fill_rate;
        self.capacity = filled.min(self.max_capacity);
        self.last_fill = now;
    }

    fn acquire(&mut self, now: f64) {
        if self.enabled {
            self.fill(now);
            self.capacity -= 1.0;
        }
    }

    fn wait(&mut self, now: f64) -> f64 {
        self.fill(now);
        ((1.0 - self.capacity) / self.fill_rate).max(0.0)
    }

    fn measure(&mut self, now: f64) {
        let bucket = (now * 2.0).floor() / 2.0;
        self.count += 1.0;
        if bucket > self.last_bucket {
            let rate = self.count / (bucket - self.last_bucket);
            self.measured = rate * 0.8 + self.measured * 0.2;
            self.count = 0.0;
            self.last_bucket = bucket;
        }
    }

    fn answer(&mut self, now: f64, throttle: bool) {
        self.measure(now);
        let rate;
        if throttle {
            self.w_max = if self.enabled {
                self.measured.min(self.fill_rate)
            } else {
                self.measured
            };
            self.last_throttle = now;
            self.enabled = true;
            rate = self.w_max * 0.7;
        } else {
            let k = (self.w_max * (1.0 - 0.7) / 0.4).powf(1.0 / 3.0);
            rate = 0.4 * (now - self.last_throttle - k).powi(3) + self.w_max;
        }
        let rate = rate.min(2.0 * self.measured);
        self.fill(now);
        self.fill_rate = rate.max(0.5);
        self.max_capacity = rate.max(1.0);
        self.capacity = self.capacity.min(self.max_capacity);
    }
}

/// A hundred clients, ten thousand steps each. Their first throttle comes after half a minute of
/// successes, when the bucket of either is full.
#[test]
fn over_a_million_random_steps_it_equals_the_specification() {
    let mut random = SplitMix64::new(7);
    let (mut waits, mut free) = (0, 0);
    for round in 0..100_u64 {
        let limiter = RateLimiter::new(AdaptiveRate::cubic());
        let mut model = Specification::default();
        let mut now = Instant::ZERO;
        // From a few to a few hundred requests a second; one throttle in some dozens of answers.
        let pause = 2_000_000 << (round % 8);
        let throttles = 10 + round * 3;
        for step in 0..10_000 {
            now = now.after(Duration::from_nanos(random.next_u64() % pause));
            let seconds = now.since(Instant::ZERO).as_secs_f64();
            let warm = seconds > 30.0;
            match random.next_u64() % 16 {
                0..=7 => {
                    let throttle = warm && random.next_u64() % throttles == 0;
                    if throttle {
                        limiter.on_throttle(now);
                    } else {
                        limiter.on_success(now);
                    }
                    model.answer(seconds, throttle);
                }
                8..=14 if model.enabled && model.wait(seconds) < 10.0 => {
                    let _started = limiter.acquire(now).expect("no longest wait");
                    model.acquire(seconds);
                }
                // Given back at once, as if nobody had asked.
                _ => limiter.cancel(limiter.acquire(now).expect("no longest wait")),
            }
            let at = format!("round {round}, step {step}");
            near(limiter.measured(), model.measured, &at);
            if model.enabled {
                near(limiter.rate(), model.fill_rate, &at);
                let wait = limiter.wait(now).as_secs_f64();
                let expected = model.wait(seconds);
                // A millionth of a token is what the bucket counts in.
                let apart = (wait - expected).abs() * model.fill_rate;
                assert!(apart < 2e-6, "{at}: waits {wait} instead of {expected}");
                waits += u32::from(expected > 0.0);
                free += u32::from(expected == 0.0);
            }
        }
    }
    assert!(
        waits > 100_000 && free > 100_000,
        "{waits} waits, {free} free"
    );
}

fn near(actual: f64, expected: f64, at: &str) {
    // The powers of the specification are the platform's, and its seconds are rounded.
    let apart = (actual - expected).abs();
    assert!(
        apart <= 1e-9 * (1.0 + expected),
        "{at}: {actual} instead of {expected}"
    );
}
