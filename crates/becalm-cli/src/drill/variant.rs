//! Which policies are set against each other? Plain data: what one is called, how it is drawn,
//! what it does.

use std::time::Duration;

use becalm::duration::Human;
use becalm::{Backoff, Budget, Jitter, Policy};
use becalm_report::Colour;

/// What a policy is in the drill to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The fault ends, the storm stays.
    Storm,
    /// The fault ends, and so does its effect.
    Recovery,
}

/// One policy among those compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The name in the JSON document: stable.
    pub name: &'static str,
    /// The name for people.
    pub title: String,
    /// What sets it apart, in at most 18 characters.
    pub detail: String,
    /// The same in a few words.
    pub description: String,
    /// Its colour in every picture.
    pub colour: Colour,
    /// What its clients do.
    pub policy: Policy,
    /// What it is in the drill to show.
    pub role: Role,
}

/// The policies of the drill: `policy`, and before it three that take away what protects it. All
/// have its attempts, its limits and the client's timeout.
pub fn all(policy: &Policy, client_timeout: Duration) -> Vec<Variant> {
    let mut protected = policy.clone();
    protected.attempt_timeout.get_or_insert(client_timeout);
    let unprotected = protected.clone().budget(Budget::None);
    let exponential = unprotected.clone().backoff(Backoff::Exponential);
    let at_once = unprotected
        .backoff(Backoff::Fixed)
        .base(Duration::ZERO)
        .floor(Duration::ZERO)
        .jitter(Jitter::None);
    let growth = format!("{} x {}", Human(policy.base), policy.multiplier);
    vec![
        Variant {
            name: "no-backoff",
            title: "no backoff".into(),
            detail: "retries at once".into(),
            description: "retries at once".into(),
            colour: Colour::Red,
            policy: at_once,
            role: Role::Storm,
        },
        Variant {
            name: "exponential",
            title: "exponential".into(),
            detail: "no jitter".into(),
            description: format!("{growth}, no jitter"),
            colour: Colour::Orange,
            policy: exponential.clone().jitter(Jitter::None),
            role: Role::Storm,
        },
        Variant {
            name: "full-jitter",
            title: "full jitter".into(),
            detail: "no budget".into(),
            description: "no budget".into(),
            colour: Colour::Purple,
            policy: exponential.jitter(Jitter::Full),
            role: Role::Storm,
        },
        Variant {
            name: "protected",
            title: protected_title(policy),
            detail: budget(policy.budget),
            description: format!("{} jitter, {}", policy.jitter, budget(policy.budget)),
            colour: Colour::Green,
            policy: protected,
            role: Role::Recovery,
        },
    ]
}

fn protected_title(policy: &Policy) -> String {
    if *policy == Policy::default() {
        "becalm's default".into()
    } else {
        "your policy".into()
    }
}

/// The budget in words.
fn budget(budget: Budget) -> String {
    match budget {
        Budget::None => "no budget".into(),
        Budget::Ratio(ratio) => {
            let percent = becalm_report::format::plain(ratio.ratio * 100.0);
            format!("{percent}% budget")
        }
        // Kinds to come are named as the flag names them.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_one_is_protected_and_all_are_valid() {
        for policy in [
            Policy::default(),
            Policy::default().floor(Duration::from_millis(20)),
            Policy::fixed(Duration::from_secs(1))
                .attempts(9)
                .jitter(Jitter::Decorrelated),
        ] {
            let variants = all(&policy, Duration::from_millis(250));
            for variant in &variants {
                assert_eq!(variant.policy.validate(), Ok(()), "{}", variant.name);
                assert_eq!(variant.policy.attempts, policy.attempts);
                assert_eq!(
                    variant.policy.attempt_timeout,
                    Some(Duration::from_millis(250))
                );
                let unbounded = variant.policy.budget == Budget::None;
                assert_eq!(unbounded, variant.role == Role::Storm, "{}", variant.name);
            }
        }
    }

    #[test]
    fn a_policy_s_own_attempt_timeout_is_kept() {
        let policy = Policy::default().attempt_timeout(Duration::from_secs(1));
        let variants = all(&policy, Duration::from_millis(250));
        assert!(
            variants
                .iter()
                .all(|v| v.policy.attempt_timeout == policy.attempt_timeout)
        );
        assert_eq!(variants[3].title, "your policy");
    }
}
