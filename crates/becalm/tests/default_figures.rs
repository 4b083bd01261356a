//! Are the figures of `docs/why-these-defaults.md` those of the code?
#![cfg(feature = "std")]

use std::io::{Error, ErrorKind};

use becalm::rng::{Random as _, Seed, SplitMix64};
use becalm::time::FakeSleeper;
use becalm::{Budget, Policy, Retrier};

const PAGE: &str = include_str!("../../../docs/why-these-defaults.md");

fn retrier(policy: Policy) -> Retrier {
    let builder = policy
        .builder()
        .sleeper(FakeSleeper::auto())
        .seed(Seed::fixed(1));
    builder.build().unwrap()
}

/// One call whose attempts fail when `fails` says so: how many attempts, and whether it succeeded.
fn call(retrier: &Retrier, mut fails: impl FnMut() -> bool) -> (u32, bool) {
    let mut attempts = 0;
    let result = retrier.retry_blocking(|attempt| {
        attempts = attempt.number();
        if fails() {
            Err(Error::from(ErrorKind::TimedOut))
        } else {
            Ok(())
        }
    });
    (attempts, result.is_ok())
}

/// The attempts of each of so many calls while everything fails.
fn outage(retrier: &Retrier, calls: usize) -> Vec<u32> {
    (0..calls).map(|_| call(retrier, || true).0).collect()
}

fn amplification(attempts: &[u32]) -> f64 {
    f64::from(attempts.iter().sum::<u32>()) / f64::from(u32::try_from(attempts.len()).unwrap())
}

/// The page must have this row, as it stands.
fn assert_stated(row: &str) {
    assert!(
        PAGE.contains(row),
        "docs/why-these-defaults.md does not say: {row}"
    );
}

#[test]
fn a_client_with_one_call_a_minute() {
    let client = retrier(Policy::default());
    let attempts = outage(&client, 60);
    assert_stated(&format!(
        "| attempts of its calls 1 to 6 | {} |",
        attempts[..6]
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    ));
    assert_stated(&format!(
        "| attempts in the hour | {} for 60 calls, {:.2} times |",
        attempts.iter().sum::<u32>(),
        amplification(&attempts)
    ));
    let mut clean = 0;
    while client.budget_fill() < 1.0 {
        call(&client, || false);
        clean += 1;
    }
    assert_stated(&format!(
        "| calls until the budget is full again | {clean} |"
    ));
}

#[test]
fn a_busy_client() {
    let client = retrier(Policy::default());
    let attempts = outage(&client, 10_000);
    assert_stated(&format!(
        "| load in the first second, in the tenth | {:.2} times, {:.2} times |",
        amplification(&attempts[..1000]),
        amplification(&attempts[9000..])
    ));
    assert_stated(&format!(
        "| load of the ten seconds | {:.3} times |",
        amplification(&attempts)
    ));
}

#[test]
fn a_fleet_of_ten_thousand_small_clients() {
    for burst in [10.0, 3.0, 1.0] {
        let client = retrier(Policy::default().budget(Budget::default().burst(burst)));
        let attempts = outage(&client, 60);
        let first_quarter = amplification(&attempts[..15]);
        assert_stated(&format!(
            "| {burst} | {} | {:.1} | {first_quarter:.2} | {:.2} |",
            attempts[..5]
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(", "),
            f64::from(attempts[0]) * 10_000.0 / 60.0,
            amplification(&attempts),
        ));
    }
}

#[test]
fn a_brown_out() {
    for percent in [1_u32, 5, 10, 20] {
        let share = |budget: Budget| {
            let client = retrier(Policy::default().budget(budget));
            let mut random = SplitMix64::new(17);
            let mut fails = || random.next_u64() % 100 < u64::from(percent);
            let calls = 200_000_u32;
            let good = (0..calls).filter(|_| call(&client, &mut fails).1).count();
            100.0 * f64::from(u32::try_from(good).unwrap()) / f64::from(calls)
        };
        assert_stated(&format!(
            "| {percent} % | {:.1} % | {:.1} % |",
            share(Budget::default()),
            share(Budget::None)
        ));
    }
}
