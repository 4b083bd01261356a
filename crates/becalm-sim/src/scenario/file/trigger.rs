//! How is a trigger written, and read back?

use std::time::Duration;

use super::entry::{Entry, Section};
use super::lines::Lines;
use super::refusal::Refusal;
use crate::scenario::{Effect, Trigger};

/// All keys of all effects.
pub(super) const KEYS: &[&str] = &[
    "from",
    "length",
    "effect",
    "service",
    "population",
    "share",
    "added",
    "factor",
    "each",
    "pause",
];

/// The effects, and the keys that each has beside `from`, `length` and `effect`.
const EFFECTS: &[(&str, &[&str])] = &[
    ("capacity", &["service", "share"]),
    ("hang", &["service"]),
    ("down", &["service"]),
    // What a failover is to those who call: what was there is lost, and nobody is until the other takes over.
    ("failover", &["service"]),
    ("latency", &["service", "added"]),
    ("failures", &["service", "share"]),
    ("load", &["population", "factor"]),
    (CACHE_LOSS, &["service"]),
    ("deploy", &["service", "each", "pause"]),
    ("loss", &["share"]),
];
const CACHE_LOSS: &str = "cache-loss";

pub(super) fn read(section: &Section<'_>) -> Result<Trigger, Refusal> {
    let from = section.required("from", "\"10s\"")?.duration()?;
    let effect = section.required("effect", "\"hang\"")?;
    let (name, keys) = (effect.text()?, effect.choice(EFFECTS)?);
    refuse_strangers(section, name, keys)?;
    let length = match section.get("length") {
        // What is lost is lost at once.
        None if name == CACHE_LOSS => Duration::ZERO,
        _ => section.required("length", "\"2s\"")?.duration()?,
    };
    let effect = read_effect(section, name)?;
    Ok(Trigger::new(from, length, effect))
}

fn read_effect(section: &Section<'_>, name: &str) -> Result<Effect, Refusal> {
    let service = || -> Result<String, Refusal> {
        Ok(section
            .required("service", "\"orders\"")?
            .text()?
            .to_owned())
    };
    let share = || section.required("share", "0.1")?.share();
    Ok(match name {
        "capacity" => Effect::Capacity {
            service: service()?,
            share: above_zero(section, share()?)?,
        },
        "hang" => Effect::Hang {
            service: service()?,
        },
        "down" | "failover" => Effect::Down {
            service: service()?,
        },
        "latency" => Effect::Latency {
            service: service()?,
            added: section.required("added", "\"200ms\"")?.duration()?,
        },
        "failures" => Effect::Failures {
            service: service()?,
            share: share()?,
        },
        "load" => Effect::Load {
            population: section.required("population", "\"users\"")?.text()?.into(),
            factor: section.required("factor", "3")?.not_negative()?,
        },
        "deploy" => Effect::Deploy {
            service: service()?,
            each: section.required("each", "\"5s\"")?.length()?,
            pause: section
                .get("pause")
                .map_or(Ok(Duration::ZERO), |pause| pause.duration())?,
        },
        "loss" => Effect::Loss { share: share()? },
        _ => Effect::CacheLoss {
            service: service()?,
        },
    })
}

pub(super) fn write(trigger: &Trigger, lines: &mut Lines) {
    let Trigger {
        from,
        length,
        effect,
    } = trigger;
    lines.header("[[trigger]]");
    lines.time("from", *from);
    lines.time("length", *length);
    let name = match effect {
        Effect::Capacity { .. } => "capacity",
        Effect::Hang { .. } => "hang",
        Effect::Down { .. } => "down",
        Effect::Latency { .. } => "latency",
        Effect::Failures { .. } => "failures",
        Effect::Load { .. } => "load",
        Effect::CacheLoss { .. } => CACHE_LOSS,
        Effect::Deploy { .. } => "deploy",
        Effect::Loss { .. } => "loss",
    };
    lines.key("effect", name);
    match effect {
        Effect::Hang { service } | Effect::Down { service } | Effect::CacheLoss { service } => {
            lines.key("service", service.as_str());
        }
        Effect::Capacity { service, share } | Effect::Failures { service, share } => {
            lines.key("service", service.as_str());
            lines.key("share", *share);
        }
        Effect::Latency { service, added } => {
            lines.key("service", service.as_str());
            lines.time("added", *added);
        }
        Effect::Load { population, factor } => {
            lines.key("population", population.as_str());
            lines.key("factor", *factor);
        }
        Effect::Deploy {
            service,
            each,
            pause,
        } => {
            lines.key("service", service.as_str());
            lines.time("each", *each);
            lines.time("pause", *pause);
        }
        Effect::Loss { share } => lines.key("share", *share),
    }
}

/// Refuses a key that says nothing about this effect.
fn refuse_strangers(section: &Section<'_>, effect: &str, keys: &[&str]) -> Result<(), Refusal> {
    let strangers = KEYS.get(3..).unwrap_or_default().iter();
    let stranger = strangers
        .filter(|key| !keys.contains(key))
        .find_map(|key| section.get(key));
    let Some(stranger) = stranger else {
        return Ok(());
    };
    Err(stranger.refuse(format!(
        "this says nothing about the effect \"{effect}\", whose keys are from, length, {}; leave \
         it out",
        keys.join(", ")
    )))
}

fn above_zero(section: &Section<'_>, share: f64) -> Result<f64, Refusal> {
    if share > 0.0 {
        return Ok(share);
    }
    let refuse = |entry: Entry<'_>| {
        entry.refuse("no capacity is left; write the effect \"hang\" or \"down\" for that")
    };
    Err(section
        .get("share")
        .map_or_else(|| section.refuse("share must be above 0"), refuse))
}
