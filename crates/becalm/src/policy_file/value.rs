//! What does the value of a key say?

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::policy::Policy;
use crate::policy::text::{Fault, Given, Unreadable, Written, has_tables, read_table};
use crate::preset::Preset;

/// `attempts` without a bound.
pub(super) const UNLIMITED: &str = "unlimited";
/// A key that is switched off although the preset has it.
pub(super) const NONE: &str = "none";

/// A value as the format has it.
pub(super) enum Raw {
    One(Given),
    List(Vec<Raw>),
    Table(Vec<(String, Given)>),
}

/// Reads the raw value of this key.
pub(super) struct RawOf<'a>(pub &'a str);

impl<'de> DeserializeSeed<'de> for RawOf<'_> {
    type Value = Raw;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RawOf<'_> {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text, a number or a table for `{}`", self.0)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::One(Given::Quoted(text.to_owned())))
    }

    fn visit_u64<E>(self, whole: u64) -> Result<Raw, E> {
        Ok(Raw::One(Given::Whole(whole)))
    }

    fn visit_i64<E>(self, whole: i64) -> Result<Raw, E> {
        #[expect(clippy::cast_precision_loss)] // below zero, where every key refuses it
        let given = u64::try_from(whole).map_or(Given::Number(whole as f64), Given::Whole);
        Ok(Raw::One(given))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Raw, E> {
        Ok(Raw::One(Given::Number(number)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(RawOf(self.0))? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = table.next_key::<String>()? {
            let given = match table.next_value_seed(RawOf(&format!("{}.{name}", self.0)))? {
                Raw::One(given) => given,
                Raw::List(_) | Raw::Table(_) => Given::Nested,
            };
            entries.push((name, given));
        }
        Ok(Raw::Table(entries))
    }
}

/// A value as the policy has it.
pub(super) trait Value: Sized {
    fn read(raw: Raw) -> Result<Self, Unreadable>;
}

impl<T: Written> Value for T {
    fn read(raw: Raw) -> Result<Self, Unreadable> {
        let part = match (raw, T::JOIN) {
            (Raw::One(Given::Quoted(text)), _) => T::of_text(&text)?,
            (Raw::Table(entries), _) if has_tables::<T>() => read_table(entries)?,
            (Raw::List(items), Some(join)) => {
                let parts = items.into_iter().map(T::read);
                let parts = parts.collect::<Result<Vec<_>, _>>()?.into_iter();
                let joined = parts.reduce(join);
                joined.ok_or_else(|| instead("the list is empty; write \"none\""))?
            }
            _ => {
                let mut kinds = T::KINDS.iter().filter(|kind| kind.first.is_some());
                let kind = kinds.next().or(T::KINDS.first());
                let example = kind.map_or("", |kind| kind.example);
                let table = if has_tables::<T>() {
                    ", or as a table"
                } else {
                    ""
                };
                let sentence = format!("write it in quotes, such as \"{example}\"{table}");
                return Err(instead(sentence));
            }
        };
        part.check()?;
        Ok(part)
    }
}

impl<T: Value> Value for Option<T> {
    fn read(raw: Raw) -> Result<Self, Unreadable> {
        match raw {
            Raw::One(Given::Quoted(text)) if text == NONE => Ok(None),
            raw => T::read(raw).map(Some),
        }
    }
}

impl Value for Duration {
    fn read(raw: Raw) -> Result<Self, Unreadable> {
        raw.one().duration().map_err(instead)
    }
}

impl Value for f64 {
    fn read(raw: Raw) -> Result<Self, Unreadable> {
        raw.one().number().map_err(instead)
    }
}

impl Value for u32 {
    fn read(raw: Raw) -> Result<Self, Unreadable> {
        let whole = raw.one().whole();
        whole.map_err(|_| instead("write a whole number from 1 to 4294967295, or \"none\""))
    }
}

/// A number of attempts, or none.
pub(super) struct Attempts(u32);

impl From<Attempts> for u32 {
    fn from(Attempts(attempts): Attempts) -> Self {
        attempts
    }
}

impl Value for Attempts {
    fn read(raw: Raw) -> Result<Self, Unreadable> {
        let attempts = match raw.one() {
            Given::Quoted(text) if text == UNLIMITED => Ok(Policy::UNLIMITED),
            given => given.whole(),
        };
        attempts
            .map(Self)
            .map_err(|_| instead("write a whole number from 1 to 4294967294, or \"unlimited\""))
    }
}

impl Value for &'static Preset {
    fn read(raw: Raw) -> Result<Self, Unreadable> {
        match raw.one() {
            Given::Quoted(name) => Preset::by_name(&name),
            _ => Err(instead("write a name in quotes, such as \"grpc\"")),
        }
    }
}

fn instead(sentence: impl Into<String>) -> Unreadable {
    Unreadable::new(Fault::Value, sentence.into())
}

impl Raw {
    /// Where no table is expected.
    fn one(self) -> Given {
        match self {
            Self::One(given) => given,
            Self::List(_) | Self::Table(_) => Given::Nested,
        }
    }
}
