//! What do the names and values that were written make?

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Given, Kind, Unreadable, Written};
use crate::suggest::{list, remedy};

/// The names that were written, each with its value.
pub(super) struct Said {
    /// In a table a name has `_` where it has `-` in a text, as all keys of a file do.
    pub in_table: bool,
    pub entries: Vec<(String, Given)>,
}

impl Said {
    pub fn spelt(&self, name: &str) -> String {
        let dash = if self.in_table { "_" } else { "-" };
        name.replace('-', dash)
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
            given if self.in_table => format!("{name} = {}", given.shown()),
            given => format!("{name}:{}", given.shown()),
        }
    }
}

/// Reads `kind:first,name:value`.
pub(super) fn read_text<T: Written>(text: &str) -> Result<T, Unreadable> {
    let entry = |part: &str| {
        let (name, given) = match part.split_once(':') {
            Some((name, value)) => (name, Given::Written(value.trim().to_owned())),
            None => (part, Given::Nothing),
        };
        (name.trim().to_owned(), given)
    };
    let said = Said {
        in_table: false,
        entries: text.split(',').map(entry).collect(),
    };
    let name = said.entries.first().map_or("", |(name, _)| name);
    build(kind(name)?, &said)
}

pub(super) fn names<T: Written>() -> impl Iterator<Item = &'static str> {
    T::KINDS.iter().map(|kind| kind.name)
}

pub(super) fn kind<T: Written>(name: &str) -> Result<&'static Kind<T>, Unreadable> {
    let found = T::KINDS.iter().find(|kind| kind.name == name);
    found.ok_or_else(|| {
        let remedy = remedy(name, names::<T>(), || {
            let examples = T::KINDS.iter().map(|kind| kind.example);
            list("write ", examples, " or ")
        });
        Unreadable::new(format!("there is no {} `{name}`; {remedy}", T::NOUN))
    })
}

pub(super) fn build<T: Written>(kind: &Kind<T>, said: &Said) -> Result<T, Unreadable> {
    refuse_strangers(kind, said)?;
    refuse_repetition::<T>(said)?;
    let mut it = (kind.start)();
    for (name, slot) in kind.slots() {
        match said.get(name) {
            Some(Given::Nothing) if name == kind.name => Err(format!("write {}", kind.example)),
            Some(given) => slot.set(&mut it, given),
            None if name == kind.name => slot.set(&mut it, &Given::Nothing),
            None => Ok(()),
        }
        .map_err(|remedy| no_value::<T>(name, said, &remedy))?;
    }
    let has_value = !matches!(said.get(kind.name), None | Some(Given::Nothing));
    if has_value && kind.first.is_none() {
        return Err(no_value::<T>(kind.name, said, "leave the value out"));
    }
    Ok(it)
}

/// Refuses what the kind does not have.
pub(super) fn refuse_strangers<T: Written>(kind: &Kind<T>, said: &Said) -> Result<(), Unreadable> {
    let own = said.spelt(kind.name);
    let known: Vec<_> = kind
        .parameters()
        .map(|(name, _)| said.spelt(name))
        .collect();
    let mut names = said.entries.iter().map(|(name, _)| name);
    let Some(name) = names.find(|name| **name != own && !known.contains(name)) else {
        return Ok(());
    };
    let known = || known.iter().map(String::as_str);
    let remedy = remedy(name, known(), || list("it has ", known(), " and "));
    let (noun, kind) = (T::NOUN, kind.name);
    let sentence = format!("the {noun} `{kind}` has no parameter `{name}`; {remedy}");
    Err(Unreadable::new(sentence).at(name))
}

/// Refuses what is there twice, and two of which one is enough.
fn refuse_repetition<T: Written>(said: &Said) -> Result<(), Unreadable> {
    let is_apart = |name: &str| T::APART.contains(&name);
    for (index, (name, given)) in said.entries.iter().enumerate() {
        let before = &said.entries[..index];
        let same = |other: &str| other == name || is_apart(other) && is_apart(name);
        if let Some((other, of_other)) = before.iter().find(|(other, _)| same(other)) {
            let (one, other) = (said.shown(other, of_other), said.shown(name, given));
            let sentence = format!("the {} has both `{one}` and `{other}`; keep one", T::NOUN);
            return Err(Unreadable::new(sentence));
        }
    }
    Ok(())
}

fn no_value<T: Written>(name: &str, said: &Said, remedy: &str) -> Unreadable {
    let (noun, name) = (T::NOUN, said.spelt(name));
    let sentence = match said.get(&name).map(Given::shown) {
        Some(value) if !value.is_empty() => {
            format!("the {noun}'s {name} is `{value}`: {remedy}")
        }
        _ => format!("the {noun}'s {name} has no value: {remedy}"),
    };
    Unreadable::new(sentence).at(&name)
}
