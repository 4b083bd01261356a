//! Under which policies is the drill held?

use becalm::{Budget, Policy};
use becalm_report::Colour;

use super::flags::Args;
use crate::drill::variant::{Role, Variant, budget};
use crate::storm::contender::{self, DEFAULT, Start, YOURS};

/// What is compared where nothing is asked for: your policy, and before it the same without what bounds its
/// retries.
const WITHOUT: &str = "budget=none";

/// In this order: each is told from its neighbours.
const COLOURS: [Colour; 6] = [
    Colour::Red,
    Colour::Green,
    Colour::Blue,
    Colour::Orange,
    Colour::Purple,
    Colour::Sky,
];

/// The policies, in the order in which they are held.
///
/// # Errors
///
/// A sentence that names the policy and the remedy.
pub fn variants(args: &Args, policy: &Policy) -> Result<Vec<Variant>, String> {
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
    let candidates = contender::candidates(&args.compare, by_default, &start)?;
    let colours = COLOURS.into_iter().cycle();
    let variants = candidates.into_iter().zip(colours).map(|(it, colour)| {
        let mut policy = it.policy;
        policy
            .attempt_timeout
            .get_or_insert(args.load.client_timeout);
        let bound = budget(&policy.budget);
        Variant {
            title: title(&it.name),
            name: it.name.into(),
            detail: bound.clone(),
            description: format!("{} jitter, {bound}", policy.jitter),
            colour,
            policy,
            role: Role::Asked,
        }
    });
    Ok(variants.collect())
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
