//! What does the value of a key say?

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::duration::nanos;
use crate::grammar::Given;
use crate::human::Human;
use crate::policy::Policy;
use crate::policy::text::{Unreadable, Written, has_tables, read_table};
use crate::preset::Preset;

/// `attempts` without a bound.
pub(super) const UNLIMITED: &str = "unlimited";
/// A key that is switched off although the preset has it.
pub(super) const NONE: &str = "none";

/// Reads the value of this key, as the format has it.
pub(super) struct ValueOf<'a>(pub &'a str);

impl<'de> DeserializeSeed<'de> for ValueOf<'_> {
    type Value = Given;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Given, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueOf<'_> {
    type Value = Given;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text, a number or a table for `{}`", self.0)
    }

    fn visit_str<E>(self, text: &str) -> Result<Given, E> {
        Ok(Given::Quoted(text.to_owned()))
    }

    fn visit_u64<E>(self, whole: u64) -> Result<Given, E> {
        Ok(Given::Whole(whole))
    }

    fn visit_i64<E>(self, whole: i64) -> Result<Given, E> {
        #[expect(clippy::cast_precision_loss)] // below zero, where every key refuses it
        let below_zero = Given::Number(whole as f64);
        Ok(u64::try_from(whole).map_or(below_zero, Given::Whole))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Given, E> {
        Ok(Given::Number(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Given, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(ValueOf(self.0))? {
            items.push(item);
        }
        Ok(Given::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Given, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = table.next_key::<String>()? {
            let given = table.next_value_seed(ValueOf(&format!("{}.{name}", self.0)))?;
            entries.push((name, given));
        }
        Ok(Given::Table(entries))
    }
}

/// A value as the policy has it.
pub(super) trait Value: Sized {
    fn read(given: Given) -> Result<Self, Unreadable>;

    /// As it is written: nothing where the key is left out.
    fn write(&self) -> Option<Given>;
}

impl<T: Written> Value for T {
    fn read(given: Given) -> Result<Self, Unreadable> {
        let part = match (given, T::JOIN) {
            (Given::Quoted(text) | Given::Written(text), _) => T::of_text(&text)?,
            (Given::Table(entries), _) if has_tables::<T>() => read_table(entries)?,
            (Given::List(items), Some(join)) => {
                let parts = items.into_iter().map(T::read);
                let parts = parts.collect::<Result<Vec<_>, _>>()?.into_iter();
                let joined = parts.reduce(join);
                joined.ok_or_else(|| instead("the list is empty; write \"none\""))?
            }
            _ => {
                let kind = T::KINDS.iter().min_by_key(|kind| kind.first.is_none());
                let example = kind.map_or("", |kind| kind.example);
                let table = has_tables::<T>().then_some(", or as a table");
                let table = table.unwrap_or_default();
                let sentence = format!("write it in quotes, such as \"{example}\"{table}");
                return Err(instead(sentence));
            }
        };
        part.check()?;
        Ok(part)
    }

    fn write(&self) -> Option<Given> {
        (!self.is_left_out()).then(|| Given::Quoted(self.to_string()))
    }
}

impl<T: Value> Value for Option<T> {
    fn read(given: Given) -> Result<Self, Unreadable> {
        match given {
            Given::Quoted(text) | Given::Written(text) if text == NONE => Ok(None),
            given => T::read(given).map(Some),
        }
    }

    fn write(&self) -> Option<Given> {
        self.as_ref()?.write()
    }
}

impl Value for Duration {
    fn read(given: Given) -> Result<Self, Unreadable> {
        given.duration().map_err(instead)
    }

    /// As it counts: beyond 584 years a decision cannot tell the difference.
    fn write(&self) -> Option<Given> {
        let time = Duration::from_nanos(nanos(*self));
        Some(Given::Quoted(Human(time).to_string()))
    }
}

impl Value for f64 {
    fn read(given: Given) -> Result<Self, Unreadable> {
        given.number().map_err(instead)
    }

    fn write(&self) -> Option<Given> {
        Some(Given::Number(*self))
    }
}

impl Value for u32 {
    fn read(given: Given) -> Result<Self, Unreadable> {
        let whole = given.whole();
        whole.map_err(|_| instead("write a whole number from 1 to 4294967295, or \"none\""))
    }

    fn write(&self) -> Option<Given> {
        Some(Given::Whole((*self).into()))
    }
}

/// A number of attempts, or none.
pub(super) struct Attempts(u32);

impl From<u32> for Attempts {
    fn from(attempts: u32) -> Self {
        Self(attempts)
    }
}

impl From<Attempts> for u32 {
    fn from(Attempts(attempts): Attempts) -> Self {
        attempts
    }
}

impl Value for Attempts {
    fn read(given: Given) -> Result<Self, Unreadable> {
        let attempts = match given {
            Given::Quoted(text) | Given::Written(text) if text == UNLIMITED => {
                Ok(Policy::UNLIMITED)
            }
            given => given.whole(),
        };
        attempts
            .map(Self)
            .map_err(|_| instead("write a whole number from 1 to 4294967294, or \"unlimited\""))
    }

    fn write(&self) -> Option<Given> {
        match self.0 {
            Policy::UNLIMITED => Some(Given::Quoted(UNLIMITED.to_owned())),
            attempts => attempts.write(),
        }
    }
}

impl Value for &'static Preset {
    fn read(given: Given) -> Result<Self, Unreadable> {
        match given {
            Given::Quoted(name) | Given::Written(name) => Preset::by_name(&name),
            _ => Err(instead("write a name in quotes, such as \"grpc\"")),
        }
    }

    fn write(&self) -> Option<Given> {
        Some(Given::Quoted(self.name().to_owned()))
    }
}

fn instead(sentence: impl Into<String>) -> Unreadable {
    Unreadable::new(sentence.into())
}
