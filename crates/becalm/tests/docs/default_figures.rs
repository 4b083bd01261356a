//! Are the figures of `docs/why-these-defaults.md` those of the code?
#![cfg(feature = "std")]

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::time::Duration;

use becalm::call::{Call, CallOptions, Decision};
use becalm::classify::Verdict;
use becalm::rng::{Random as _, Seed, SplitMix64};
use becalm::time::FakeSleeper;
use becalm::time::Instant;
use becalm::{Budget, Failure, Policy, Retrier, Scope, Sleeper as _};

const PAGE: &str = include_str!("../../../../docs/why-these-defaults.md");

fn retrier(policy: Policy) -> Retrier {
    on(&FakeSleeper::auto(), policy)
}

fn on(clock: &FakeSleeper, policy: Policy) -> Retrier {
    let builder = policy.builder().sleeper(clock.clone()).seed(Seed::fixed(1));
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

/// The attempts of each of so many calls, one in each of these times, while everything fails.
fn outage(policy: &Policy, calls: usize, each: Duration) -> (Retrier, Vec<u32>) {
    let clock = FakeSleeper::auto();
    let retrier = on(&clock, policy.clone());
    let began = clock.now();
    let calls = (0..calls).map(|made| {
        let due = began.after(each * u32::try_from(made).unwrap());
        clock.advance(due.since(clock.now()));
        call(&retrier, || true).0
    });
    let attempts = calls.collect();
    (retrier, attempts)
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
    let (client, attempts) = outage(&Policy::default(), 60, Duration::from_secs(60));
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
        "| calls that succeed, within one minute, until the budget is full again | {clean} |"
    ));
}

/// B3: one of 12 retries in 30 hours had none left.
#[test]
fn b3_a_client_with_one_call_an_hour_has_its_retries_back_within_the_hour() {
    let (_, attempts) = outage(&Policy::default(), 30, Duration::from_secs(3600));
    assert_eq!(attempts, [4; 30]);
}

/// A thousand calls a second for half a minute, of which attempts fail in the last seconds but for this time. Of the calls
/// that begin in it: the attempts of each, and whether it succeeded.
fn away_for(time: Duration, budget: Budget) -> Vec<(u32, bool)> {
    let retrier = retrier(Policy::default().budget(budget));
    let mut random = SplitMix64::new(5);
    let second = Duration::from_secs(1);
    let gone = Instant::ZERO.after(15 * second);
    let back = gone.after(time);
    let begin = |now| {
        let call = Call::begin(&retrier, CallOptions::new(), Scope::NONE, now);
        (now, call)
    };
    let mut due: BTreeMap<(Instant, u64), _> = (0..30_000)
        .map(|made| Instant::ZERO.after(made * Duration::from_millis(1)))
        .zip(0_u64..)
        .map(|(now, made)| ((now, made), None))
        .collect();
    let mut ended = Vec::new();
    while let Some(((now, made), call)) = due.pop_first() {
        let (since, mut call) = call.unwrap_or_else(|| begin(now));
        call.start(now, &mut random).expect("no deadline");
        let attempts = call.attempt_number();
        let fails = (gone..back).contains(&now);
        let outcome = if fails {
            Failure::transient().into()
        } else {
            Verdict::Success
        };
        match call.on_outcome(now, outcome, &mut random) {
            Decision::RetryIn(delay) => {
                due.insert((now.after(delay), made), Some((since, call)));
            }
            _ if (gone..back).contains(&since) => ended.push((since, attempts, !fails)),
            _ => {}
        }
    }
    ended.sort_by_key(|(since, ..)| *since);
    ended
        .into_iter()
        .map(|(_, attempts, succeeded)| (attempts, succeeded))
        .collect()
}

#[test]
fn a_busy_client() {
    let attempts = away_for(Duration::from_secs(10), Budget::default());
    let attempts: Vec<u32> = attempts.into_iter().map(|(attempts, _)| attempts).collect();
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
fn a_busy_client_rides_out_a_blip() {
    for millis in [100, 200, 300, 500] {
        let succeed = |budget| {
            let calls = away_for(Duration::from_millis(millis), budget);
            let good = calls.iter().filter(|(_, succeeded)| *succeeded).count();
            100.0 * f64::from(u32::try_from(good).unwrap())
                / f64::from(u32::try_from(calls.len()).unwrap())
        };
        assert_stated(&format!(
            "| {millis} ms | {:.1} % | {:.1} % | {:.1} % |",
            succeed(Budget::default()),
            succeed(Budget::default().burst(10.0)),
            succeed(Budget::None)
        ));
    }
}

#[test]
fn a_fleet_of_ten_thousand_small_clients() {
    for burst in [10.0, 3.0, 1.0] {
        let policy = Policy::default().budget(Budget::default().burst(burst));
        let (_, attempts) = outage(&policy, 60, Duration::from_secs(60));
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
    for percent in [1_u32, 5, 10, 20, 30] {
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
