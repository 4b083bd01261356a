//! What is a policy, in a line?

use std::fmt::Write as _;

use becalm::duration::Human;
use becalm::{Backoff, Jitter, Policy};

/// A policy in a line: `4 attempts, exponential from 100ms to 20s with full jitter, budget
/// ratio:0.1,burst:10`.
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
    line.push_str(&protections(policy));
    line
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
