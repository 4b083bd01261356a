//! Is bad input refused with a sentence? Law 12: constructors name the field and the remedy.

mod any_policy;

use std::time::Duration;

use any_policy::{any_policy, any_tick, wild_policy};
use becalm::budget::InvalidBudget;
use becalm::rng::SplitMix64;
use becalm::{Budget, InvalidPolicy, Jitter, Policy, Shared};
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
        above_cap(policy().throttled_base(Duration::MAX)),
        floor(cap),
        floor(Duration::MAX),
    ]
}

fn refused_limits() -> Vec<Refused> {
    use InvalidPolicy::{AttemptTimeout, Attempts, Deadline, MaxWaiting};
    let zero = Duration::ZERO;
    let timeout = policy().attempt_timeout(zero);
    vec![
        (policy().attempts(0), Attempts, "attempts", "at least 1"),
        (policy().deadline(zero), Deadline, "deadline", "raise it"),
        (timeout, AttemptTimeout, "attempt_timeout", "end in time"),
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
    for policy in [
        Policy::default(),
        Policy::default().attempts(1),
        Policy::default().attempts(Policy::UNLIMITED),
        Policy::default().multiplier(1.0),
        Policy::default().multiplier(f64::MAX),
        Policy::fixed(Duration::ZERO),
        Policy::fixed(cap),
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

#[test]
fn the_default_is_what_the_documentation_promises() {
    let policy = Policy::default();
    assert_eq!(policy.attempts, 4);
    assert_eq!(policy.base, 100 * MS);
    assert_eq!((policy.multiplier, policy.cap), (2.0, 20_000 * MS));
    assert_eq!(policy.max_hint, 60_000 * MS);
    assert_eq!(policy.jitter, Jitter::Full);
    assert_eq!(policy.budget, Budget::ratio(0.1).burst(10.0));
    assert_eq!(policy.floor, Duration::ZERO);
    assert_eq!((policy.deadline, policy.attempt_timeout), (None, None));
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
    fn a_policy_brought_into_range_is_accepted(policy in any_policy()) {
        prop_assert_eq!(policy.validate(), Ok(()));
    }
}
