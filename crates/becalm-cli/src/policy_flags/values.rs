//! How is the value of a policy flag read? The errors say what to write instead.

use std::str::FromStr;
use std::time::Duration;

use becalm::duration::{self, InvalidDuration};
use becalm::preset::Preset;
use becalm::{Backoff, Policy, budget::WhenSpent, hint::HintMode, policy::Mode};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::named::Named;

/// A value, or explicitly none: lifts what the file or the preset sets.
#[derive(Debug, Clone, Copy)]
pub struct OrNone<T>(pub Option<T>);

const NONE: &str = "none";

/// What its own text says, or none.
pub fn or_none<T: FromStr>(text: &str) -> Result<OrNone<T>, T::Err> {
    match text {
        NONE => Ok(OrNone(None)),
        _ => text.parse().map(|it| OrNone(Some(it))),
    }
}

pub fn attempts(text: &str) -> Result<u32, String> {
    if text == "unlimited" {
        return Ok(Policy::UNLIMITED);
    }
    text.parse()
        .map_err(|_| "write a whole number from 1, or \"unlimited\"".to_owned())
}

pub fn factor(text: &str) -> Result<f64, String> {
    text.parse()
        .map_err(|_| "write a number from 1 up, such as 1.5".to_owned())
}

pub fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("write a whole number from 0 to {}", u64::MAX))
}

pub fn duration(text: &str) -> Result<Duration, InvalidDuration> {
    duration::parse(text)
}

pub fn duration_or_none(text: &str) -> Result<OrNone<Duration>, InvalidDuration> {
    match text {
        NONE => Ok(OrNone(None)),
        _ => duration(text).map(|it| OrNone(Some(it))),
    }
}

pub fn count_or_none(text: &str) -> Result<OrNone<u32>, String> {
    or_none(text).map_err(|_| "write a whole number from 1, or \"none\"".to_owned())
}

pub fn preset() -> impl TypedValueParser<Value = &'static Preset> {
    let names = || Preset::all().map(Preset::name).collect();
    Named {
        find: Preset::by_name,
        names,
    }
}

pub fn backoff() -> impl TypedValueParser<Value = Backoff> {
    PossibleValuesParser::new(["exponential", "linear", "fibonacci", "fixed"])
        .try_map(|text| text.parse::<Backoff>())
}

pub fn hint() -> impl TypedValueParser<Value = HintMode> {
    PossibleValuesParser::new(["honor", "clamp", "ignore"]).try_map(|text| text.parse::<HintMode>())
}

pub fn when_spent() -> impl TypedValueParser<Value = WhenSpent> {
    PossibleValuesParser::new(["stop", "wait"]).try_map(|text| text.parse::<WhenSpent>())
}

pub fn mode() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(["enforce", "observe"]).try_map(|text| text.parse::<Mode>())
}
