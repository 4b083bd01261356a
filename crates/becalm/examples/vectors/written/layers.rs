//! What do the fields of becalm's own layers say, also those of other versions?

use std::time::Duration;

use becalm::call::{Call, CallOptions};
use becalm::rng::SplitMix64;
use becalm::scope::Told;
use becalm::shared::Shared;
use becalm::time::{ClockId, Instant};
use becalm::{Policy, Scope, StopReason};
use serde_json::{Value, json};

use super::dice::Dice;

/// Members that both fields skip, or that make all of a field garbage.
const OTHERS: [&str; 7] = [
    "later=1",
    "by=\"a proxy\"",
    "x;y=2;z",
    "n=-1.5",
    "Upper=1",
    "=1",
    "",
];

/// `becalm-retry`.
pub fn told(dice: &mut Dice) -> Value {
    const OWN: [&str; 15] = [
        "do-not-retry",
        "do-not-retry=?1",
        "do-not-retry=?0",
        "gave-up=breaker_open;at=orders",
        "do-not-retry=breaker_open",
        "do-not-retry=because",
        "do-not-retry=1",
        "do-not-retry=\"later\"",
        "do-not-retry;after=5",
        "gave-up=budget_exhausted",
        "gave-up=breaker_open",
        "do-not-retry=budget_exhausted",
        "gave-up=shed",
        "gave-up=\"budget_exhausted\"",
        "gave-up",
    ];
    let text = dictionary(dice, &OWN);
    let reason = Told::decode(&text).map(|told| told.reason().as_str());
    json!({ "kind": "told", "text": text, "then": reason })
}

/// `becalm-scope`, of a request that comes at 1 s on a clock of which nothing else is known.
pub fn scope(dice: &mut Dice) -> Value {
    const OWN: [&str; 16] = [
        "attempt=1",
        "attempt=2",
        "attempt=254",
        "attempt=300",
        "attempt=0",
        "attempt=two",
        "retry",
        "retry=?0",
        "repeated",
        "repeated=?1;q",
        "repeated=yes",
        "remaining=1200",
        "remaining=0;unit=ms",
        "remaining=0",
        "remaining=-1",
        "remaining=1.5",
    ];
    let text = dictionary(dice, &OWN);
    let now = Instant::ZERO.after(Duration::from_secs(1));
    let own = Scope::decode(&text, now, ClockId::PROCESS);
    let left = own.deadline(ClockId::PROCESS).map(|at| at.since(now));
    let orders = Shared::new(Policy::default(), Duration::ZERO).expect("a valid policy");
    let strange = Scope::decode(&text, now, ClockId::UNKNOWN);
    let mut call = Call::begin(&orders, CallOptions::new(), strange, now);
    let started = call.start(now, &mut SplitMix64::new(7));
    json!({ "kind": "scope", "text": text, "then": {
        "attempt": own.attempt(),
        "is_first_try": own.is_first_try(),
        "is_repeated_above": own.is_repeated_above(),
        "remaining": left.map(super::nanos),
        "stop": started.err().map(StopReason::as_str),
    } })
}

fn dictionary(dice: &mut Dice, own: &[&str]) -> String {
    let mut members = vec![*dice.pick(own)];
    while dice.one_in(2) {
        let from = if dice.one_in(4) { &OTHERS } else { own };
        members.push(*dice.pick(from));
    }
    members.join(dice.pick::<&str>(&[", ", ",", " \t, "]))
}
