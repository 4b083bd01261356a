//! Which keys has a table of a scenario file? One list of rows: by it a table is read, written, and
//! described in the JSON Schema.

use std::time::Duration;

use becalm::support::Human;
use toml::{Table, Value};

use super::entry::{Entry, Files, Section};
use super::lines::Lines;
use super::refusal::Refusal;
use super::words::{self, UNLIMITED};
use super::{arrivals, words::NONE};
use crate::engine::Distribution;
use crate::scenario::{Arrivals, Discipline, Service};

/// Reads a value.
pub(super) type Read<V> = fn(&Entry<'_>, Files<'_>) -> Result<V, Refusal>;

/// How a value is read and written.
pub(super) struct Form<V> {
    pub read: Read<V>,
    pub write: fn(&V) -> Value,
    /// A part of the JSON Schema.
    #[cfg(test)]
    pub schema: fn() -> String,
}

/// A key of a table that describes a `T`.
pub(super) struct Key<T> {
    pub name: &'static str,
    /// The value in an error where the key is missing; `None` of a key that may be left out.
    pub example: Option<&'static str>,
    pub read: fn(&Entry<'_>, Files<'_>, &mut T) -> Result<(), Refusal>,
    /// `None` where a section of its own is written.
    pub write: Option<fn(&T) -> Value>,
    /// Whether both have the same value.
    pub is_same: fn(&T, &T) -> bool,
    #[cfg(test)]
    pub schema: fn() -> String,
}

/// The row of a field with this [`Form`]: `key!(instances: COUNT)`, `key!(name: TEXT, "\"orders\"")`.
macro_rules! key {
    (@ $name:ident, $form:expr, $example:expr) => {
        $crate::scenario::file::rows::Key {
            name: stringify!($name),
            example: $example,
            read: |entry, files, it| {
                it.$name = ($form.read)(entry, files)?;
                Ok(())
            },
            write: Some(|it| ($form.write)(&it.$name)),
            is_same: |it, other| PartialEq::eq(&it.$name, &other.$name),
            #[cfg(test)]
            schema: || ($form.schema)(),
        }
    };
    ($name:ident: $form:expr) => { key!(@ $name, $form, None) };
    ($name:ident: $form:expr, $example:literal) => { key!(@ $name, $form, Some($example)) };
}

/// The row of a key that is read by this function, into a field: `section!("limit": limit, read)`; or
/// with the rest of the file: `section!("service")`. Either is written in a section of its own.
macro_rules! section {
    (@ $name:literal, $read:expr) => {
        $crate::scenario::file::rows::Key {
            name: $name,
            example: None,
            read: $read,
            write: None,
            is_same: |_, _| true,
            #[cfg(test)]
            schema: String::new,
        }
    };
    ($name:literal) => { section!(@ $name, |_, _, _| Ok(())) };
    ($name:literal: $field:ident, $read:expr) => {
        section!(@ $name, |entry, files, it| {
            let read: $crate::scenario::file::rows::Read<_> = $read;
            it.$field = read(entry, files)?;
            Ok(())
        })
    };
}

/// One of these words.
macro_rules! choice {
    ($words:expr) => {
        $crate::scenario::file::rows::Form {
            read: |entry, _| entry.choice($words),
            write: |it| $crate::scenario::file::words::word($words, it).into(),
            #[cfg(test)]
            schema: || {
                let words: Vec<&str> = $words.iter().map(|(word, _)| *word).collect();
                format!("{{ \"enum\": {words:?} }}")
            },
        }
    };
}

macro_rules! form {
    ($(#[$doc:meta])* $name:ident: $value:ty, $read:expr, $write:expr, $schema:literal) => {
        $(#[$doc])*
        pub(super) const $name: Form<$value> = Form {
            read: $read,
            write: $write,
            #[cfg(test)]
            schema: || $schema.to_owned(),
        };
    };
}

form!(TEXT: String, |it, _| Ok(it.text()?.to_owned()), |it| it.as_str().into(), r#"{ "type": "string" }"#);
form!(FLAG: bool, |it, _| it.flag(), |it| (*it).into(), r#"{ "type": "boolean" }"#);
form!(TIME: Duration, |it, _| it.duration(), time, r##"{ "$ref": "#/$defs/duration" }"##);
form!(
    /// A duration above 0.
    LENGTH: Duration, |it, _| it.length(), time, r##"{ "$ref": "#/$defs/duration" }"##);
form!(
    /// A duration, or "none".
    PATIENCE: Option<Duration>, |it, _| words::optional_length(it),
    |it| it.as_ref().map_or_else(|| NONE.into(), time), r##"{ "$ref": "#/$defs/optional_duration" }"##);
form!(SHARE: f64, |it, _| it.share(), |it| (*it).into(), r##"{ "$ref": "#/$defs/share" }"##);
form!(
    /// A number above 0.
    RATE: f64, |it, _| it.positive(), |it| (*it).into(), r#"{ "type": "number", "exclusiveMinimum": 0 }"#);
form!(BURST: f64, |it, _| burst(it), |it| (*it).into(), r#"{ "type": "number", "minimum": 1 }"#);
form!(
    /// A share of clients, relative to the others' shares.
    PART: f64, |it, _| it.share(), |it| (*it).into(), r#"{ "type": "number", "minimum": 0 }"#);
form!(
    /// A whole number from 1 up.
    COUNT: u32, |it, _| it.count(1), |it| (*it).into(), r##"{ "$ref": "#/$defs/count" }"##);
form!(
    /// A whole number from 0 up.
    NUMBER: u32, |it, _| it.count(0), |it| (*it).into(), r#"{ "type": "integer", "minimum": 0, "maximum": 4294967295 }"#);
form!(WORKERS: u32,
    |it, _| Ok(words::bounded(it, 1)?.unwrap_or(Service::UNLIMITED)),
    |it| match *it { Service::UNLIMITED => UNLIMITED.into(), workers => workers.into() },
    r##"{ "anyOf": [{ "$ref": "#/$defs/count" }, { "const": "unlimited" }] }"##);
form!(PLACES: Option<u32>,
    |it, _| words::bounded(it, 0), |it| it.map_or_else(|| UNLIMITED.into(), Value::from),
    r#"{ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 4294967295 }, { "const": "unlimited" }] }"#);
form!(DISCIPLINE: Discipline, |it, _| words::discipline(it), |it| words::discipline_text(it).into(),
    r#"{ "type": "string", "pattern": "^\\s*(fifo|lifo|codel)" }"#);
form!(OPERATION: becalm::Operation, |it, _| words::operation(it), |it| words::operation_text(it).into(),
    r#"{ "type": "string", "pattern": "^(idempotent|not-idempotent|keyed(:.+)?)$" }"#);
form!(TIMES: Distribution, arrivals::distribution, arrivals::write_distribution,
    r##"{ "$ref": "#/$defs/distribution" }"##);
form!(ARRIVALS: Arrivals, arrivals::read, arrivals::write, r##"{ "$ref": "#/$defs/arrivals" }"##);

fn time(time: &Duration) -> Value {
    Human(*time).to_string().into()
}

fn burst(entry: &Entry<'_>) -> Result<f64, Refusal> {
    match entry.positive()? {
        burst if burst < 1.0 => {
            Err(entry.refuse("a burst below 1 lets nothing through; write at least 1"))
        }
        burst => Ok(burst),
    }
}

/// The names of all keys.
pub(super) fn names<T>(keys: &[Key<T>]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// Reads a table over what has its defaults.
pub(super) fn read<T>(
    keys: &[Key<T>],
    section: &Section<'_>,
    files: Files<'_>,
    mut over: T,
) -> Result<T, Refusal> {
    for key in keys {
        let entry = match key.example {
            Some(example) => Some(section.required(key.name, example)?),
            None => section.get(key.name),
        };
        if let Some(entry) = entry {
            (key.read)(&entry, files, &mut over)?;
        }
    }
    Ok(over)
}

/// Reads the table of an entry over what has its defaults.
pub(super) fn table<T>(
    keys: &[Key<T>],
    entry: &Entry<'_>,
    files: Files<'_>,
    over: T,
) -> Result<T, Refusal> {
    read(keys, &entry.section(&names(keys))?, files, over)
}

/// Writes the keys that have no default, or not theirs.
pub(super) fn write<T>(keys: &[Key<T>], it: &T, default: &T, lines: &mut Lines) {
    let told = keys
        .iter()
        .filter(|key| key.example.is_some() || !(key.is_same)(it, default));
    for key in told {
        if let Some(write) = key.write {
            lines.key(key.name, write(it));
        }
    }
}

/// All keys in one line.
pub(super) fn inline<T>(keys: &[Key<T>], it: &T) -> Table {
    let each = keys.iter();
    each.filter_map(|key| Some((key.name.to_owned(), (key.write?)(it))))
        .collect()
}

pub(super) use {choice, key, section};
