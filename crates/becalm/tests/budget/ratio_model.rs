//! Does the one lock-free word behave, step by step, like the bucket that it stands for?

use std::time::Duration;

use becalm::budget::{Burst, RatioBudget, Withdrawal};
use becalm::rng::{Random, SplitMix64};
use becalm::{Budget, time::Instant};

/// The slow one, obviously right: time passes by filling up, and what is full is cut where it is asked. All in
/// millionths of a token and in milliseconds.
struct Bucket {
    ratio: u64,
    least: u64,
    /// The time that earns the burst; 0 where that is `least`.
    span: u64,
    floor_per_millisecond: u64,
    balance: u64,
    now: u64,
    deposits: u64,
    /// When it was looked at, at least a span apart, and the deposits by then; the first is its making.
    looks: Vec<(u64, u64)>,
}

impl Bucket {
    fn deposit(&mut self) {
        self.deposits += 1;
        self.balance += self.ratio;
    }

    fn pass(&mut self, millis: u64) {
        self.now += millis;
        self.balance += self.floor_per_millisecond * millis;
    }

    fn withdraw(&mut self) -> bool {
        let left = self.left();
        let enough = left >= 1_000_000;
        if enough {
            self.balance = left - 1_000_000;
        }
        enough
    }

    fn refund(&mut self) {
        self.balance += 1_000_000;
    }

    fn left(&mut self) -> u64 {
        self.balance.min(self.full())
    }

    /// By the mean rate since the last look that is a span old.
    fn full(&mut self) -> u64 {
        if self.span == 0 {
            return self.least;
        }
        let last = self.looks.last().expect("its making");
        if self.now - last.0 >= self.span {
            self.looks.push((self.now, self.deposits));
        }
        let is_old = |look: &&(u64, u64)| self.now - look.0 >= self.span;
        let of_old = self.looks.iter().rev().find(is_old);
        let (then, deposits) = of_old.unwrap_or(&self.looks[0]);
        let earned = (self.deposits - deposits) * self.ratio * self.span;
        self.least.max(earned / (self.now - then).max(self.span))
    }
}

/// A number from 0 to `most`.
fn up_to(most: u64, random: &mut SplitMix64) -> u64 {
    random.next_u64() % (most + 1)
}

#[expect(clippy::cast_precision_loss, reason = "at most 10^10")]
fn tokens(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// A hundred configurations, ten thousand random steps each; time moves by whole milliseconds and
/// the floor by whole millionths in each, so that both sides count without rounding.
#[test]
fn over_a_million_random_steps_it_equals_a_bucket_that_is_filled_at_every_step() {
    let mut random = SplitMix64::new(7);
    let (mut granted, mut denied) = (0, 0);
    for round in 0..100 {
        let mut model = Bucket {
            ratio: 1 + up_to([999_999, 5_000_000][round % 2], &mut random),
            least: 1_000_000 + up_to([5_000_000, 0][round % 3 / 2], &mut random),
            span: [0, 100 + up_to(2_000, &mut random)][round / 2 % 2],
            floor_per_millisecond: up_to([0, 500, 100_000][round % 3], &mut random),
            balance: 0,
            now: 0,
            deposits: 0,
            looks: vec![(0, 0)],
        };
        let burst = match Duration::from_millis(model.span) {
            Duration::ZERO => Burst::from(tokens(model.least)),
            span => Burst::Earned {
                span,
                min: tokens(model.least),
            },
        };
        let config = Budget::ratio(tokens(model.ratio)).burst(burst);
        model.least = model.least.max(1_000_000 + model.ratio);
        model.balance = model.least;
        let floor = tokens(model.floor_per_millisecond * 1000);
        let budget = RatioBudget::new(config.floor_per_second(floor));
        let mut now = Instant::ZERO;
        let mut out: Vec<Withdrawal> = Vec::new();
        for step in 0..10_000 {
            match up_to(15, &mut random) {
                0..=6 => {
                    budget.deposit();
                    model.deposit();
                }
                7..=11 => {
                    let withdrawal = budget.withdraw(now);
                    let expected = model.withdraw();
                    assert_eq!(withdrawal.is_some(), expected, "round {round}, step {step}");
                    granted += u32::from(expected);
                    denied += u32::from(!expected);
                    out.extend(withdrawal);
                }
                12 => {
                    if let Some(withdrawal) = out.pop() {
                        budget.refund(&withdrawal);
                        model.refund();
                    }
                }
                13 => out.clear(), // spent
                _ => {
                    let millis = up_to(20, &mut random);
                    now = now.after(Duration::from_millis(millis));
                    model.pass(millis);
                }
            }
            let error = (budget.tokens(now) - tokens(model.left())).abs();
            assert!(
                error < 1e-9,
                "round {round}, step {step}: {error} tokens apart"
            );
        }
    }
    assert!(
        granted > 100_000 && denied > 50_000,
        "{granted} granted, {denied} denied"
    );
}
