//! What do the names and values that were written make?

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use super::unreadable::{list, remedy};
use super::{Given, Grammar, Kind, Unreadable};
use crate::suggest::nearest;

/// The names that were written, each with its value.
pub(super) struct Said {
    /// In a table a name has `_` where it has `-` in a text, as all keys of a file do.
    pub in_table: bool,
    pub entries: Vec<(String, Given)>,
}

impl Said {
    pub fn spelt(&self, name: &str) -> String {
        if self.in_table {
            name.replace('-', "_")
        } else {
            name.to_owned()
        }
    }

    pub fn get(&self, name: &str) -> Option<&Given> {
        let name = self.spelt(name);
        let entry = self.entries.iter().find(|(said, _)| *said == name);
        entry.map(|(_, given)| given)
    }

    /// As it was written.
    fn shown(&self, name: &str, given: &Given) -> String {
        match given {
            Given::Nothing => name.to_owned(),
            given if self.in_table => [name, " = ", &given.shown()].concat(),
            given => [name, ":", &given.shown()].concat(),
        }
    }
}

impl<T> Grammar<T> {
    /// Reads `kind:first,name:value`.
    pub fn text(&self, text: &str) -> Result<T, Unreadable> {
        let entry = |part: &str| match part.split_once(':') {
            Some((name, value)) => (
                name.trim().to_owned(),
                Given::Written(value.trim().to_owned()),
            ),
            None => (part.trim().to_owned(), Given::Nothing),
        };
        let said = Said {
            in_table: false,
            entries: text.split(',').map(entry).collect(),
        };
        let kind = said.entries.first().map_or("", |(name, _)| name);
        self.build(self.kind(kind)?, &said)
    }

    pub(super) fn kind(&self, name: &str) -> Result<&'static Kind<T>, Unreadable> {
        let found = self.kinds.iter().find(|kind| kind.name == name);
        found.ok_or_else(|| Unreadable::Kind {
            of: self.noun,
            kind: name.to_owned(),
            remedy: remedy(nearest(name, self.names()), || {
                list("write ", self.examples(), " or ")
            }),
        })
    }

    pub(super) fn build(&self, kind: &Kind<T>, said: &Said) -> Result<T, Unreadable> {
        self.refuse_strangers(kind, said)?;
        self.refuse_repetition(kind, said)?;
        let mut it = (kind.start)();
        for (name, slot) in kind.slots() {
            let given = match said.get(name) {
                Some(given) => given,
                None if name == kind.name => &Given::Nothing,
                None => continue,
            };
            let set = slot.set(&mut it, given);
            set.map_err(|reason| self.value(said.spelt(name), given, reason))?;
        }
        match said.get(kind.name) {
            Some(given) if kind.first.is_none() && !matches!(given, Given::Nothing) => {
                Err(self.value(said.spelt(kind.name), given, "leave the value out".into()))
            }
            _ => Ok(it),
        }
    }

    /// Refuses what the kind does not have.
    fn refuse_strangers(&self, kind: &Kind<T>, said: &Said) -> Result<(), Unreadable> {
        let parameters: Vec<_> = kind
            .parameters()
            .map(|(name, _)| said.spelt(name))
            .collect();
        let own = said.spelt(kind.name);
        let mut names = said.entries.iter().map(|(name, _)| name);
        let Some(stranger) = names.find(|name| **name != own && !parameters.contains(name)) else {
            return Ok(());
        };
        let known = || parameters.iter().map(String::as_str);
        Err(Unreadable::Parameter {
            of: self.noun,
            kind: kind.name,
            parameter: stranger.clone(),
            remedy: remedy(nearest(stranger, known()), || {
                list("it has ", known(), " and ")
            }),
        })
    }

    /// Refuses what is there twice, and two of which one is enough.
    fn refuse_repetition(&self, kind: &Kind<T>, said: &Said) -> Result<(), Unreadable> {
        let apart: Vec<_> = kind.apart.iter().map(|name| said.spelt(name)).collect();
        for (index, (name, given)) in said.entries.iter().enumerate() {
            let mut before = said.entries[..index].iter();
            let is_apart = apart.contains(name);
            let other =
                before.find(|(other, _)| other == name || is_apart && apart.contains(other));
            if let Some((other, of_other)) = other {
                return Err(self.twice(said.shown(other, of_other), said.shown(name, given)));
            }
        }
        Ok(())
    }

    pub(super) fn twice(&self, one: String, other: String) -> Unreadable {
        Unreadable::Twice {
            of: self.noun,
            one,
            other,
        }
    }

    pub(super) fn value(&self, parameter: String, given: &Given, reason: String) -> Unreadable {
        Unreadable::Value {
            of: self.noun,
            parameter,
            value: match given {
                Given::Nothing => None,
                given => Some(given.shown()),
            },
            reason,
        }
    }
}
