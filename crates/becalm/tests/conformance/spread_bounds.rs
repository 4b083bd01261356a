//! Conformance, *Spread*, 3 to 5: does every delay keep to its bounds, and apart from their ends?

use std::time::Duration;

use becalm::rng::SplitMix64;
use becalm::{
    Backoff, Budget, Failure, Jitter, Policy, Scope,
    call::{Call, CallOptions, Decision},
    shared::Shared,
    time::Instant,
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// All jitters that spread, at the cap too.
pub fn spreading() -> impl Iterator<Item = Jitter> {
    let all = Jitter::SAMPLES.iter().copied();
    all.filter(|it| !matches!(it, Jitter::None | Jitter::DecorrelatedClamped))
}

/// Delays of many calls that fail 10 times each.
fn many_delays(policy: &Policy, tick: Duration) -> Vec<Duration> {
    let shared = Shared::new(policy.clone(), tick).expect("a valid policy");
    let now = Instant::ZERO;
    let mut delays = Vec::new();
    for seed in 0..2000 {
        let mut random = SplitMix64::new(seed << 32);
        let mut call = Call::begin(&shared, CallOptions::new(), Scope::NONE, now);
        for _ in 0..10 {
            call.start(now, &mut || 0).expect("no deadline");
            match call.on_outcome(now, Failure::transient().into(), &mut random) {
                Decision::RetryIn(delay) => delays.push(delay),
                other => panic!("{other:?}"),
            }
        }
    }
    delays
}

#[test]
fn conformance_03_a_jittered_delay_never_exceeds_the_cap_and_does_not_pile_up() {
    let backoffs = [
        Backoff::Fixed,
        Backoff::Linear,
        Backoff::Exponential,
        Backoff::Fibonacci,
        Backoff::custom(|_| Duration::MAX),
    ];
    for backoff in backoffs {
        for jitter in spreading() {
            // The cap is reached at once, soon, or never; the floor lies below the base, at it,
            // above it, and near the cap.
            for cap in [ms(120), ms(1000), Duration::from_secs(3600)] {
                for floor in [0, 30, 100, 119].map(ms) {
                    let policy = Policy::default()
                        .backoff(backoff.clone())
                        .jitter(jitter)
                        .cap(cap)
                        .floor(floor)
                        .attempts(11)
                        .budget(Budget::None);
                    assert_spread_between(floor, cap, &many_delays(&policy, Duration::ZERO));
                }
            }
        }
    }
}

/// On tokio's timer too, for the default policy with any number of attempts.
#[test]
fn conformance_03_nor_does_it_on_a_timer_of_one_millisecond() {
    let policy = Policy::default().attempts(11).budget(Budget::None);
    let delays = many_delays(&policy, ms(1));
    assert_spread_between(policy.floor, policy.cap, &delays);
}

fn assert_spread_between(floor: Duration, cap: Duration, delays: &[Duration]) {
    let [mut at_floor, mut at_cap] = [0, 0];
    for delay in delays {
        assert!(
            floor <= *delay && *delay <= cap,
            "{delay:?} of {floor:?}..{cap:?}"
        );
        at_floor += usize::from(*delay == floor);
        at_cap += usize::from(*delay == cap);
    }
    let bound = delays.len() / 100;
    assert!(
        at_floor < bound && at_cap < bound,
        "{at_floor} at {floor:?}, {at_cap} at {cap:?}"
    );
}

#[test]
fn conformance_04_a_base_below_a_millisecond_is_not_truncated_to_0() {
    let policy = Policy::fixed(Duration::from_micros(300))
        .attempts(11)
        .budget(Budget::None);
    for tick in [Duration::ZERO, ms(1), Duration::from_micros(15_600)] {
        let delays = many_delays(&policy, tick);
        let sum: Duration = delays.iter().sum();
        let mean = sum.as_secs_f64() / f64::from(20_000);
        // The mean of U(0, 300 us). One delay of 15.6 ms in a hundred has a standard error of
        // 11 us over 20 000; the bound is four of them.
        assert!(
            (mean - 150e-6).abs() < 45e-6,
            "{mean} s on a tick of {tick:?}"
        );
    }
}

#[test]
fn conformance_04_a_base_of_a_second_keeps_its_jitter() {
    let policy = Policy::fixed(Duration::from_secs(1))
        .attempts(11)
        .budget(Budget::None);
    for tick in [Duration::ZERO, ms(1)] {
        let mut of_second = [0; 10];
        for delay in many_delays(&policy, tick) {
            of_second[(delay.subsec_millis() / 100) as usize] += 1;
        }
        // 2000 in each tenth of a second; the standard deviation is 42, and the tick at 1 s,
        // which counts as 0, has 10 more.
        let even = of_second.iter().all(|count| (1800..2200).contains(count));
        assert!(even, "{of_second:?}");
    }
}

/// Every policy of extreme parameters, in range and out of it.
fn extreme_policies() -> impl Iterator<Item = Policy> {
    let nano = Duration::from_nanos(1);
    let durations = [
        Duration::ZERO,
        nano,
        ms(100),
        Duration::MAX / 2,
        Duration::MAX,
    ];
    let factors = [
        f64::NAN,
        -1.0,
        0.0,
        1.0,
        2.0,
        1e300,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let lengths = durations.map(|base| durations.map(|cap| (base, cap)));
    lengths.into_iter().flatten().flat_map(move |(base, cap)| {
        factors.into_iter().flat_map(move |factor| {
            let policy = Policy::default().base(base).cap(cap).multiplier(factor);
            let parameters = [
                Jitter::None,
                Jitter::DecorrelatedClamped,
                Jitter::Proportional(factor),
                Jitter::Additive(base),
            ];
            let jitters = spreading().chain(parameters);
            jitters.flat_map(move |jitter| {
                let policy = policy.clone().jitter(jitter);
                [0, 1, 2, u32::MAX - 1, u32::MAX].map(|attempts| policy.clone().attempts(attempts))
            })
        })
    })
}

#[test]
fn conformance_05_any_parameter_is_a_typed_error_or_a_saturated_delay() {
    let (mut refused, mut driven) = (0, 0);
    for policy in extreme_policies() {
        if let Err(why) = policy.validate() {
            refused += 1;
            assert_eq!(Shared::new(policy, Duration::ZERO).err(), Some(why));
            assert!(why.to_string().len() > 20, "a sentence: {why}");
        } else {
            driven += 1;
            let mut delays = policy.delays(SplitMix64::new(7)).take(100);
            assert!(delays.all(|delay| delay <= policy.cap), "{policy:?}");
        }
    }
    assert!(
        refused > 1000 && driven > 500,
        "{refused} refused, {driven} driven"
    );
}
