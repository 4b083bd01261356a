//! Which scenario is meant? Any of the catalogue, for the parser, its errors and completions.

use becalm_sim::catalogue::{self, ENTRIES, Entry};
use clap::builder::TypedValueParser;

use super::nearest::did_you_mean;
use crate::named::Named;

/// Reads the name of a scenario.
pub fn parser() -> impl TypedValueParser<Value = &'static Entry> {
    let names = || ENTRIES.iter().map(|it| it.name).collect();
    Named {
        find: by_name,
        names,
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
