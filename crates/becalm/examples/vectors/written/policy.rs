//! Which policies are tried, and what are their schedules?

use std::time::Duration;

use becalm::budget::WhenSpent;
use becalm::policy::Mode;
use becalm::{Backoff, Budget, Jitter, Policy, hint::HintMode, scope::Nested};
use serde_json::{Value, json};

use super::dice::Dice;
use super::nanos;

/// Whole millionths are earned in each 9 ms by all of these floors, so that nothing is rounded. A larger ratio has no smaller
/// floor, so that a reload seldom finds the same sum of earnings under another pace.
const BUDGETS: [&str; 24] = [
    "none",
    "ratio:0.1,burst:2,floor:10/h",
    "ratio:0.25,burst:3,floor:10/h",
    "ratio:1,burst:1,floor:1",
    "ratio:0.5,burst:1.75,floor:36/h",
    "ratio:0.000001,burst:5,floor:0",
    DEFAULT,
    DEFAULT,
    "ratio:0.1,burst:60s,min:3,floor:10/h",
    "ratio:0.25,burst:1s,min:1,floor:10/h",
    "ratio:0.5,burst:180ms,min:1.5,floor:36/h",
    "ratio:1,burst:5s,min:2,floor:1",
    "first-tries:0.1,burst:2",
    "first-tries:0.2,burst:1,floor:10/h",
    "first-tries:0.5,burst:1s,min:1,floor:36/h",
    "tokens:20,cost:7,throttled:3,refund:last,clean:1",
    "tokens:9,cost:3,throttled:4,refund:none,clean:2",
    "grpc:4,ratio:0.1",
    "concurrency:0.5,floor:1",
    "per-minute:3",
    "window:0.2,ttl:2s,floor:0.5",
    "ratio:0.1,burst:5s,min:10,floor:10/h + per-minute:2",
    "tokens:20,cost:7,throttled:3,refund:last,clean:1 + concurrency:0.3,floor:1",
    "ratio:1,burst:5s,min:2,floor:1 + grpc:10,ratio:0.29 + window:0.25,ttl:10s,floor:0.1",
];

/// The budget of the default policy.
const DEFAULT: &str = "ratio:0.1,burst:5s,min:10,floor:10/h";

/// Half of it is no whole number.
const ODD: Duration = Duration::from_nanos(33_333_333);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A policy that is valid.
pub fn policy(dice: &mut Dice) -> Policy {
    loop {
        let drawn = draft(dice);
        if drawn.validate().is_ok() {
            return drawn;
        }
    }
}

fn draft(dice: &mut Dice) -> Policy {
    let budget = dice.pick(&BUDGETS).parse::<Budget>();
    Policy::default()
        .backoff(growth(dice))
        .base(*dice.pick(&[ms(0), ODD, ms(1), ms(100), ms(250), ms(1500)]))
        .throttled_base(*dice.pick(&[None, None, Some(ms(500)), Some(ms(1000))]))
        .multiplier(*dice.pick(&[1.0, 1.5, 2.0, 2.0, 3.0]))
        .cap(*dice.pick(&[ms(250), ms(2000), ms(20_000), ms(60_000)]))
        .floor(*dice.pick(&[ms(0), ms(0), ms(0), ms(20), ms(300)]))
        .jitter(jitter(dice))
        .attempts(*dice.pick(&[1, 2, 3, 4, 4, 6, Policy::UNLIMITED, Policy::UNLIMITED]))
        .deadline(*dice.pick(&[
            None,
            None,
            None,
            Some(ms(900)),
            Some(ms(5000)),
            Some(ms(60_000)),
        ]))
        .hint(*dice.pick(&[
            HintMode::Honor,
            HintMode::Honor,
            HintMode::Clamp,
            HintMode::Ignore,
        ]))
        .max_hint(*dice.pick(&[ms(60_000), ms(60_000), ms(2000)]))
        .budget(budget.expect("it is written as budgets are"))
        .when_spent(*dice.pick(&[WhenSpent::Stop, WhenSpent::Wait]))
        .max_waiting(*dice.pick(&[None, None, None, Some(1), Some(2)]))
        .nested(*dice.pick(&[
            Nested::Nearest,
            Nested::Nearest,
            Nested::Outermost,
            Nested::Allow,
        ]))
        .mode(*dice.pick(&[
            Mode::Enforce,
            Mode::Enforce,
            Mode::Enforce,
            Mode::Enforce,
            Mode::Enforce,
            Mode::Observe,
        ]))
}

fn growth(dice: &mut Dice) -> Backoff {
    let all = [
        Backoff::Exponential,
        Backoff::Fixed,
        Backoff::Linear,
        Backoff::Fibonacci,
    ];
    dice.pick(&all).clone()
}

fn jitter(dice: &mut Dice) -> Jitter {
    let others = [
        Jitter::Full,
        Jitter::Full,
        Jitter::Proportional(0.1),
        Jitter::Additive(ms(7)),
    ];
    let all: Vec<_> = Jitter::SAMPLES.iter().chain(&others).copied().collect();
    *dice.pick(&all)
}

/// The bounds of each wait of a call that fails every time.
pub fn schedule(dice: &mut Dice) -> Value {
    let policy = policy(dice);
    let step = |step: becalm::schedule::Step| json!({ "retry": step.retry, "least": nanos(step.least), "most": nanos(step.most) });
    let steps: Vec<_> = policy.schedule().take(10).map(step).collect();
    json!({ "kind": "schedule", "policy": policy, "then": steps })
}
