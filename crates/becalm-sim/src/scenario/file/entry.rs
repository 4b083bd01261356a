//! What stands behind a key? Its value, read as what the scenario needs, or refused by name.

use std::io;
use std::str::FromStr;
use std::time::Duration;

use becalm::{Policy, duration};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::refusal::{Refusal, unknown};

/// Reads a file that a scenario names, as it is named there.
pub(super) type Files<'a> = &'a dyn Fn(&str) -> io::Result<String>;

/// The value of a key.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    /// The key with the sections around it.
    pub key: String,
    value: &'a Spanned<DeValue<'a>>,
}

/// A table whose keys are known.
#[derive(Debug)]
pub(super) struct Section<'a> {
    key: String,
    /// Where it begins; the whole file has no such place.
    span: Option<std::ops::Range<usize>>,
    table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    /// The whole file.
    pub fn whole(table: &'a DeTable<'a>, keys: &[&str]) -> Result<Self, Refusal> {
        let section = Self {
            key: String::new(),
            span: None,
            table,
        };
        section.refuse_others(keys)?;
        Ok(section)
    }

    /// The value of this key, if it is there.
    pub fn get(&self, key: &str) -> Option<Entry<'a>> {
        let value = self.table.get(key)?;
        Some(Entry {
            key: self.inside(key),
            value,
        })
    }

    /// The value of a key that has no default.
    pub fn required(&self, key: &str, example: &str) -> Result<Entry<'a>, Refusal> {
        let missing = || Refusal {
            span: self.span.clone(),
            key: self.key.clone(),
            sentence: format!("`{key}` is missing; write {key} = {example}"),
        };
        self.get(key).ok_or_else(missing)
    }

    /// The tables of this key: written `[[key]]`.
    pub fn sections(&self, key: &str, keys: &[&str]) -> Result<Vec<Section<'a>>, Refusal> {
        let Some(entry) = self.get(key) else {
            return Ok(Vec::new());
        };
        let entries = entry.tables()?;
        entries.iter().map(|entry| entry.section(keys)).collect()
    }

    /// Refuses a key that is not one of these.
    pub fn refuse_others(&self, keys: &[&str]) -> Result<(), Refusal> {
        let mut strangers = self.table.keys();
        let Some(stranger) = strangers.find(|key| !keys.contains(&&**key.get_ref())) else {
            return Ok(());
        };
        Err(Refusal {
            span: Some(stranger.span()),
            key: self.key.clone(),
            sentence: unknown("key", stranger.get_ref(), keys.iter().copied()),
        })
    }

    /// The refusal of the whole section.
    pub fn refuse(&self, sentence: impl Into<String>) -> Refusal {
        Refusal {
            span: self.span.clone(),
            key: self.key.clone(),
            sentence: sentence.into(),
        }
    }

    fn inside(&self, key: &str) -> String {
        if self.key.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.key)
        }
    }
}

impl<'a> Entry<'a> {
    pub fn refuse(&self, sentence: impl Into<String>) -> Refusal {
        Refusal {
            span: Some(self.value.span()),
            key: self.key.clone(),
            sentence: sentence.into(),
        }
    }

    /// The text of a file that it names.
    pub fn open(&self, name: &str, files: Files<'_>) -> Result<String, Refusal> {
        files(name).map_err(|error| self.refuse(format!("cannot read {name}: {error}")))
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str()
    }

    pub fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    pub fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub fn text(&self) -> Result<&'a str, Refusal> {
        self.as_text()
            .ok_or_else(|| self.refuse("write a text in quotes"))
    }

    pub fn duration(&self) -> Result<Duration, Refusal> {
        let wanted = "write a duration in quotes, such as \"250ms\"";
        let text = self.as_text().ok_or_else(|| self.refuse(wanted))?;
        duration::parse(text).map_err(|reason| self.refuse(reason.to_string()))
    }

    /// A duration above 0.
    pub fn length(&self) -> Result<Duration, Refusal> {
        match self.duration()? {
            Duration::ZERO => Err(self.refuse("write a duration above 0")),
            length => Ok(length),
        }
    }

    pub fn flag(&self) -> Result<bool, Refusal> {
        let wanted = "write true or false, without quotes";
        self.value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.refuse(wanted))
    }

    /// A finite number.
    pub fn number(&self) -> Result<f64, Refusal> {
        let number = match self.value.get_ref() {
            DeValue::Float(float) => float.as_str().parse().ok(),
            #[expect(clippy::cast_precision_loss)] // a rate or a share
            DeValue::Integer(_) => self.whole().map(|whole| whole as f64),
            _ => None,
        };
        let finite = number.filter(|number: &f64| number.is_finite());
        finite.ok_or_else(|| self.refuse("write a number without quotes, such as 0.5"))
    }

    /// A number above 0.
    pub fn positive(&self) -> Result<f64, Refusal> {
        match self.number()? {
            number if number > 0.0 => Ok(number),
            _ => Err(self.refuse("write a number above 0")),
        }
    }

    /// A number from 0 up.
    pub fn not_negative(&self) -> Result<f64, Refusal> {
        match self.number()? {
            number if number >= 0.0 => Ok(number),
            _ => Err(self.refuse("write a number from 0 up")),
        }
    }

    /// A number from 0 to 1.
    pub fn share(&self) -> Result<f64, Refusal> {
        match self.number()? {
            share if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err(self.refuse("write a share from 0 to 1, such as 0.05")),
        }
    }

    /// A whole number from this one up.
    pub fn count(&self, least: u32) -> Result<u32, Refusal> {
        let count = self.whole().and_then(|whole| u32::try_from(whole).ok());
        let enough = count.filter(|count| *count >= least);
        enough.ok_or_else(|| self.refuse(self.counts_from(least)))
    }

    /// What is wanted of a count, from this one up: with the upper end for whom it is news.
    pub fn counts_from(&self, least: u32) -> String {
        let is_too_large = match self.value.get_ref() {
            DeValue::Integer(whole) => !whole.as_str().starts_with('-') && self.small().is_none(),
            _ => false,
        };
        if is_too_large {
            format!("write a whole number from {least} to {}", u32::MAX)
        } else {
            format!("write a whole number from {least} up")
        }
    }

    fn small(&self) -> Option<i64> {
        self.whole().filter(|whole| *whole <= i64::from(u32::MAX))
    }

    /// One of these words.
    pub fn choice<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, Refusal> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        let known = || words.iter().map(|(word, _)| *word);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| self.refuse(unknown("word", text, known())))
    }

    /// What the text says.
    pub fn parsed<T: FromStr<Err: ToString>>(&self) -> Result<T, Refusal> {
        let text = self.text()?;
        text.parse()
            .map_err(|reason: T::Err| self.refuse(reason.to_string()))
    }

    pub fn list(&self, of: &str) -> Result<Vec<Entry<'a>>, Refusal> {
        let list = self.value.get_ref().as_array();
        let list = list.ok_or_else(|| self.refuse(format!("write a list of {of}")))?;
        let entry = |value| Entry {
            key: self.key.clone(),
            value,
        };
        Ok(list.iter().map(entry).collect())
    }

    /// The tables of a list, each written under `[[key]]`.
    pub fn tables(&self) -> Result<Vec<Entry<'a>>, Refusal> {
        self.list(&format!("tables, each under [[{}]]", self.key))
    }

    pub fn section(&self, keys: &[&str]) -> Result<Section<'a>, Refusal> {
        let table = self.value.get_ref().as_table();
        let wanted = || {
            self.refuse(format!(
                "write a table with some of the keys {}",
                keys.join(", ")
            ))
        };
        let section = Section {
            key: self.key.clone(),
            span: Some(self.value.span()),
            table: table.ok_or_else(wanted)?,
        };
        section.refuse_others(keys)?;
        Ok(section)
    }

    /// The value of a key inside, if this is a table that has it.
    pub fn inside(&self, key: &str) -> Option<Entry<'a>> {
        let value = self.value.get_ref().as_table()?.get(key)?;
        Some(Entry {
            key: format!("{}.{key}", self.key),
            value,
        })
    }

    /// A policy in becalm's own form.
    pub fn policy(&self) -> Result<Policy, Refusal> {
        Policy::deserialize(self.value.clone().into_deserializer()).map_err(|error| Refusal {
            span: error.span().or_else(|| Some(self.value.span())),
            key: self.key.clone(),
            sentence: error.message().replace('\n', " "),
        })
    }

    fn whole(&self) -> Option<i64> {
        let whole = self.value.get_ref().as_integer()?;
        i64::from_str_radix(whole.as_str(), whole.radix()).ok()
    }
}
