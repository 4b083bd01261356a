//! Which preset is meant? Any of the library's, for the parser, its errors and completions.

use std::ffi::OsStr;

use becalm::preset::Preset;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// Reads the name of a preset.
#[derive(Debug, Clone, Copy)]
pub struct PresetName;

impl TypedValueParser for PresetName {
    type Value = &'static Preset;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        Preset::by_name.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            Preset::all().map(|preset| PossibleValue::new(preset.name())),
        ))
    }
}
