//! Is bad input refused with a sentence? Law 12: constructors name the field and the remedy.

use std::time::Duration;

use crate::any_policy::{any_protected_policy, any_tick, wild_policy};
use becalm::breaker::InvalidBreaker;
use becalm::budget::{InvalidBudget, WhenSpent};
use becalm::bulkhead::InvalidBulkhead;
use becalm::hedge::InvalidHedge;
use becalm::rate::InvalidAdaptiveRate;
use becalm::rng::SplitMix64;
use becalm::throttle::InvalidThrottle;
use becalm::{
    Breaker, Budget, Bulkhead, Hedge, Jitter, Policy, Throttle, policy::InvalidPolicy,
    rate::AdaptiveRate, shared::Shared,
};
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

/// A policy that is refused: why, the field that is named, and a word of the remedy.
type Refused = (Policy, InvalidPolicy, &'static str, &'static str);

fn policy() -> Policy {
    Policy::default()
}

/// Every way to be refused.
fn refused() -> Vec<Refused> {
    let mut all = refused_delays();
    all.extend(refused_limits());
    all.extend(refused_jitters());
    all.extend(refused_budgets());
    all.extend(refused_admissions());
    all.extend(refused_breakers_and_hedges());
    all
}

fn refused_delays() -> Vec<Refused> {
    let multiplier = |multiplier| {
        let why = InvalidPolicy::Multiplier;
        (policy().multiplier(multiplier), why, "multiplier", "use 2")
    };
    let above_cap = |policy| (policy, InvalidPolicy::BaseAboveCap, "base", "raise cap");
    let floor = |floor| {
        let why = InvalidPolicy::FloorNotBelowCap;
        (policy().floor(floor), why, "floor", "below cap")
    };
    let cap = policy().cap;
    let no_cap = policy().cap(Duration::ZERO);
    vec![
        multiplier(f64::NAN),
        multiplier(f64::INFINITY),
        multiplier(-2.0),
        multiplier(0.0),
        multiplier(1.0 - f64::EPSILON),
        (no_cap, InvalidPolicy::Cap, "cap", "base of 0"),
        above_cap(policy().base(cap + Duration::from_nanos(1))),
        above_cap(
            Policy::custom(|_| MS)
                .base(Duration::MAX)
                .jitter(Jitter::Decorrelated),
        ),
        (
            policy().throttled_base(Duration::MAX),
            InvalidPolicy::ThrottledBaseAboveCap,
            "throttled_base",
            "lower throttled_base or raise cap",
        ),
        floor(cap),
        floor(Duration::MAX),
    ]
}

fn refused_limits() -> Vec<Refused> {
    use InvalidPolicy::{AttemptTimeout, Attempts, Deadline, MaxWaiting, WaitWithoutDeadline};
    let zero = Duration::ZERO;
    let timeout = policy().attempt_timeout(zero);
    vec![
        (policy().attempts(0), Attempts, "attempts", "at least 1"),
        (policy().deadline(zero), Deadline, "deadline", "raise it"),
        (timeout, AttemptTimeout, "attempt_timeout", "end in time"),
        (
            policy().when_spent(WhenSpent::Wait),
            WaitWithoutDeadline,
            "when_spent",
            "set a deadline",
        ),
        (
            policy().max_waiting(0),
            MaxWaiting,
            "max_waiting",
            "attempts 1",
        ),
    ]
}

fn refused_jitters() -> Vec<Refused> {
    let share = |share| {
        let (why, policy) = (InvalidPolicy::JitterShare, policy());
        let policy = policy.jitter(Jitter::Proportional(share));
        (policy, why, "jitter", "use none for 0")
    };
    let width = |width| {
        let (why, policy) = (InvalidPolicy::JitterWidth, policy());
        let policy = policy.jitter(Jitter::Additive(width));
        (policy, why, "jitter", "use none for 0")
    };
    let decorrelated = || policy().jitter(Jitter::Decorrelated);
    let clamped = || policy().jitter(Jitter::DecorrelatedClamped);
    let without_base = |policy| {
        let why = InvalidPolicy::DecorrelatedWithoutBase;
        (policy, why, "base", "set a base")
    };
    let without_room = |policy| {
        let why = InvalidPolicy::DecorrelatedWithoutRoom;
        (policy, why, "base", "raise cap")
    };
    let cap = policy().cap;
    vec![
        share(0.0),
        share(-0.5),
        share(1.0 + f64::EPSILON),
        share(f64::NAN),
        share(f64::INFINITY),
        width(Duration::ZERO),
        width(cap + Duration::from_nanos(1)),
        width(Duration::MAX),
        without_base(decorrelated().base(Duration::ZERO)),
        without_base(decorrelated().throttled_base(Duration::ZERO)),
        without_base(clamped().throttled_base(Duration::ZERO)),
        without_room(decorrelated().base(cap)),
        without_room(decorrelated().throttled_base(cap)),
    ]
}

fn refused_budgets() -> Vec<Refused> {
    let refused = |budget, why, remedy| {
        let why = InvalidPolicy::Budget(why);
        (policy().budget(budget), why, "budget", remedy)
    };
    let ratio = |ratio| refused(Budget::ratio(ratio), InvalidBudget::Ratio, "use none");
    let burst = |burst| {
        let budget = Budget::ratio(0.1).burst(burst);
        refused(budget, InvalidBudget::Burst, "from 1 to")
    };
    let floor = |floor| {
        let budget = Budget::ratio(0.1).floor_per_second(floor);
        refused(budget, InvalidBudget::Floor, "from 0 to")
    };
    vec![
        ratio(0.0),
        ratio(0.999e-6),
        ratio(1000.1),
        ratio(f64::NAN),
        ratio(-0.1),
        ratio(f64::INFINITY),
        burst(0.99),
        burst(1_000_000.5),
        burst(f64::NAN),
        floor(-0.1),
        floor(10_000.5),
        floor(f64::NAN),
    ]
}

fn refused_admissions() -> Vec<Refused> {
    let throttle = |throttle, why, remedy| {
        let why = InvalidPolicy::Throttle(why);
        (policy().throttle(throttle), why, "throttle", remedy)
    };
    let bulkhead = |bulkhead, why, remedy| {
        let why = InvalidPolicy::Bulkhead(why);
        (policy().bulkhead(bulkhead), why, "bulkhead", remedy)
    };
    let k = |k| {
        let why = InvalidThrottle::Accepts;
        throttle(Throttle::accepts(k), why, "from 1 to 1000")
    };
    let window = |window| {
        let why = InvalidThrottle::Window;
        throttle(Throttle::default().within(window), why, "from 1s to 1h")
    };
    let max = |max| {
        let why = InvalidThrottle::Max;
        throttle(Throttle::default().max(max), why, "from 0.01 to 1")
    };
    let rate = AdaptiveRate::cubic().max_wait(AdaptiveRate::LONGEST_WAIT + MS);
    let too_long = InvalidPolicy::Rate(InvalidAdaptiveRate::MaxWait);
    let calls = Bulkhead::calls(5);
    vec![
        k(1.0 - f64::EPSILON),
        k(1000.1),
        k(f64::NAN),
        window(999 * MS),
        window(Duration::MAX),
        max(0.009),
        max(1.01),
        max(f64::NAN),
        (policy().rate(rate), too_long, "rate", "leave it out"),
        bulkhead(Bulkhead::calls(0), InvalidBulkhead::Calls, "leave it out"),
        bulkhead(
            calls.waiting(1_000_001),
            InvalidBulkhead::Waiting,
            "at most",
        ),
        bulkhead(
            calls.waiting(1).max_wait(Duration::ZERO),
            InvalidBulkhead::MaxWait,
            "use waiting:0",
        ),
        bulkhead(
            calls.max_wait(MS),
            InvalidBulkhead::NobodyWaits,
            "add waiting",
        ),
    ]
}

fn refused_breakers_and_hedges() -> Vec<Refused> {
    let hedge = |hedge, why, remedy| {
        let why = InvalidPolicy::Hedge(why);
        (policy().hedge(hedge), why, "hedge", remedy)
    };
    let breaker = |breaker, why, remedy| {
        let why = InvalidPolicy::Breaker(why);
        (policy().breaker(breaker), why, "breaker", remedy)
    };
    let p95 = Hedge::at_quantile(0.95);
    let consecutive = Breaker::consecutive(5);
    vec![
        hedge(
            Hedge::after(Duration::MAX),
            InvalidHedge::After,
            "at most 1h",
        ),
        hedge(
            Hedge::at_quantile(f64::NAN),
            InvalidHedge::Quantile,
            "from 0.5",
        ),
        hedge(p95.max(Duration::ZERO), InvalidHedge::Max, "from its min"),
        hedge(p95.min_samples(0), InvalidHedge::Samples, "from 1 to"),
        hedge(p95.window(MS), InvalidHedge::Window, "from 1s to 10m"),
        hedge(p95.copies(0), InvalidHedge::Copies, "from 1 to 4"),
        hedge(Hedge::after(MS).copies(5), InvalidHedge::Copies, "1 to 4"),
        breaker(
            Breaker::consecutive(0),
            InvalidBreaker::Consecutive,
            "leave the breaker out",
        ),
        breaker(
            Breaker::share(f64::NAN, becalm::breaker::Span::Calls(9)),
            InvalidBreaker::Share,
            "leave the breaker out",
        ),
        breaker(
            Breaker::share(0.5, becalm::breaker::Span::Calls(9)).min_calls(10),
            InvalidBreaker::MinCallsAboveWindow,
            "lower min",
        ),
        breaker(
            consecutive.slow(Duration::ZERO),
            InvalidBreaker::Slow,
            "leave it out",
        ),
        breaker(
            consecutive.open(Duration::ZERO),
            InvalidBreaker::Open,
            "use 5s",
        ),
        breaker(consecutive.open_max(MS), InvalidBreaker::OpenMax, "to 24h"),
        breaker(
            consecutive.jitter(f64::NAN),
            InvalidBreaker::Jitter,
            "use 0.5",
        ),
        breaker(consecutive.probes(0), InvalidBreaker::Probes, "use 1"),
        breaker(consecutive.successes(0), InvalidBreaker::Successes, "use 2"),
    ]
}

/// With nothing to draw it is `none`, and beyond all bounds it is a slip.
#[test]
fn no_parameter_of_a_jitter_is_0_or_boundless() {
    for text in Jitter::SAMPLES.iter().map(Jitter::to_string) {
        let Some((kind, parameter)) = text.split_once(':') else {
            continue;
        };
        let unit = parameter.trim_start_matches(|it: char| !it.is_alphabetic());
        for number in ["0", "1000000000"] {
            let text = format!("{kind}:{number}{unit}");
            let jitter = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            let why = policy().jitter(jitter).validate().expect_err(&text);
            assert_eq!(why.field(), "jitter", "{text}");
        }
    }
}

#[test]
fn every_refusal_names_the_field_and_the_remedy() {
    for (policy, why, field, remedy) in refused() {
        assert_eq!(policy.validate(), Err(why), "{policy:?}");
        assert_eq!(why.field(), field);
        let sentence = why.to_string();
        assert!(sentence.contains(remedy), "{field}: {sentence}");
        let named = sentence.contains(&field.replace('_', " ")) || sentence.contains(field);
        assert!(named, "{sentence}");
    }
}

#[cfg(feature = "std")]
#[test]
fn what_validate_refuses_no_retrier_is_made_of() {
    for (policy, why, ..) in refused() {
        assert_eq!(policy.clone().retrier().err(), Some(why));
        let retrier = Policy::default().retrier().expect("the default is valid");
        assert_eq!(retrier.replace_policy(policy), Err(why));
        assert_eq!(retrier.policy(), Policy::default(), "the old one stays");
    }
}

#[test]
fn the_edges_of_every_range_are_accepted() {
    let cap = Policy::default().cap;
    for policy in vec![
        Policy::default(),
        Policy::default().attempts(1),
        Policy::default().attempts(Policy::UNLIMITED),
        Policy::default().multiplier(1.0),
        Policy::default().multiplier(f64::MAX),
        Policy::fixed(Duration::ZERO),
        Policy::fixed(cap),
        Policy::custom(|_| MS).cap(MS),
        Policy::custom(|_| MS).cap(MS).throttled_base(cap),
        Policy::default().throttled_base(cap),
        Policy::default().throttled_base(Duration::ZERO),
        Policy::default().cap(Duration::MAX).base(Duration::MAX),
        Policy::default().floor(cap.saturating_sub(Duration::from_nanos(1))),
        Policy::default().deadline(Duration::from_nanos(1)),
        Policy::default().deadline(Duration::MAX),
        Policy::default().max_hint(Duration::ZERO),
        Policy::default().max_waiting(1),
        Policy::default().jitter(Jitter::Proportional(1.0)),
        Policy::default().jitter(Jitter::Additive(cap)),
        Policy::default().jitter(Jitter::Decorrelated).base(MS),
        Policy::default()
            .jitter(Jitter::DecorrelatedClamped)
            .base(cap),
        Policy::default().budget(Budget::None),
        Policy::default().budget(Budget::ratio(1e-6)),
        Policy::default().budget(Budget::ratio(1000.0)),
        Policy::default().budget(Budget::ratio(0.1).burst(1.0)),
        Policy::default().budget(Budget::ratio(0.1).burst(1e6)),
        Policy::default().budget(Budget::ratio(0.1).floor_per_second(1e4)),
    ] {
        assert_eq!(policy.validate(), Ok(()), "{policy:?}");
    }
}

/// In the `LazyLock` of the front page a refusal is a panic.
#[test]
fn c8_no_argument_of_a_constructor_makes_a_policy_that_is_refused() {
    let constructors = [
        Policy::fixed,
        Policy::exponential,
        Policy::linear,
        Policy::fibonacci,
    ];
    for constructor in constructors {
        for seconds in [0, 1, 20, 21, 60, 3600] {
            let base = Duration::from_secs(seconds);
            let policy = constructor(base);
            assert_eq!(policy.validate(), Ok(()), "{policy:?}");
            assert_eq!(policy.cap, base.max(Policy::default().cap));
        }
        assert_eq!(constructor(Duration::MAX).validate(), Ok(()));
    }
    let minutes = Policy::fixed(60_000 * MS).jitter(Jitter::None);
    let delays: Vec<_> = minutes.delays(SplitMix64::new(7)).collect();
    assert_eq!(delays, [60_000 * MS; 3]);
}

#[test]
fn c8_a_custom_growth_is_not_bound_by_a_base_that_it_never_uses() {
    let ladder = Policy::custom(|n| MS * (n + 1)).cap(6 * MS);
    assert_eq!(ladder.validate(), Ok(()));
    let decorrelated = ladder.jitter(Jitter::Decorrelated);
    assert_eq!(decorrelated.validate(), Err(InvalidPolicy::BaseAboveCap));
}

#[test]
fn the_edges_of_every_range_of_the_protection_are_accepted() {
    for policy in vec![
        policy().throttle(Throttle::accepts(1.0).within(1000 * MS).max(0.01)),
        policy().throttle(Throttle::accepts(1e3).within(3_600_000 * MS).max(1.0)),
        policy().rate(AdaptiveRate::cubic().max_wait(Duration::ZERO)),
        policy().rate(AdaptiveRate::cubic().max_wait(AdaptiveRate::LONGEST_WAIT)),
        policy().hedge(Hedge::after(Duration::ZERO).copies(4)),
        policy().hedge(Hedge::at_quantile(0.5).min(MS).max(MS)),
        policy().hedge(Hedge::at_quantile(0.999).window(600_000 * MS)),
        policy().bulkhead(Bulkhead::calls(1_000_000).waiting(1_000_000)),
        policy().bulkhead(Bulkhead::calls(1).waiting(1).max_wait(Duration::MAX)),
        policy().breaker(Breaker::consecutive(1).open(MS).open_max(MS).jitter(0.0)),
        policy().breaker(Breaker::consecutive(1_000_000).jitter(1.0)),
    ] {
        assert_eq!(policy.validate(), Ok(()), "{policy:?}");
    }
}

proptest! {
    /// Fields of any value: a sentence or a retrier, never a panic, not even for a sample of the
    /// delays of a policy that nobody has validated.
    #[test]
    fn law_12_no_policy_at_all_panics(policy in wild_policy(), tick in any_tick(), seed: u64) {
        let valid = policy.validate();
        if let Err(why) = valid {
            prop_assert!(!why.field().is_empty() && !why.to_string().is_empty());
        }
        prop_assert_eq!(Shared::new(policy.clone(), tick).err(), valid.err());
        let sampled = policy.delays(SplitMix64::new(seed)).take(100).count();
        prop_assert!(sampled <= policy.attempts.saturating_sub(1) as usize || sampled == 100);
    }

    #[test]
    fn a_policy_brought_into_range_is_accepted(policy in any_protected_policy()) {
        prop_assert_eq!(policy.validate(), Ok(()));
    }
}
