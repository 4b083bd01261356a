//! What has this name? The command line, its errors and its completions ask.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// A parser of names, all of which a shell can complete.
#[derive(Debug, Clone, Copy)]
pub struct Named<F> {
    /// What has a name, or a sentence that says which name was probably meant.
    pub find: F,
    pub names: fn() -> Vec<&'static str>,
}

impl<F: TypedValueParser> TypedValueParser for Named<F> {
    type Value = F::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        self.find.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = (self.names)().into_iter();
        Some(Box::new(names.map(PossibleValue::new)))
    }
}
