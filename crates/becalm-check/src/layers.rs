//! What do several layers make of one request, each of which repeats?

use becalm::Policy;

use crate::mapping::Mapping;
use crate::systems::is_same;

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
