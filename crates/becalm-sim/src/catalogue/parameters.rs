//! What can be set of a scenario, and to what was it set?

use std::time::Duration;

use becalm::duration;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::invalid::InvalidParameter;

/// Something that can be set, as a flag of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The flag, without dashes at its front: `service-time`.
    pub name: &'static str,
    /// What it is, in a line.
    pub help: &'static str,
    /// How it is read.
    pub kind: Kind,
    /// Its value where none is given, as it would be written.
    pub default: &'static str,
}

/// How a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A whole number from 1 up.
    Count,
    /// A whole number from 0 up.
    Places,
    /// A number from 0 up.
    Number,
    /// A number from 0 to 1.
    Share,
    /// Such as `250ms`.
    Duration,
    /// One of these.
    Choice(&'static [&'static str]),
}

impl Parameter {
    /// A parameter.
    pub const fn new(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            help,
            kind,
            default,
        }
    }

    /// Refuses a value that cannot be read.
    pub fn check(&self, value: &str) -> Result<(), InvalidParameter> {
        let number = || value.parse::<f64>().ok().filter(|it| it.is_finite());
        let is_valid = match self.kind {
            Kind::Count => value.parse::<u64>().is_ok_and(|it| it > 0),
            Kind::Places => value.parse::<u64>().is_ok(),
            Kind::Number => number().is_some_and(|it| it >= 0.0),
            Kind::Share => number().is_some_and(|it| (0.0..=1.0).contains(&it)),
            Kind::Duration => duration::parse(value).is_ok(),
            Kind::Choice(choices) => choices.contains(&value),
        };
        if is_valid {
            return Ok(());
        }
        let wanted = match self.kind {
            Kind::Count => "a whole number from 1 up".into(),
            Kind::Places => "a whole number from 0 up".into(),
            Kind::Number => "a number from 0 up".into(),
            Kind::Share => "a number from 0 to 1".into(),
            Kind::Duration => "a duration such as 250ms or 2m".into(),
            Kind::Choice(choices) => format!("one of {}", choices.join(", ")),
        };
        Err(InvalidParameter {
            name: self.name,
            sentence: format!("\"{value}\" is not {wanted}"),
        })
    }
}

/// `name`, `help`, `kind`, `default`, and of a choice also `choices`.
impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("name", self.name)?;
        map.serialize_entry("help", self.help)?;
        let kind = match self.kind {
            Kind::Count | Kind::Places => "count",
            Kind::Number => "number",
            Kind::Share => "share",
            Kind::Duration => "duration",
            Kind::Choice(_) => "choice",
        };
        map.serialize_entry("kind", kind)?;
        map.serialize_entry("default", self.default)?;
        if let Kind::Choice(choices) = self.kind {
            map.serialize_entry("choices", choices)?;
        }
        map.end()
    }
}

/// The values of a scenario's parameters: those that were given, and the defaults of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    values: Vec<(&'static Parameter, Option<String>)>,
}

impl Parameters {
    /// The defaults.
    pub fn of(parameters: &'static [Parameter]) -> Self {
        let values = parameters.iter().map(|it| (it, None)).collect();
        Self { values }
    }

    /// Sets one.
    ///
    /// # Errors
    ///
    /// A name that the scenario does not have, a value that cannot be read.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), InvalidParameter> {
        let found = self.values.iter_mut().find(|(it, _)| it.name == name);
        let Some((parameter, set)) = found else {
            return Err(InvalidParameter {
                name: "parameter",
                sentence: format!("\"{name}\" is not known to this scenario"),
            });
        };
        parameter.check(value)?;
        *set = Some(value.to_owned());
        Ok(())
    }

    /// Whether this one was set, be it to its default.
    pub fn is_given(&self, name: &str) -> bool {
        let mut values = self.values.iter();
        values.any(|(it, value)| it.name == name && value.is_some())
    }

    /// A duration; zero for a name that does not exist.
    pub fn duration(&self, name: &str) -> Duration {
        duration::parse(self.text(name)).unwrap_or_default()
    }

    /// A number; 0 for a name that does not exist.
    pub fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or_default()
    }

    /// A whole number; 0 for a name that does not exist.
    pub fn count(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or_default()
    }

    /// The value as it is written; empty for a name that does not exist.
    pub fn text(&self, name: &str) -> &str {
        let found = self.iter().find(|(it, _)| it.name == name);
        debug_assert!(found.is_some(), "the scenario has no parameter {name}");
        found.map_or("", |(_, value)| value)
    }

    /// All, in the order of the scenario.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Parameter, &str)> {
        let values = self.values.iter();
        values.map(|(it, value)| (*it, value.as_deref().unwrap_or(it.default)))
    }
}
