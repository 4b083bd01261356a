//! Which scenario is meant? Any of the catalogue, for the parser, its errors and completions.

use std::ffi::OsStr;

use becalm_sim::catalogue::{self, ENTRIES, Entry};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use super::nearest::did_you_mean;

/// Reads the name of a scenario.
#[derive(Debug, Clone, Copy)]
pub struct ScenarioName;

impl TypedValueParser for ScenarioName {
    type Value = &'static Entry;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        by_name.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            ENTRIES.iter().map(|entry| PossibleValue::new(entry.name)),
        ))
    }
}

fn by_name(name: &str) -> Result<&'static Entry, String> {
    catalogue::find(name).ok_or_else(|| unknown(name))
}

/// Says that there is no scenario of this name, and which was probably meant.
pub fn unknown(name: &str) -> String {
    let names = ENTRIES.iter().map(|entry| entry.name);
    match did_you_mean(name, names) {
        meant if meant.is_empty() => {
            format!("there is no scenario `{name}`; \"becalm storm --list\" lists them")
        }
        meant => format!("there is no scenario `{name}`{meant}"),
    }
}
