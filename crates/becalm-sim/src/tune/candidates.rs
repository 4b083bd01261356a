//! Which policies of a space are the sample?

use std::time::Duration;

use becalm::Policy;

use super::layers::{Layer, Layers, Where};
use super::space::Space;
use crate::change::Change;
use crate::engine::Stream;

/// A policy that is tried.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tried {
    /// `given`, `unretried`, `default`, or a number.
    pub name: String,
    pub policy: Policy,
    /// What is different at single places.
    pub changes: Vec<Change>,
    /// Whether the others are compared with it to the end.
    pub stays: bool,
}

/// The policy that was given, the default policy, no retries, and a sample of the space; each once,
/// and none that is refused. Where a scenario has several places for a policy, the default stands at
/// all of them and at each alone, and the sample anywhere.
///
/// The sample is a Latin hypercube (M. D. `McKay`, R. J. Beckman, W. J. Conover, Technometrics 21,
/// 1979): every value of a setting comes equally often, and which values come together is by chance.
/// So the effect of every setting is seen with far fewer policies than a grid has.
pub(super) fn candidates(
    space: &Space,
    given: &Policy,
    layers: &Layers,
    timeout: Option<Duration>,
    seed: u64,
) -> Vec<Tried> {
    let count = space.count();
    let mut random = Stream::of(seed, u64::from_le_bytes(*b"policies"));
    let columns = space.sizes().map(|size| balanced(count, size, &mut random));
    let wheres = layers.all();
    let column = balanced(count, wheres.len(), &mut random);
    let mut tried = Vec::new();
    let kept = |name: &str, changes| Tried {
        name: name.to_owned(),
        policy: given.clone(),
        changes,
        stays: true,
    };
    add(&mut tried, kept("given", Vec::new()));
    let clients = Layer {
        own: given,
        timeout,
    };
    // What a policy is at a place, or at what the scenario makes of it.
    let at = |name: String, here: Where, policy: &dyn Fn(&Layer<'_>) -> Policy| Tried {
        name,
        policy: match here {
            Where::Given => policy(&clients),
            _ => given.clone(),
        },
        changes: layers.changes(here, policy),
        stays: false,
    };
    let everywhere = match wheres[..] {
        [only] => only,
        _ => Where::Everywhere,
    };
    // The budget stays, so that it can be told what it is a variant of.
    let once = |layer: &Layer<'_>| layer.own.clone().attempts(1);
    let mut unretried = at("unretried".into(), everywhere, &once);
    unretried.stays = true;
    add(&mut tried, unretried);
    add(&mut tried, at("default".into(), everywhere, &usual));
    for here in wheres.iter().copied() {
        if let Where::AloneAt(place) = here {
            let name = format!("default at {} alone", layers.name(place));
            add(&mut tried, at(name, here, &usual));
        }
    }
    for row in 0..count {
        let value = |column: &Vec<usize>| column.get(row).copied().unwrap_or_default();
        let places = columns.each_ref().map(value);
        let sampled = |layer: &Layer<'_>| space.policy(layer.own, layer.timeout, places);
        let Some(here) = wheres.get(value(&column)) else {
            continue;
        };
        add(
            &mut tried,
            at(format!("tuned-{}", row + 1), *here, &sampled),
        );
    }
    tried
}

/// The default's retries in the given surroundings.
fn usual(layer: &Layer<'_>) -> Policy {
    let mut usual = Policy::default();
    usual.attempt_timeout = layer.own.attempt_timeout;
    usual.deadline = layer.own.deadline;
    usual
}

fn add(tried: &mut Vec<Tried>, new: Tried) {
    let is_same = |it: &Tried| (&it.policy, &it.changes) == (&new.policy, &new.changes);
    let policies = new.changes.iter().filter_map(|it| it.brings().ok());
    let mut all = std::iter::once(&new.policy).chain(policies);
    if !tried.iter().any(is_same) && all.all(|it| it.validate().is_ok()) {
        tried.push(new);
    }
}

/// So many places among so many values, each equally often, in random order.
fn balanced(count: usize, values: usize, random: &mut Stream) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).map(|index| index % values.max(1)).collect();
    // Fisher and Yates.
    for last in (1..places.len()).rev() {
        let other = random.below(last as u64 + 1);
        places.swap(last, usize::try_from(other).unwrap_or(last));
    }
    places
}
