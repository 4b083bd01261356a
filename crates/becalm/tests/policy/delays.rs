//! Are the delays those of the published formulas, to the last bit and on the average?

use std::time::Duration;

use becalm::rng::SplitMix64;
use becalm::{
    Budget, Failure, Jitter, Policy, Scope,
    call::{Call, CallOptions, Decision},
    shared::Shared,
    time::Instant,
};

fn nanos(delay: Duration) -> u64 {
    u64::try_from(delay.as_nanos()).expect("a short delay")
}

fn policy(backoff: &str, jitter: &str) -> Policy {
    Policy::default()
        .backoff(backoff.parse().expect("a backoff"))
        .jitter(jitter.parse().expect("a jitter"))
        .cap(Duration::from_secs(2))
        .attempts(9)
        .budget(Budget::None)
}

/// Backoff, jitter and the first delays in nanoseconds under seed 7, as computed by a second
/// implementation, in another language, of `SplitMix64` and of the formulas: a seed gives these
/// delays on every platform and for ever.
const GOLDEN: &str = "\
exponential none 100000000 200000000 400000000 800000000 1600000000 2000000000 2000000000 2000000000
exponential full 38982975 3357658 360304273 466344235 723907032 498863044 935906008 656153478
exponential equal 69491487 101678829 380152137 633172117 1161953516 1249431522 1467953004 1328076739
exponential decorrelated 177965950 107284404 299836651 566058571 823081648 573919892 858907312 723345804
exponential decorrelated-clamped 177965950 107284404 299836651 566058571 823081648 690964373 1023221262 1074277611
exponential proportional:0.25 94491487 151678829 480152137 833172117 1561953516 1624715761 1733976502 1664038369
exponential additive:50ms 119491487 200839414 445038034 829146515 1622622095 1962471576 1973397650 1966403837
fixed full 38982975 1678829 90076068 58293029 45244189 24943152 46795300 32807674
linear full 38982975 3357658 270228205 233172117 226220947 149658913 327567103 262461391
fibonacci full 38982975 1678829 180152137 174879088 226220947 199545218 608338905 656153478";

fn golden() -> impl Iterator<Item = (&'static str, &'static str, Vec<u64>)> {
    GOLDEN.lines().map(|line| {
        let mut words = line.split(' ');
        let mut name = || words.next().expect("two names");
        let (backoff, jitter) = (name(), name());
        let delays = words.map(|nanos| nanos.parse().expect("a number"));
        (backoff, jitter, delays.collect())
    })
}

#[test]
fn the_same_seed_gives_the_same_delays_everywhere() {
    for (backoff, jitter, expected) in golden() {
        let sampled = policy(backoff, jitter)
            .delays(SplitMix64::new(7))
            .map(nanos);
        assert_eq!(sampled.collect::<Vec<_>>(), expected, "{backoff} {jitter}");
    }
}

#[test]
fn every_jitter_has_golden_delays() {
    let kind = |text: &str| text.split(':').next().map(str::to_owned);
    for jitter in Jitter::SAMPLES {
        let expected = kind(&jitter.to_string());
        let is_there = golden().any(|(_, jitter, _)| kind(jitter) == expected);
        assert!(is_there, "no golden delays of {jitter}");
    }
}

/// What is sampled for a plan is what a call does.
#[test]
fn a_call_waits_exactly_the_delays_that_are_sampled_for_its_policy() {
    for (backoff, jitter, expected) in golden() {
        let shared = Shared::new(policy(backoff, jitter), Duration::ZERO).expect("a valid policy");
        let (mut random, mut now) = (SplitMix64::new(7), Instant::ZERO);
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
        for delay in expected {
            call.start(now, &mut || 0).expect("no deadline");
            let decision = call.on_outcome(now, Failure::transient().into(), &mut random);
            assert_eq!(
                decision,
                Decision::RetryIn(Duration::from_nanos(delay)),
                "{jitter}"
            );
            now = now.after(Duration::from_nanos(delay));
        }
    }
}

#[test]
fn a_call_of_n_attempts_has_n_minus_1_delays() {
    let count = |attempts| {
        let delays = Policy::default()
            .attempts(attempts)
            .delays(SplitMix64::new(7));
        delays.take(1000).count()
    };
    assert_eq!([1, 2, 4, 17].map(count), [0, 1, 3, 16]);
    assert_eq!(count(Policy::UNLIMITED), 1000, "endless");
}

#[test]
fn the_delays_of_no_jitter_are_the_ceilings_up_to_the_cap() {
    let millis = |backoff| {
        let delays = policy(backoff, "none").delays(SplitMix64::new(7));
        delays.map(|delay| delay.as_millis()).collect::<Vec<_>>()
    };
    assert_eq!(millis("fixed"), [100; 8]);
    assert_eq!(millis("linear"), [100, 200, 300, 400, 500, 600, 700, 800]);
    assert_eq!(
        millis("exponential"),
        [100, 200, 400, 800, 1600, 2000, 2000, 2000]
    );
    assert_eq!(
        millis("fibonacci"),
        [100, 100, 200, 300, 500, 800, 1300, 2000]
    );
}

/// A custom growth is a ceiling like any other: capped, and jittered below.
#[test]
fn a_custom_growth_is_capped_and_jittered() {
    let custom = Policy::custom(|n| Duration::from_secs(if n == 1 { 3600 } else { 1 }));
    let delays = |jitter| {
        let delays = custom.clone().jitter(jitter).delays(SplitMix64::new(7));
        delays.collect::<Vec<_>>()
    };
    let ceilings = [1, 20, 1].map(Duration::from_secs);
    assert_eq!(delays(Jitter::None), ceilings);
    for (drawn, ceiling) in delays(Jitter::Full).into_iter().zip(ceilings) {
        assert!(
            Duration::ZERO < drawn && drawn < ceiling,
            "{drawn:?} of {ceiling:?}"
        );
    }
}

/// Mean and variance of the n-th delay of many calls, n from 0, in units of the base.
fn moments(policy: &Policy, n: usize) -> (f64, f64) {
    let base = policy.base.as_secs_f64();
    let (mut sum, mut squares) = (0.0, 0.0);
    for seed in 0..SAMPLES {
        let mut delays = policy.delays(SplitMix64::new(u64::from(seed) << 20));
        let delay = delays.nth(n).expect("enough attempts").as_secs_f64() / base;
        sum += delay;
        squares += delay * delay;
    }
    let mean = sum / f64::from(SAMPLES);
    (mean, squares / f64::from(SAMPLES) - mean * mean)
}

/// With 40 000 samples the standard error of each mean here is at most 0.4 % of it, and that of the
/// variance of a uniform distribution 0.45 %; 2 % is more than four of either. The seeds are fixed.
const SAMPLES: u32 = 40_000;
const TOLERANCE: f64 = 0.02;

fn assert_near(measured: f64, expected: f64, what: &str) {
    let error = (measured / expected - 1.0).abs();
    assert!(
        error < TOLERANCE,
        "{what}: {measured} instead of {expected}"
    );
}

/// U(0, c): mean c/2, variance c^2/12. U(c/2, c): mean 3c/4, variance c^2/48.
#[test]
fn full_and_equal_jitter_have_the_moments_of_their_intervals() {
    for (n, ceiling) in [(0, 1.0), (2, 4.0), (7, 20.0)] {
        let (mean, variance) = moments(&policy("exponential", "full"), n);
        assert_near(mean, ceiling / 2.0, "mean of full");
        assert_near(variance, ceiling * ceiling / 12.0, "variance of full");
        let (mean, variance) = moments(&policy("exponential", "equal"), n);
        assert_near(mean, ceiling * 0.75, "mean of equal");
        assert_near(variance, ceiling * ceiling / 48.0, "variance of equal");
    }
}

/// m(0) = base, m(n + 1) = (base + 3 m(n)) / 2 as long as the cap is far: 2, 3.5, 5.75, 9.125.
#[test]
fn decorrelated_jitter_grows_by_half_as_much_again_on_the_average() {
    let policy = policy("exponential", "decorrelated").cap(Duration::from_secs(3600));
    for (n, expected) in [2.0, 3.5, 5.75, 9.125].into_iter().enumerate() {
        let (mean, _) = moments(&policy, n);
        assert_near(mean, expected, "mean of decorrelated");
    }
}

/// U(c(1 - f), c(1 + f)) below the cap: mean c, variance (f c)^2/3. s + U(0, d): mean s + d/2,
/// variance d^2/12, at the cap as well as below.
#[test]
fn proportional_and_additive_jitter_have_the_moments_of_their_intervals() {
    let (mean, variance) = moments(&policy("exponential", "proportional:0.25"), 2);
    assert_near(mean, 4.0, "mean of proportional");
    assert_near(variance, 1.0 / 3.0, "variance of proportional");
    for (n, start) in [(2, 4.0), (7, 19.5)] {
        let (mean, variance) = moments(&policy("exponential", "additive:50ms"), n);
        assert_near(mean, start + 0.25, "mean of additive");
        assert_near(variance, 0.25 / 12.0, "variance of additive");
    }
}

/// No stream follows another, not even those of seeds that differ by one.
#[test]
fn the_delays_of_calls_with_neighbouring_seeds_are_not_correlated() {
    let policy = Policy::fixed(Duration::from_secs(1)).attempts(2);
    let draw = |seed| {
        let delay = policy.delays(SplitMix64::new(seed)).next().expect("one");
        delay.as_secs_f64() - 0.5
    };
    let pairs = u64::from(SAMPLES);
    let covariance: f64 = (0..pairs).map(|seed| draw(seed) * draw(seed + 1)).sum();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let correlation = covariance / pairs as f64 * 12.0;
    // The standard error of the correlation is 1/sqrt(40 000) = 0.005.
    assert!(correlation.abs() < 0.02, "{correlation}");
}
