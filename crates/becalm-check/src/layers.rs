//! What do several layers make of one request, each of which repeats?

use std::time::Duration;

use becalm::Policy;
use becalm::support::Human;

use crate::code;
use crate::finding::Finding;
use crate::mapping::Mapping;
use crate::system::System;
use crate::systems::is_same;
use crate::weight;

/// Layers, and the attempts at the innermost for one request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Layers {
    /// The name by which the layers below the outermost are called.
    pub name: String,
    /// One of each file, the outermost first.
    pub mappings: Vec<Mapping>,
    /// The product of their attempts; `None` where a layer sets no bound.
    pub attempts: Option<u64>,
}

/// Multiplies the attempts of files, given outermost first: of each, its one mapping, or the one that
/// names the service that the layer below does.
///
/// Budgets bound what one layer adds, not the product; deadlines end it earlier. Layers of other systems do not know of
/// each other.
///
/// # Errors
///
/// A sentence where it would have to guess: a file without a mapping, or with several that no name tells
/// apart.
pub fn layers(files: &[(&str, Vec<Mapping>)]) -> Result<Layers, String> {
    if files.len() < 2 {
        return Err("layers are at least two files, the outermost first".into());
    }
    if let Some((file, _)) = files.iter().find(|(_, mappings)| mappings.is_empty()) {
        return Err(format!("{file} has no retries to multiply; leave it out"));
    }
    let names = common(files);
    let is_meant = |mapping: &&Mapping| names.iter().any(|name| is_of(mapping, name));
    let mut chosen = Vec::new();
    for (file, mappings) in files {
        let matching: Vec<_> = match &mappings[..] {
            [only] => vec![only],
            several => several.iter().filter(is_meant).collect(),
        };
        let [one] = matching[..] else {
            let all: Vec<_> = mappings.iter().map(|it| &*it.name).collect();
            return Err(format!(
                "{file} has {} places that retry ({}), and no name that the other files share tells which of them is \
                 meant; give a file with that one alone",
                mappings.len(),
                all.join("; ")
            ));
        };
        chosen.push(one.clone());
    }
    let attempts = chosen
        .iter()
        .try_fold(1_u64, |all, mapping| match mapping.policy.attempts {
            Policy::UNLIMITED => None,
            attempts => Some(all.saturating_mul(attempts.into())),
        });
    Ok(Layers {
        name: names.first().cloned().unwrap_or_default(),
        mappings: chosen,
        attempts,
    })
}

/// Tells of each layer that goes on repeating after the one around it has given up.
pub fn outlived(layers: &Layers) -> Vec<Finding> {
    let pairs = layers.mappings.iter().zip(layers.mappings.iter().skip(1));
    let told = pairs.filter_map(|(outer, inner)| {
        let patience = outer.policy.attempt_timeout.or(outer.policy.deadline)?;
        let longest = longest(&inner.policy)?;
        (inner.policy.attempts > 1 && longest > patience).then(|| {
            let sentence = format!(
                "{}: its attempts and waits take up to {}, and its caller, {} of {}, waits {}",
                inner.name,
                Human(longest),
                outer.name,
                outer.file,
                Human(patience)
            );
            let system = System::all().find(|it| it.name == inner.system);
            let remedy = format!(
                "{}, or bound all of its attempts to less than {}",
                system.map_or("retry less often", weight::fewer),
                Human(patience)
            );
            Finding::new(
                &inner.file,
                inner.span,
                code::OUTLIVES_CALLER,
                sentence,
                remedy,
            )
        })
    });
    told.collect()
}

/// Of more waits the first are enough.
const LOOKED_AT: usize = 256;

/// How long a call takes at most, with its waits at their longest; `None` where no time-out of an attempt is known.
fn longest(policy: &Policy) -> Option<Duration> {
    let attempts = policy
        .attempt_timeout
        .filter(|_| policy.attempts != Policy::UNLIMITED);
    let of_attempts = attempts.map(|each| {
        let waits = policy.schedule().take(LOOKED_AT).map(|it| it.most);
        waits.fold(
            each.saturating_mul(policy.attempts),
            Duration::saturating_add,
        )
    });
    [of_attempts, policy.deadline].into_iter().flatten().min()
}

/// The names that every file knows.
fn common(files: &[(&str, Vec<Mapping>)]) -> Vec<String> {
    let all = files
        .iter()
        .flat_map(|(_, mappings)| mappings)
        .flat_map(|it| &it.names);
    let knows = |mappings: &[Mapping], name: &str| mappings.iter().any(|it| is_of(it, name));
    let mut common: Vec<String> = Vec::new();
    for name in all {
        if files.iter().all(|(_, mappings)| knows(mappings, name)) && !common.contains(name) {
            common.push(name.clone());
        }
    }
    common
}

fn is_of(mapping: &Mapping, name: &str) -> bool {
    mapping.names.iter().any(|it| is_same(it, name))
}
