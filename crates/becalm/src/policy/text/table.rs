//! What does a table of a file make?

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::reader::Said;
use super::unreadable::list;
use super::{Given, Grammar, Kind, Unreadable};
use crate::suggest::nearest;

/// The key that names a kind.
pub(crate) const KIND: &str = "kind";

impl<T> Grammar<T> {
    /// Whether there is anything to say in a table: not where each kind is a word alone.
    pub fn has_tables(&self) -> bool {
        self.kinds.iter().any(|kind| kind.slots().next().is_some())
    }

    /// Reads names and values. `kind` says which kind it is, or the name of one that is there.
    pub fn table(&self, entries: Vec<(String, Given)>) -> Result<T, Unreadable> {
        let (kinds, entries) = entries.into_iter().partition(|(name, _)| name == KIND);
        let said = Said {
            in_table: true,
            entries,
        };
        let kinds: Vec<_> = kinds;
        let kind = match &kinds[..] {
            [] => self.kind_of(&said)?,
            [(_, Given::Quoted(name))] => self.kind(name)?,
            [(_, given)] => {
                return Err(self.value(
                    KIND.to_owned(),
                    given,
                    list("write \"", self.names(), "\" or \"") + "\"",
                ));
            }
            [(_, one), (_, other), ..] => {
                let both = [one, other].map(|kind| format!("{KIND} = {}", kind.shown()));
                let [one, other] = both;
                return Err(self.twice(one, other));
            }
        };
        self.build(kind, &said)
    }

    /// The kind whose name is there, and is no parameter of another one whose name is there.
    fn kind_of(&self, said: &Said) -> Result<&'static Kind<T>, Unreadable> {
        let named = || {
            let kinds = self.kinds.iter();
            kinds.filter(|kind| said.get(kind.name).is_some())
        };
        let is_own = |kind: &&Kind<T>| {
            let mut parameters = named().flat_map(Kind::parameters);
            !parameters.any(|(name, _)| *name == kind.name)
        };
        let mut own = named().filter(is_own);
        match (own.next(), own.next(), self.kinds) {
            (Some(kind), None, _) | (None, _, [kind]) => Ok(kind),
            (Some(one), Some(other), _) => {
                Err(self.twice(said.spelt(one.name), said.spelt(other.name)))
            }
            (None, ..) => Err(self.no_kind(said)),
        }
    }

    fn no_kind(&self, said: &Said) -> Unreadable {
        let mut names = said.entries.iter().map(|(name, _)| name);
        let slip = names.find_map(|name| nearest(name, self.names()));
        let names: Vec<_> = self.names().map(|name| said.spelt(name)).collect();
        let names = names.iter().map(String::as_str);
        Unreadable::Kind {
            of: self.noun,
            kind: String::new(),
            remedy: match slip {
                Some(name) => format!("did you mean `{}`?", said.spelt(name)),
                None => list("write ", names, " or "),
            },
        }
    }
}
