//! Which policies are set against each other? Plain data: what one is called, how it is drawn,
//! what it does.

use std::borrow::Cow;
use std::time::Duration;

use becalm::support::Human;
use becalm::{Backoff, Breaker, Budget, Bulkhead, Jitter, Policy};
use becalm_report::Colour;

/// What a policy is in the drill to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The fault ends, the storm stays.
    Storm,
    /// A service that hangs is hardly called, and the fault's effect ends with it.
    Breaker,
    /// Few attempts are in flight at once, and the fault's effect ends with it.
    Bulkhead,
    /// The fault ends, and so does its effect.
    Recovery,
    /// Nothing: it is asked what happens.
    Asked,
}

/// One policy among those compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The name in the JSON document: stable.
    pub name: Cow<'static, str>,
    /// The name for people.
    pub title: String,
    /// What sets it apart, in at most 18 characters.
    pub detail: String,
    /// Its policy in a few words.
    pub description: String,
    /// Its colour in every picture.
    pub colour: Colour,
    /// What its clients do.
    pub policy: Policy,
    /// What it is in the drill to show.
    pub role: Role,
}

/// The policies of the drill: `policy`, and before it three that take away what protects it and
/// two that have one protection only. All have its attempts, its limits and the client's timeout.
pub fn all(policy: &Policy, client_timeout: Duration) -> Vec<Variant> {
    let mut protected = policy.clone();
    protected.attempt_timeout.get_or_insert(client_timeout);
    let unprotected = bare(&protected);
    let exponential = unprotected.clone().backoff(Backoff::Exponential);
    let full_jitter = exponential.clone().jitter(Jitter::Full);
    let at_once = unprotected
        .backoff(Backoff::Fixed)
        .base(Duration::ZERO)
        .floor(Duration::ZERO)
        .jitter(Jitter::None);
    let growth = format!("{} x {}", Human(policy.base), policy.multiplier);
    let breaker = policy.breaker.unwrap_or_else(breaker);
    let bulkhead = policy.bulkhead.unwrap_or_else(bulkhead);
    vec![
        Variant {
            name: "no-backoff".into(),
            title: "no backoff".into(),
            detail: "retries at once".into(),
            description: "retries at once".into(),
            colour: Colour::Red,
            policy: at_once,
            role: Role::Storm,
        },
        Variant {
            name: "exponential".into(),
            title: "exponential".into(),
            detail: "no jitter".into(),
            description: format!("{growth}, no jitter"),
            colour: Colour::Orange,
            policy: exponential.jitter(Jitter::None),
            role: Role::Storm,
        },
        Variant {
            name: "full-jitter".into(),
            title: "full jitter".into(),
            detail: "no budget".into(),
            description: "no budget".into(),
            colour: Colour::Purple,
            policy: full_jitter.clone(),
            role: Role::Storm,
        },
        Variant {
            name: "breaker".into(),
            title: "breaker".into(),
            detail: "and full jitter".into(),
            description: "full jitter, no budget".into(),
            colour: Colour::Blue,
            policy: full_jitter.clone().breaker(breaker),
            role: Role::Breaker,
        },
        Variant {
            name: "bulkhead".into(),
            title: "bulkhead".into(),
            detail: "and full jitter".into(),
            description: "full jitter, no budget".into(),
            colour: Colour::Sky,
            policy: full_jitter.bulkhead(bulkhead),
            role: Role::Bulkhead,
        },
        Variant {
            name: "protected".into(),
            title: protected_title(policy),
            detail: budget(&policy.budget),
            description: format!("{} jitter, {}", policy.jitter, budget(&policy.budget)),
            colour: Colour::Green,
            policy: protected,
            role: Role::Recovery,
        },
    ]
}

/// The policy without anything that bounds more than one call.
fn bare(policy: &Policy) -> Policy {
    let mut bare = policy.clone().budget(Budget::None);
    bare.breaker = None;
    bare.hedge = None;
    bare.bulkhead = None;
    bare.throttle = None;
    bare.rate = None;
    bare
}

/// Opens soon and looks often, as a drill of seconds needs it.
fn breaker() -> Breaker {
    Breaker::consecutive(5)
        .open(Duration::from_millis(500))
        .open_max(Duration::from_secs(1))
}

/// Several times what is in flight on a good day, and less than what the service works off within
/// a client's timeout.
fn bulkhead() -> Bulkhead {
    Bulkhead::calls(16).waiting(16)
}

/// The name for people of the policy that is set against the others.
pub fn protected_title(policy: &Policy) -> String {
    if *policy == Policy::default() {
        "becalm's default".into()
    } else {
        "your policy".into()
    }
}

/// The budget in words.
pub fn budget(budget: &Budget) -> String {
    match budget {
        Budget::None => "no budget".into(),
        Budget::Ratio(ratio) | Budget::FirstTries(ratio) => {
            let percent = becalm_report::format::plain(ratio.ratio * 100.0);
            format!("{percent}% budget")
        }
        // The other kinds are named as the flag names them.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_what_its_role_says_and_all_are_valid() {
        for policy in [
            Policy::default(),
            Policy::default().floor(Duration::from_millis(20)),
            Policy::fixed(Duration::from_secs(1))
                .attempts(9)
                .jitter(Jitter::Decorrelated)
                .breaker(breaker())
                .bulkhead(bulkhead()),
        ] {
            let variants = all(&policy, Duration::from_millis(250));
            for variant in &variants {
                let Variant { policy: its, .. } = variant;
                assert_eq!(its.validate(), Ok(()), "{}", variant.name);
                assert_eq!(its.attempts, policy.attempts);
                assert_eq!(its.attempt_timeout, Some(Duration::from_millis(250)));
                let has = (
                    its.budget != Budget::None,
                    its.breaker.is_some(),
                    its.bulkhead.is_some(),
                );
                let expected = match variant.role {
                    Role::Storm => (false, false, false),
                    Role::Breaker => (false, true, false),
                    Role::Bulkhead => (false, false, true),
                    Role::Recovery | Role::Asked => {
                        (true, policy.breaker.is_some(), policy.bulkhead.is_some())
                    }
                };
                assert_eq!(has, expected, "{}", variant.name);
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
        assert_eq!(variants[5].title, "your policy");
    }
}
