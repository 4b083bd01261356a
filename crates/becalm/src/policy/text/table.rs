//! What does a table of a file make?

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::reader::{self, Said, names};
use super::{Given, Kind, Unreadable, Written};
use crate::suggest::{list, nearest, remedy};

/// The key that names a kind.
pub(crate) const KIND: &str = "kind";

/// Whether there is anything to say in a table: not where each kind is a word alone.
pub(crate) fn has_tables<T: Written>() -> bool {
    T::KINDS.iter().any(|kind| kind.slots().next().is_some())
}

/// Reads names and values. `kind` says which kind it is, or the name of one that is there.
pub(crate) fn read_table<T: Written>(mut entries: Vec<(String, Given)>) -> Result<T, Unreadable> {
    let at = entries.iter().position(|(name, _)| name == KIND);
    let kind = at.map(|at| entries.remove(at).1);
    let said = Said {
        in_table: true,
        entries,
    };
    let kind = match kind {
        None => kind_of(&said)?,
        Some(Given::Quoted(name)) => reader::kind(&name)?,
        Some(given) => reader::kind(&given.shown())?,
    };
    reader::build(kind, &said)
}

/// The kind whose name is there: the first to which nothing else that is there is a stranger.
fn kind_of<T: Written>(said: &Said) -> Result<&'static Kind<T>, Unreadable> {
    let kinds = T::KINDS.iter();
    let named = kinds.filter(|kind| said.get(kind.name).is_some());
    let found = named.min_by_key(|kind| reader::refuse_strangers(kind, said).is_err());
    let only = match T::KINDS {
        [kind] => Some(kind),
        _ => None,
    };
    found.or(only).ok_or_else(|| no_kind::<T>(said))
}

fn no_kind<T: Written>(said: &Said) -> Unreadable {
    let known: Vec<_> = names::<T>().map(|name| said.spelt(name)).collect();
    let known = || known.iter().map(String::as_str);
    let mut names = said.entries.iter().map(|(name, _)| name);
    let slip = names.find(|name| nearest(name, known()).is_some());
    let all = || list("write ", known(), " or ");
    let remedy = remedy(slip.map_or("", String::as_str), known(), all);
    let sentence = format!("the {} names no kind; {remedy}", T::NOUN);
    Unreadable::new(sentence)
}
