//! What does a policy say, in the words of its flags?

use std::fmt::Write as _;

use becalm::budget::WhenSpent;
use becalm::policy::Mode;
use becalm::support::Human;
use becalm::{Backoff, Policy};

/// How the policy waits, in the words of its flags.
pub fn delays(policy: &Policy) -> String {
    let base = Human(policy.base);
    let mut line = match &policy.backoff {
        _ if policy.jitter.is_decorrelated() => format!("from {base} to 3 x the last wait"),
        Backoff::Exponential => format!("exponential from {base} x {}", policy.multiplier),
        other => format!("{other} from {base}"),
    };
    let _ = write!(line, ", cap {}", Human(policy.cap));
    if !policy.floor.is_zero() {
        let _ = write!(line, ", floor {}", Human(policy.floor));
    }
    let _ = write!(line, ", jitter {}", policy.jitter);
    if let Some(base) = policy.throttled_base {
        let _ = write!(line, "; from {} when throttled", Human(base));
    }
    line
}

/// What bounds the policy, in the words of its flags.
pub fn limits(policy: &Policy) -> String {
    let attempts = match policy.attempts {
        Policy::UNLIMITED => "unlimited attempts".to_owned(),
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    };
    let mut line = match policy.mode {
        Mode::Observe => format!("only observed: {attempts}"),
        _ => attempts,
    };
    if let Some(timeout) = policy.attempt_timeout {
        let _ = write!(line, " of at most {}", Human(timeout));
    }
    if let Some(deadline) = policy.deadline {
        let _ = write!(line, ", deadline {}", Human(deadline));
    }
    let _ = write!(line, ", budget {}", policy.budget);
    if policy.when_spent == WhenSpent::Wait {
        line.push_str(", waiting for tokens");
    }
    if let Some(calls) = policy.max_waiting {
        let _ = write!(line, ", at most {calls} waiting");
    }
    if let Some(lists) = &policy.retry_on {
        let _ = write!(line, ", on {lists}");
    }
    line
}

/// What protects the dependency besides, in the words of its flags; empty where nothing does.
pub fn protection(policy: &Policy) -> String {
    let texts = [
        ("throttle", policy.throttle.map(|it| it.to_string())),
        ("rate", policy.rate.map(|it| it.to_string())),
        ("hedge", policy.hedge.map(|it| it.to_string())),
        ("bulkhead", policy.bulkhead.map(|it| it.to_string())),
        ("breaker", policy.breaker.map(|it| it.to_string())),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(name, text)| Some(format!("{name} {}", text?)));
    texts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use becalm::{Breaker, Hedge, Jitter};
    use std::time::Duration;

    #[test]
    fn a_policy_is_told_in_its_flags_words() {
        let policy = Policy::default();
        assert_eq!(
            delays(&policy),
            "exponential from 100ms x 2, cap 20s, jitter full"
        );
        assert_eq!(
            limits(&policy),
            "4 attempts, budget ratio:0.1,burst:5s,min:10,floor:10/h"
        );
        assert_eq!(protection(&policy), "");
        let observed = limits(&policy.clone().mode(Mode::Observe));
        assert!(observed.starts_with("only observed: 4 attempts, "));
        assert_eq!(
            delays(&policy.clone().jitter(Jitter::Decorrelated)),
            "from 100ms to 3 x the last wait, cap 20s, jitter decorrelated"
        );
        let policy = policy
            .breaker(Breaker::consecutive(5))
            .hedge(Hedge::after(Duration::from_millis(50)));
        assert_eq!(
            protection(&policy),
            "hedge after:50ms,copies:1; breaker consecutive:5,open:5s"
        );
    }
}
