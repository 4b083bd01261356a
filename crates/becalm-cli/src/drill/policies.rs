//! Under which policies is the drill held?

use becalm::{Budget, Policy};
use becalm_drill::staging::Candidate;

use crate::storm::contender::{self, DEFAULT, Start, YOURS};

/// What is compared where nothing is asked for: your policy, and before it the same without what bounds its
/// retries.
const WITHOUT: &str = "budget=none";

/// The policies, in the order in which they are held.
///
/// # Errors
///
/// A sentence that names the policy and the remedy.
pub fn candidates(compare: &[String], policy: &Policy) -> Result<Vec<Candidate>, String> {
    let start = Start {
        own: Policy::default(),
        yours: Box::new(|_| Ok(policy.clone())),
        is_given: *policy != Policy::default(),
        at: None,
        scenario: None,
    };
    let by_default: &[&str] = match policy.budget {
        Budget::None => &[YOURS, DEFAULT],
        _ => &[WITHOUT, YOURS],
    };
    let candidates = contender::candidates(compare, by_default, &start)?;
    let candidates = candidates.into_iter().map(|it| Candidate {
        title: title(&it.name),
        name: it.name,
        policy: it.policy,
    });
    Ok(candidates.collect())
}

/// The name for people.
fn title(name: &str) -> String {
    match name {
        DEFAULT => "becalm's default",
        YOURS => "your policy",
        WITHOUT => "no budget",
        other => other,
    }
    .into()
}
