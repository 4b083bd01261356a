//! Does every kind of budget behave, step by step, like the slow and obviously right thing that it
//! stands for? A million random steps each, and all of them together.

use std::time::Duration;

use crate::slow_budgets::{Reference, millionths, references};
use becalm::budget::{Budgets, Gauge, RetryBudget, Withdrawal};
use becalm::rng::{Random, SplitMix64};
use becalm::{Budget, Failure, Hint, time::Instant};

/// A budget beside its references, and the retries that are out.
struct Pair {
    budget: Budgets,
    references: Vec<Box<dyn Reference>>,
    out: Vec<(Withdrawal, Vec<u64>)>,
    calls: u64,
    now: Duration,
    granted: u64,
    denied: u64,
}

impl Pair {
    fn of(config: Budget) -> Self {
        config.validate().expect("a valid budget");
        Self {
            budget: Budgets::new(config),
            references: references(config),
            out: Vec::new(),
            calls: 0,
            now: Duration::ZERO,
            granted: 0,
            denied: 0,
        }
    }

    fn instant(&self) -> Instant {
        Instant::ZERO.after(self.now)
    }

    /// One random step; `most` is the longest time that passes in one.
    fn step(&mut self, most: Duration, random: &mut SplitMix64) {
        let at = self.instant();
        match random.next_u64() % 20 {
            0..=5 => {
                self.budget.call_began();
                self.budget.first_try(at);
                self.calls += 1;
                let now = self.now;
                self.references.iter_mut().for_each(|r| r.first_try(now));
            }
            6..=10 => self.fail(random),
            11 => {
                let failure = Failure::permanent();
                let stopped = failure.hint(Hint::Stop);
                let failure = [failure, stopped][(random.next_u64() % 2) as usize];
                self.budget.on_failure(at, &failure);
                self.references.iter_mut().for_each(|r| r.failed(&failure));
            }
            12 => {
                if let Some((withdrawal, taken)) = self.any_out(random) {
                    self.budget.refund(withdrawal);
                    self.of_each(&taken, |reference, taken| reference.refund(taken));
                }
            }
            13 => {
                if let Some((withdrawal, taken)) = self.any_out(random) {
                    self.budget.spent(withdrawal);
                    self.of_each(&taken, |reference, taken| reference.spent(taken));
                }
            }
            14 => {
                if let Some((withdrawal, taken)) = self.any_out(random) {
                    self.budget.deposit(at);
                    self.budget.on_success(at, Some(withdrawal));
                    self.references.iter_mut().for_each(|r| r.deposit());
                    self.of_each(&taken, |reference, taken| reference.succeeded(Some(taken)));
                }
            }
            15..=16 => {
                self.budget.deposit(at);
                self.budget.on_success(at, None);
                self.references.iter_mut().for_each(|r| r.deposit());
                self.references.iter_mut().for_each(|r| r.succeeded(None));
            }
            17 if self.calls > 0 => {
                self.calls -= 1;
                self.budget.call_ended();
                self.references.iter_mut().for_each(|r| r.call_ended());
            }
            _ => self.now += most * u32::try_from(random.next_u64() % 1000).unwrap() / 1000,
        }
    }

    fn fail(&mut self, random: &mut SplitMix64) {
        let (at, now) = (self.instant(), self.now);
        let failure = match random.next_u64() % 3 {
            0 => Failure::throttled(),
            _ => Failure::transient(),
        };
        self.budget.on_failure(at, &failure);
        self.references.iter_mut().for_each(|r| r.failed(&failure));
        let withdrawal = self.budget.withdraw(at, &failure);
        let mut taken = Vec::new();
        for reference in &mut self.references {
            match reference.withdraw(now, &failure) {
                Some(one) => taken.push(one),
                None => break,
            }
        }
        let expected = taken.len() == self.references.len();
        assert_eq!(withdrawal.is_some(), expected, "at {now:?}");
        if let Some(withdrawal) = withdrawal {
            self.granted += 1;
            self.out.push((withdrawal, taken));
        } else {
            self.denied += 1;
            self.of_each(&taken, |reference, taken| reference.refund(taken));
        }
    }

    fn any_out(&mut self, random: &mut SplitMix64) -> Option<(Withdrawal, Vec<u64>)> {
        let len = self.out.len() as u64;
        let index = random.next_u64().checked_rem(len)?;
        Some(self.out.swap_remove(usize::try_from(index).unwrap()))
    }

    fn of_each(&mut self, taken: &[u64], act: impl Fn(&mut dyn Reference, u64)) {
        for (reference, taken) in self.references.iter_mut().zip(taken) {
            act(reference.as_mut(), *taken);
        }
    }

    fn compare(&mut self) {
        let (at, now) = (self.instant(), self.now);
        let gauges: Vec<Gauge> = self.budget.gauges(at).collect();
        assert_eq!(gauges.len(), self.references.len());
        for (gauge, reference) in gauges.iter().zip(&mut self.references) {
            assert_eq!(gauge.kind, reference.kind());
            assert_eq!(millionths(gauge.left), reference.left(now), "{gauge:?}");
            assert!((0.0..=1.0).contains(&gauge.fill), "{gauge:?}");
        }
    }
}

/// A million steps in all, ten thousand for each of these configurations and each time scale.
fn a_million_steps(configs: &[Budget]) {
    let mut random = SplitMix64::new(7);
    let (mut granted, mut denied) = (0, 0);
    for round in 0..100 {
        let config = configs[round % configs.len()];
        let mut pair = Pair::of(config);
        // From a slice's hundredth to an hour, in which everything is forgotten.
        let most = Duration::from_millis(10) * 6_u32.pow(u32::try_from(round / 7 % 8).unwrap());
        for step in 0..10_000 {
            pair.step(most, &mut random);
            if step % 7 == 0 {
                pair.compare();
            }
        }
        granted += pair.granted;
        denied += pair.denied;
    }
    assert!(granted > 10_000, "{granted} granted");
    assert!(denied > 10_000, "{denied} denied");
}

#[test]
fn tokens_equal_a_bucket_over_a_million_steps() {
    a_million_steps(&[
        Budget::aws_2026_11(),
        "tokens:20".parse().unwrap(),
        "tokens:20,cost:5,throttled:3,refund:none,clean:2"
            .parse()
            .unwrap(),
        "tokens:1,cost:1,throttled:1,clean:0".parse().unwrap(),
    ]);
}

#[test]
fn grpc_equals_the_throttle_of_its_proposal_over_a_million_steps() {
    a_million_steps(&[
        Budget::grpc(10, 0.1),
        Budget::grpc(1, 0.001),
        Budget::grpc(3, 1.5),
        Budget::grpc(1000, 0.57),
        Budget::grpc(7, 0.29),
    ]);
}

#[test]
fn a_window_equals_a_log_of_all_that_happened_over_a_million_steps() {
    let second = Duration::from_secs(1);
    a_million_steps(&[
        Budget::window(0.2, 10 * second, 0.1),
        Budget::window(0.4, second, 0.0),
        Budget::window(0.0, 60 * second, 0.2),
        Budget::window(1.5, Duration::from_millis(1500), 1.0),
        Budget::window(1.0 / 3.0, 7 * second, 0.5),
    ]);
}

#[test]
fn concurrency_equals_a_count_of_slots_over_a_million_steps() {
    a_million_steps(&[
        Budget::concurrency(0.2, 3),
        Budget::concurrency(0.0, 3),
        Budget::concurrency(0.07, 0),
        Budget::concurrency(1.0 / 3.0, 1),
    ]);
}

#[test]
fn per_minute_equals_a_log_of_the_retries_over_a_million_steps() {
    a_million_steps(&[
        Budget::per_minute(60),
        Budget::per_minute(1),
        Budget::per_minute(7),
    ]);
}

#[test]
fn all_kinds_together_equal_all_references_over_a_million_steps() {
    let second = Duration::from_secs(1);
    let all = Budget::ratio(0.5)
        .burst(5.0)
        .floor_per_second(0.0)
        .and(Budget::first_tries(0.7).burst(1.0))
        .and("tokens:200".parse().unwrap())
        .and(Budget::grpc(40, 1.5))
        .and(Budget::window(0.5, 20 * second, 0.5))
        .and(Budget::concurrency(0.2, 10))
        .and(Budget::per_minute(40));
    a_million_steps(&[
        all,
        Budget::ratio(0.3)
            .burst(10.0)
            .floor_per_second(0.0)
            .and(Budget::per_minute(30)),
        Budget::aws_2026_11().and(Budget::concurrency(0.2, 3)),
        Budget::grpc(100, 0.9).and(Budget::window(0.3, 5 * second, 1.0)),
    ]);
}
