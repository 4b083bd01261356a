//! How is a trigger written, and read back?

use std::time::Duration;

use super::entry::{Entry, Section};
use super::lines::Lines;
use super::refusal::Refusal;
use crate::scenario::{Effect, Trigger};

/// All keys of all effects: what the JSON Schema says of their values, and one such as an error shows.
pub(super) const VALUES: &[(&str, &str, &str)] = &[
    ("from", DURATION, "\"10s\""),
    ("length", DURATION, "\"2s\""),
    ("effect", TEXT, "\"hang\""),
    ("service", TEXT, "\"orders\""),
    ("population", TEXT, "\"users\""),
    ("share", r##"{ "$ref": "#/$defs/share" }"##, "0.1"),
    ("added", DURATION, "\"200ms\""),
    ("factor", r#"{ "type": "number", "minimum": 0 }"#, "3"),
    ("each", DURATION, "\"5s\""),
    ("pause", DURATION, "\"0s\""),
];
const DURATION: &str = r##"{ "$ref": "#/$defs/duration" }"##;
const TEXT: &str = r#"{ "type": "string" }"#;

/// The effects, and the keys that each has beside `from`, `length` and `effect`.
pub(super) const EFFECTS: &[(&str, &[&str])] = &[
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

pub(super) fn names() -> Vec<&'static str> {
    VALUES.iter().map(|it| it.0).collect()
}

/// The value of a key that this effect has to have.
fn required<'a>(section: &Section<'a>, key: &str) -> Result<Entry<'a>, Refusal> {
    let example = VALUES.iter().find(|it| it.0 == key).map_or("", |it| it.2);
    section.required(key, example)
}

pub(super) fn read(section: &Section<'_>) -> Result<Trigger, Refusal> {
    let from = required(section, "from")?.duration()?;
    let effect = required(section, "effect")?;
    let (name, keys) = (effect.text()?, effect.choice(EFFECTS)?);
    refuse_strangers(section, name, keys)?;
    let length = match section.get("length") {
        // What is lost is lost at once.
        None if name == CACHE_LOSS => Duration::ZERO,
        _ => required(section, "length")?.duration()?,
    };
    let effect = read_effect(section, name)?;
    Ok(Trigger::new(from, length, effect))
}

fn read_effect(section: &Section<'_>, name: &str) -> Result<Effect, Refusal> {
    let of = |key| required(section, key);
    let text = |key| -> Result<String, Refusal> { Ok(of(key)?.text()?.to_owned()) };
    let share = || of("share")?.share();
    if name == "loss" {
        return Ok(Effect::Loss { share: share()? });
    }
    if name == "load" {
        return Ok(Effect::Load {
            population: text("population")?,
            factor: of("factor")?.not_negative()?,
        });
    }
    let service = text("service")?;
    Ok(match name {
        "capacity" => Effect::Capacity {
            service,
            share: above_zero(&of("share")?)?,
        },
        "hang" => Effect::Hang { service },
        "down" | "failover" => Effect::Down { service },
        "latency" => Effect::Latency {
            service,
            added: of("added")?.duration()?,
        },
        "failures" => Effect::Failures {
            service,
            share: share()?,
        },
        "deploy" => Effect::Deploy {
            service,
            each: of("each")?.length()?,
            pause: section
                .get("pause")
                .map_or(Ok(Duration::ZERO), |pause| pause.duration())?,
        },
        _ => Effect::CacheLoss { service },
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
    let strangers = VALUES.get(3..).unwrap_or_default().iter().map(|it| it.0);
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

fn above_zero(share: &Entry<'_>) -> Result<f64, Refusal> {
    match share.share()? {
        none if none <= 0.0 => {
            Err(share.refuse("no capacity is left; write the effect \"hang\" or \"down\" for that"))
        }
        share => Ok(share),
    }
}
