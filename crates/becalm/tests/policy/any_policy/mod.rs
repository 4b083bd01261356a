//! Policies for property tests: any that validates, and any at all.

use std::time::Duration;

pub mod parts;

use becalm::budget::WhenSpent;
use becalm::{Backoff, Budget, Failure, Hint, Jitter, Policy, hint::HintMode};
use proptest::prelude::*;

/// A duration of any magnitude, from a nanosecond to beyond what fits u64 nanoseconds.
pub fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        8 => (0..64_u32, any::<u64>()).prop_map(|(bits, n)| Duration::from_nanos(n >> bits)),
        1 => any::<Duration>(),
        1 => Just(Duration::ZERO),
    ]
}

fn any_backoff() -> impl Strategy<Value = Backoff> {
    prop_oneof![
        Just(Backoff::Fixed),
        Just(Backoff::Linear),
        Just(Backoff::Exponential),
        Just(Backoff::Fibonacci),
        Just(Backoff::custom(|n| Duration::from_millis(n.into()))),
        Just(Backoff::custom(|n| Duration::MAX / (n + 1))),
    ]
}

fn any_hint_mode() -> impl Strategy<Value = HintMode> {
    prop_oneof![
        Just(HintMode::Honor),
        Just(HintMode::Clamp),
        Just(HintMode::Ignore),
    ]
}

/// Any jitter, with parameters in and out of range.
fn any_jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        5 => prop::sample::select(Jitter::SAMPLES),
        1 => prop_oneof![0.0..1.0_f64, any::<f64>()].prop_map(Jitter::Proportional),
        1 => any_duration().prop_map(Jitter::Additive),
    ]
}

fn any_budget() -> impl Strategy<Value = Budget> {
    let number = || prop_oneof![Just(0.0), 0.0..2.0_f64, any::<f64>()];
    let ratio = (number(), number(), number()).prop_map(|(ratio, burst, floor)| {
        Budget::ratio(ratio).burst(burst).floor_per_second(floor)
    });
    let window = (number(), any_duration(), number());
    let simple = prop_oneof![
        Just(Budget::None),
        ratio,
        Just(Budget::tokens()),
        (any::<u32>(), number()).prop_map(|(most, ratio)| Budget::grpc(most, ratio)),
        window.prop_map(|(share, ttl, floor)| Budget::window(share, ttl, floor)),
        (number(), any::<u32>()).prop_map(|(share, floor)| Budget::concurrency(share, floor)),
        any::<u32>().prop_map(Budget::per_minute),
    ];
    proptest::collection::vec(simple, 1..4)
        .prop_map(|budgets| budgets.into_iter().fold(Budget::None, Budget::and))
}

/// Any policy at all: fields of any value, most of them refused.
pub fn wild_policy() -> impl Strategy<Value = Policy> {
    let delays = (any_duration(), any_duration(), any_duration());
    let limits = (
        any::<u32>(),
        proptest::option::of(any_duration()),
        proptest::option::of(any_duration()),
        proptest::option::of(any_duration()),
        proptest::option::of(any::<u32>()),
    );
    let rules = (any_backoff(), any::<f64>(), any_jitter(), any_budget());
    let hints = (any_hint_mode(), any_duration());
    let parts = parts::wild_parts();
    (delays, limits, rules, hints, parts).prop_map(|(delays, limits, rules, hints, parts)| {
        let mut policy = Policy::default();
        parts.set(&mut policy);
        (policy.base, policy.cap, policy.floor) = delays;
        policy.attempts = limits.0;
        policy.deadline = limits.1;
        policy.attempt_timeout = limits.2;
        policy.throttled_base = limits.3;
        policy.max_waiting = limits.4;
        if policy.attempts % 2 == 0 {
            policy.when_spent = WhenSpent::Wait;
        }
        (
            policy.backoff,
            policy.multiplier,
            policy.jitter,
            policy.budget,
        ) = rules;
        (policy.hint, policy.max_hint) = hints;
        policy
    })
}

/// A policy that validates, of any magnitude: the wild one, brought into range. Nothing but its
/// own rules stands before an attempt.
pub fn any_policy() -> impl Strategy<Value = Policy> {
    (wild_policy(), 1.0..10.0_f64, 1e-3..=1.0_f64).prop_map(|(mut policy, multiplier, share)| {
        (policy.throttle, policy.rate, policy.hedge) = (None, None, None);
        (policy.bulkhead, policy.breaker) = (None, None);
        policy.when_spent = WhenSpent::Stop;
        let nano = Duration::from_nanos(1);
        policy.attempts = policy.attempts.max(1);
        policy.multiplier = multiplier;
        policy.cap = policy.cap.max(2 * nano);
        let below_cap = policy.cap.saturating_sub(nano);
        policy.floor = policy.floor.min(below_cap);
        policy.base = policy.base.clamp(nano, below_cap);
        policy.throttled_base = policy
            .throttled_base
            .map(|base| base.clamp(nano, below_cap));
        policy.deadline = policy.deadline.map(|deadline| deadline.max(nano));
        policy.attempt_timeout = policy.attempt_timeout.map(|timeout| timeout.max(nano));
        policy.max_waiting = policy.max_waiting.map(|places| places.max(1));
        match &mut policy.jitter {
            Jitter::Proportional(of) => *of = share,
            Jitter::Additive(width) => *width = (*width).clamp(nano, policy.cap),
            _ => {}
        }
        if policy.budget.validate().is_err() {
            policy.budget = Budget::default();
        }
        policy
    })
}

/// Any policy with any protection.
pub fn any_protected_policy() -> impl Strategy<Value = Policy> {
    (any_policy(), parts::valid_parts()).prop_map(|(mut policy, parts)| {
        parts.set(&mut policy);
        policy
    })
}

/// Any failure that is not permanent and carries no word of the server.
pub fn any_failure() -> impl Strategy<Value = Failure> {
    let class = prop_oneof![Just(Failure::transient()), Just(Failure::throttled())];
    (class, any::<bool>()).prop_map(
        |(failure, unsent)| {
            if unsent { failure.unsent() } else { failure }
        },
    )
}

/// Any hint that names a delay.
pub fn any_hint() -> impl Strategy<Value = Hint> {
    prop_oneof![
        any_duration().prop_map(Hint::AtLeast),
        any_duration().prop_map(Hint::Exactly),
        (any_duration(), any_duration()).prop_map(|(after, over)| Hint::Spread { after, over }),
    ]
}

/// The tick of a timer: exact, tokio's, that of Windows, or any.
pub fn any_tick() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::from_millis(1)),
        Just(Duration::from_micros(15_600)),
        any_duration(),
    ]
}
