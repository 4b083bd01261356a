//! How is each policy of a drill of a target called and drawn?

use std::time::Duration;

use becalm_report::Colour;

use super::options::Candidate;
use crate::variant::{Role, Variant, budget};

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
pub fn of(candidates: &[Candidate], client_timeout: Duration) -> Vec<Variant> {
    let colours = COLOURS.into_iter().cycle();
    let variants = candidates.iter().zip(colours).map(|(it, colour)| {
        let mut policy = it.policy.clone();
        policy.attempt_timeout.get_or_insert(client_timeout);
        let bound = budget(&policy.budget);
        Variant {
            title: it.title.clone(),
            name: it.name.clone().into(),
            detail: bound.clone(),
            description: format!("{} jitter, {bound}", policy.jitter),
            colour,
            policy,
            role: Role::Asked,
        }
    });
    variants.collect()
}
