//! What does a table of a file make?

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::reader::Said;
use super::unreadable::{list, remedy};
use super::{Fault, Given, Grammar, Kind, Unreadable};
use crate::suggest::nearest;

/// The key that names a kind.
pub(crate) const KIND: &str = "kind";

impl<T> Grammar<T> {
    /// Whether there is anything to say in a table: not where each kind is a word alone.
    pub fn has_tables(&self) -> bool {
        self.kinds.iter().any(|kind| kind.slots().next().is_some())
    }

    /// Reads names and values. `kind` says which kind it is, or the name of one that is there.
    pub fn table(&self, mut entries: Vec<(String, Given)>) -> Result<T, Unreadable> {
        let at = entries.iter().position(|(name, _)| name == KIND);
        let kind = at.map(|at| entries.remove(at).1);
        let said = Said {
            in_table: true,
            entries,
        };
        let kind = match kind {
            None => self.kind_of(&said)?,
            Some(Given::Quoted(name)) => self.kind(&name)?,
            Some(given) => self.kind(&given.shown())?,
        };
        self.build(kind, &said)
    }

    /// The kind whose name is there: the first to which nothing else that is there is a stranger.
    fn kind_of(&self, said: &Said) -> Result<&'static Kind<T>, Unreadable> {
        let kinds = self.kinds.iter();
        let named: Vec<_> = kinds.filter(|kind| said.get(kind.name).is_some()).collect();
        let mut fitting = named
            .iter()
            .filter(|kind| self.refuse_strangers(kind, said).is_ok());
        match (fitting.next().or(named.first()), self.kinds) {
            (Some(kind), _) => Ok(kind),
            (None, [kind]) => Ok(kind),
            (None, _) => Err(self.no_kind(said)),
        }
    }

    fn no_kind(&self, said: &Said) -> Unreadable {
        let known: Vec<_> = self.names().map(|name| said.spelt(name)).collect();
        let known = || known.iter().map(String::as_str);
        let mut names = said.entries.iter().map(|(name, _)| name);
        let slip = names.find(|name| nearest(name, known()).is_some());
        let all = || list("write ", known(), " or ");
        let remedy = remedy(slip.map_or("", String::as_str), known(), all);
        let sentence = format!("the {} names no kind; {remedy}", self.noun);
        Unreadable::new(Fault::Kind, sentence)
    }
}
