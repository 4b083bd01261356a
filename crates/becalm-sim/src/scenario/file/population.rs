//! How is a population written, and read back?

use becalm::Policy;

use super::Files;
use super::arrivals;
use super::entry::{Entry, Section};
use super::lines::Lines;
use super::refusal::{InvalidFile, Refusal};
use super::words::{self, PRIORITY, SHARING, word};
use crate::scenario::{Population, Variant};

pub(super) const KEYS: &[&str] = &[
    "name",
    "clients",
    "target",
    "arrivals",
    "policy",
    "variants",
    "sharing",
    "timeout",
    "priority",
    "operation",
];
const VARIANT: &[&str] = &["policy", "share"];

pub(super) fn read(section: &Section<'_>, files: Files<'_>) -> Result<Population, Refusal> {
    let name = section.required("name", "\"users\"")?.text()?;
    let target = section.required("target", "\"orders\"")?.text()?;
    let arrivals = section.required("arrivals", arrivals::EXAMPLE)?;
    let arrivals = arrivals::read(&arrivals, files)?;
    let mut population = Population::new(name, target, arrivals, Policy::default());
    section.set("clients", &mut population.clients, |it| it.count(1))?;
    population.variants = read_variants(section, files)?;
    section.set("sharing", &mut population.sharing, |it| it.choice(SHARING))?;
    section.set("timeout", &mut population.timeout, words::optional_length)?;
    section.set("priority", &mut population.priority, |it| {
        it.choice(PRIORITY)
    })?;
    section.set("operation", &mut population.operation, words::operation)?;
    Ok(population)
}

pub(super) fn write(population: &Population, lines: &mut Lines) -> Result<(), InvalidFile> {
    let Population {
        name,
        clients,
        target,
        arrivals,
        variants,
        sharing,
        timeout,
        priority,
        operation,
    } = population;
    let default = Population::new("", "", arrivals.clone(), Policy::default());
    lines.header("[[population]]");
    lines.key("name", name.as_str());
    lines.changed("clients", clients, &default.clients, |it| *it);
    lines.key("target", target.as_str());
    lines.key("arrivals", arrivals::write(arrivals));
    lines.changed("sharing", sharing, &default.sharing, |it| word(SHARING, it));
    if let Some(timeout) = timeout {
        lines.time("timeout", *timeout);
    }
    lines.changed("priority", priority, &default.priority, |it| {
        word(PRIORITY, it)
    });
    lines.changed("operation", operation, &default.operation, |it| {
        words::operation_text(it)
    });
    match variants.as_slice() {
        [Variant { policy, share: 1.0 }] => lines.policy("[population.policy]", policy),
        variants => variants.iter().try_for_each(|variant| {
            lines.header("[[population.variants]]");
            lines.key("share", variant.share);
            lines.policy("[population.variants.policy]", &variant.policy)
        }),
    }
}

/// A policy: a table in becalm's own form, or the name of a policy file.
pub(super) fn policy(entry: &Entry<'_>, files: Files<'_>) -> Result<Policy, Refusal> {
    let Some(name) = entry.as_text() else {
        return entry.policy();
    };
    let text = super::open(entry, name, files)?;
    toml::from_str(&text).map_err(|error| {
        let reason = error.message().replace('\n', " ");
        entry.refuse(format!("policy file {name}: {reason}"))
    })
}

fn read_variants(section: &Section<'_>, files: Files<'_>) -> Result<Vec<Variant>, Refusal> {
    let mut only = Policy::default();
    section.set("policy", &mut only, |it| policy(it, files))?;
    let Some(variants) = section.get("variants") else {
        return Ok(vec![Variant {
            policy: only,
            share: 1.0,
        }]);
    };
    if section.get("policy").is_some() {
        return Err(variants.refuse(
            "a population has one policy or several variants; move the policy into a variant",
        ));
    }
    let mut read = Vec::new();
    for variant in section.sections("variants", VARIANT)? {
        let share = variant.required("share", "0.5")?.share()?;
        let mut decides = Policy::default();
        variant.set("policy", &mut decides, |it| policy(it, files))?;
        read.push(Variant {
            policy: decides,
            share,
        });
    }
    let sum: f64 = read.iter().map(|variant| variant.share).sum();
    if sum > 0.0 && sum.is_finite() {
        Ok(read)
    } else {
        Err(variants.refuse("no variant has a share; give one a share above 0"))
    }
}
