//! Does the ratio budget keep its law where threads meet on it, and does it lose no success?
#![cfg(feature = "std")]

use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use becalm::budget::RatioBudget;
use becalm::{Budget, Policy, Retrier, time::Instant};

/// Sums are in parts of a millionth of a token in which a nanosecond of a millionth an hour is whole.
const MICRO: i128 = 3_600_000_000_000;
const TOKEN: i128 = 1_000_000 * MICRO;
const THREADS: usize = 8;

#[test]
fn sixty_four_threads_lose_no_success() {
    assert_eq!(counted(64, 500), 64 * 500);
}

/// A tenth of a million operations; `scripts/prove budget` makes a thousand times as many.
#[test]
fn beside_threads_and_reloads_the_law_holds() {
    law_holds(10, 1_250);
}

#[test]
#[ignore = "by hand: scripts/prove budget"]
fn under_threads_in_full() {
    // Fewer than a budget can hold.
    assert_eq!(counted(64, 15_000), 64 * 15_000);
    law_holds(1_000, 12_500);
}

fn retrier_of(burst: f64) -> Policy {
    let budget = Budget::ratio(1.0).burst(burst).floor_per_second(0.0);
    Policy::fixed(Duration::ZERO).budget(budget)
}

fn left(retrier: &Retrier) -> f64 {
    retrier.budget_gauges().map(|it| it.left).sum()
}

/// The tokens that a retrier has earned by this number of successes of each thread, one each.
fn counted(threads: usize, each: u32) -> u64 {
    let retrier = retrier_of(1.0).retrier().expect("a valid policy");
    let room = retrier.replace_policy(retrier_of(1_000_000.0));
    room.expect("a valid policy");
    let before = left(&retrier);
    assert!(before <= 2.0); // a token and what one success earns
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..each {
                    assert!(retrier.blocking(|_| Ok::<_, io::Error>(())).call().is_ok());
                }
            });
        }
    });
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count"
    )]
    let tokens = (left(&retrier) - before) as u64;
    tokens
}

/// What has happened, and how far the clock is.
#[derive(Debug, Default)]
struct Sums {
    nanos: AtomicU64,
    deposits: AtomicU64,
    withdrawn: AtomicU64,
    refunded: AtomicU64,
}

impl Sums {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.nanos.load(SeqCst))
    }

    fn read(&self) -> [i128; 4] {
        let all = [&self.nanos, &self.deposits, &self.withdrawn, &self.refunded];
        all.map(|it| i128::from(it.load(SeqCst)))
    }
}

/// Of all configurations: a tenth, 20 tokens, 36 000 an hour.
const HELD: i128 = 20 * TOKEN;

fn configurations() -> [Budget; 4] {
    let of = |ratio| Budget::ratio(ratio).floor_per_second(10.0);
    let millis = Duration::from_millis;
    [
        of(0.1).burst(20.0),
        of(0.1).burst(millis(500)),
        of(0.05).burst(5.0).floor_per_second(0.0),
        of(0.02).burst(millis(100)),
    ]
}

/// What was withdrawn above what the law allows between these two moments; negative where it allows more.
fn excess(from: [i128; 4], to: [i128; 4]) -> i128 {
    let [nanos, deposits, withdrawn, refunded] = std::array::from_fn(|at| to[at] - from[at]);
    let earned = deposits * TOKEN / 10 + nanos * 36_000 * 1_000_000;
    (withdrawn - refunded) * TOKEN - earned - HELD
}

/// Rounds of eight threads; in every other one a ninth reloads. Between rounds, where all is quiet, sums are exact.
fn law_holds(rounds: u64, each: u64) {
    let [fixed, ..] = configurations();
    let budget = RatioBudget::new(fixed);
    let (sums, mut quiet, mut worst) = (Sums::default(), vec![[0; 4]], i128::MIN);
    for round in 0..rounds {
        let (barrier, is_over) = (Barrier::new(THREADS), AtomicBool::new(false));
        thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS as u64)
                .map(|thread| {
                    let (budget, sums, barrier) = (&budget, &sums, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        work(budget, sums, each, round * 8 + thread);
                    })
                })
                .collect();
            if round % 2 == 1 {
                scope.spawn(|| {
                    for config in configurations().iter().cycle() {
                        budget.reconfigure(*config, sums.now());
                        if is_over.load(SeqCst) {
                            break;
                        }
                        thread::yield_now();
                    }
                });
            }
            for worker in workers {
                worker.join().expect("no operation panics");
            }
            is_over.store(true, SeqCst);
        });
        budget.reconfigure(fixed, sums.now());
        let now = sums.read();
        worst = worst.max(excess([0; 4], now));
        // With a burst in time a busy budget may hold more; since the beginning it may not, and in a round without reloads
        // it has none. Refunds of a round are of its own withdrawals.
        if round % 2 == 0 {
            worst = worst.max(excess(quiet[quiet.len() - 1], now));
        }
        quiet.push(now);
    }
    let [nanos, deposits, withdrawn, refunded] = sums.read();
    assert!(withdrawn > 100 && refunded > 10, "{sums:?}");
    println!(
        "{} operations: {deposits} successes, {withdrawn} withdrawals, {refunded} refunds in {nanos} ns of the clock; the nearest \
         to the law was {} millionths of a token below it",
        rounds * each * THREADS as u64,
        -worst / MICRO,
    );
    assert!(worst <= 0, "{worst} too much: {sums:?}");
}

/// Of 16 operations eleven succeed, four ask for a token, and one lets time pass. One token in four comes back.
fn work(budget: &RatioBudget, sums: &Sums, operations: u64, seed: u64) {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..operations {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        match random % 16 {
            0..=10 => {
                budget.deposit();
                sums.deposits.fetch_add(1, SeqCst);
            }
            11..=14 => {
                let Some(token) = budget.withdraw(sums.now()) else {
                    continue;
                };
                sums.withdrawn.fetch_add(1, SeqCst);
                if (random >> 32).trailing_zeros() >= 2 {
                    budget.refund(&token);
                    sums.refunded.fetch_add(1, SeqCst);
                }
            }
            _ => {
                sums.nanos.fetch_add(random >> 44, SeqCst);
            }
        }
    }
}
