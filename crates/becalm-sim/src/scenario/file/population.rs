//! How is a population written, and read back?

use becalm::Policy;

use super::entry::{Entry, Files, Section};
use super::lines::Lines;
use super::policy;
use super::refusal::{InvalidFile, Refusal};
use super::rows::{
    self, ARRIVALS, COUNT, Key, OPERATION, PART, PATIENCE, TEXT, choice, key, section,
};
use super::words::{PRIORITY, SHARING};
use crate::scenario::{Arrivals, Population, Variant};

pub(super) const KEYS: &[Key<Population>] = &[
    key!(name: TEXT, "\"users\""),
    key!(clients: COUNT),
    key!(target: TEXT, "\"orders\""),
    key!(arrivals: ARRIVALS, "\"poisson:500\""),
    section!("policy": variants, |it, files| Ok(vec![variant(policy::read(it, files)?)])),
    section!("variants": variants, read_variants),
    key!(sharing: choice!(SHARING)),
    key!(timeout: PATIENCE),
    key!(priority: choice!(PRIORITY)),
    key!(operation: OPERATION),
];

pub(super) const VARIANT: &[Key<Variant>] = &[
    section!("policy": policy, policy::read),
    key!(share: PART, "0.5"),
];

/// All clients under one policy.
pub(super) const fn variant(policy: Policy) -> Variant {
    Variant { policy, share: 1.0 }
}

/// A population that never calls.
pub(super) fn default() -> Population {
    Population::new("", "", Arrivals::Constant(0.0), Policy::default())
}

pub(super) fn read(section: &Section<'_>, files: Files<'_>) -> Result<Population, Refusal> {
    if let (Some(variants), Some(_)) = (section.get("variants"), section.get("policy")) {
        return Err(variants.refuse(
            "a population has one policy or several variants; move the policy into a variant",
        ));
    }
    rows::read(KEYS, section, files, default())
}

pub(super) fn write(population: &Population, lines: &mut Lines) -> Result<(), InvalidFile> {
    lines.header("[[population]]");
    rows::write(KEYS, population, &default(), lines);
    match population.variants.as_slice() {
        [Variant { policy, share: 1.0 }] => lines.policy("[population.policy]", policy),
        variants => variants.iter().try_for_each(|it| {
            lines.header("[[population.variants]]");
            rows::write(VARIANT, it, &variant(Policy::default()), lines);
            lines.policy("[population.variants.policy]", &it.policy)
        }),
    }
}

fn read_variants(entry: &Entry<'_>, files: Files<'_>) -> Result<Vec<Variant>, Refusal> {
    let tables = entry.tables()?;
    let each = tables.iter();
    let each = each.map(|it| rows::table(VARIANT, it, files, variant(Policy::default())));
    let read = each.collect::<Result<Vec<Variant>, _>>()?;
    let sum: f64 = read.iter().map(|variant| variant.share).sum();
    if sum > 0.0 && sum.is_finite() {
        Ok(read)
    } else {
        Err(entry.refuse("no variant has a share; give one a share above 0"))
    }
}
