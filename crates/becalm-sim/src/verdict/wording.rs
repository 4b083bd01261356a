//! What is a policy, in a line? And what are those of a scenario?

use std::fmt::Write as _;

use becalm::budget::WhenSpent;
use becalm::support::Human;
use becalm::{Backoff, Jitter, Policy};

use crate::change::{Change, Place};
use crate::scenario::Scenario;

use super::numbers::list;

/// A policy in a line: `4 attempts, exponential from 100ms to 20s with full jitter, budget
/// ratio:0.1,burst:5s,min:10,floor:10/h`.
pub fn describe(policy: &Policy) -> String {
    let mut line = match policy.attempts {
        Policy::UNLIMITED => "unlimited attempts".into(),
        1 => return format!("1 attempt: no retries{}", protections(policy)),
        attempts => format!("{attempts} attempts"),
    };
    if policy.base.is_zero() && policy.floor.is_zero() {
        line.push_str(", at once");
    } else {
        let growth = match policy.backoff {
            _ if policy.jitter.is_decorrelated() => String::new(),
            Backoff::Custom(_) => "custom ".into(),
            ref known => format!("{known} "),
        };
        let _ = write!(
            line,
            ", {growth}from {} to {} {}",
            Human(policy.base),
            Human(policy.cap),
            match policy.jitter {
                Jitter::None => "without jitter".into(),
                ref jitter => format!("with {jitter} jitter"),
            }
        );
    }
    let _ = write!(line, ", budget {}", policy.budget);
    if policy.when_spent == WhenSpent::Wait {
        line.push_str(", waiting for tokens");
    }
    line.push_str(&protections(policy));
    line
}

/// The policies of a scenario in a line, the one that is asked about first: it is all that is said where
/// everybody has it. Otherwise everybody is named, such as `users: 1 attempt; api->orders and
/// orders->database: 3 attempts, ...`.
pub(super) fn describe_all(scenario: &Scenario, asked: &Policy) -> String {
    let mut holders: Vec<(String, Vec<String>)> = vec![(among_others(asked), Vec::new())];
    let mut add = |policy: &Policy, who: String| {
        let line = among_others(policy);
        match holders.iter_mut().find(|(of, _)| *of == line) {
            Some((_, names)) => names.push(who),
            None => holders.push((line, vec![who])),
        }
    };
    for place in Place::all_of(scenario) {
        let policies = place.policies(scenario);
        for policy in &policies {
            let some = if policies.len() > 1 { "some of " } else { "" };
            add(policy, format!("{some}{}", place.name()));
        }
    }
    if holders.len() == 1 {
        return describe(asked);
    }
    let lines = holders.iter().filter(|(_, names)| !names.is_empty());
    let lines = lines.map(|(policy, names)| format!("{}: {policy}", list(names)));
    lines.collect::<Vec<_>>().join("; ")
}

/// One policy of several, which says nothing about the retries of the others.
fn among_others(policy: &Policy) -> String {
    match policy.attempts {
        1 => format!("1 attempt{}", protections(policy)),
        _ => describe(policy),
    }
}

/// What each place has then, apart by semicolons; empty for no changes.
pub(crate) fn describe_changes(changes: &[Change]) -> String {
    let each = changes.iter().map(|change| match change.brings() {
        Ok(policy) => format!("{}: {}", change.place(), describe(policy)),
        Err(setting) => format!("{}: {setting}", change.place()),
    });
    each.collect::<Vec<_>>().join("; ")
}

fn protections(policy: &Policy) -> String {
    let mut line = String::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(line, ", {name} {value}");
        }
    };
    let human = |time| Human(time).to_string();
    add("deadline", policy.deadline.map(human));
    add("attempt timeout", policy.attempt_timeout.map(human));
    add("breaker", policy.breaker.map(|it| it.to_string()));
    add("throttle", policy.throttle.map(|it| it.to_string()));
    add("rate", policy.rate.map(|it| it.to_string()));
    add("hedge", policy.hedge.map(|it| it.to_string()));
    add("bulkhead", policy.bulkhead.map(|it| it.to_string()));
    line
}
