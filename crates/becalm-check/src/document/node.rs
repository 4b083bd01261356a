//! What is a value of a tree, and where does it stand?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::{HashMap, HashSet};

use crate::hints::looks_like_retries;

/// A place in a file: the first line of what stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[non_exhaustive]
pub struct Span {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Characters on that line; 0 where it is not known.
    pub length: usize,
}

impl Span {
    /// This many characters from this line and column on, both from 1.
    pub const fn new(line: usize, column: usize, length: usize) -> Self {
        Self {
            line,
            column,
            length,
        }
    }
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it stands; where an alias stands, of what the alias repeats.
    pub span: Span,
    /// What it is.
    pub value: Value,
}

/// Names of keys, and whether they look like retries: a file has few, many times.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, bool>);

/// So many are known again.
const NAMES: usize = 1000;

impl Names {
    /// A scalar as a key.
    pub fn key(&mut self, node: Node) -> Key {
        let name = match node.value {
            Value::Scalar { text, .. } => text,
            _ => String::new(),
        };
        let mut key = Key::new(node.span, name);
        let is_known = self.0.get(&key.name).copied();
        let is_of_retries = is_known.unwrap_or_else(|| looks_like_retries(&key.name));
        if is_known.is_none() && self.0.len() < NAMES {
            self.0.insert(key.name.clone(), is_of_retries);
        }
        if is_of_retries {
            key.asked = Asked::watched();
        }
        key
    }
}

#[cfg(test)]
thread_local! {
    /// How often a node was asked for a key, or walked over; and entries that are looked at one by one.
    pub static LOOKED_AT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// What a value is. Texts are not resolved: `no`, `1e3` and `~` are what the file says.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number, word or text.
    Scalar {
        /// As it stands, without quotes.
        text: String,
        /// Whether it stood in quotes or as a block, and so is a text whatever it looks like.
        quoted: bool,
    },
    /// A sequence.
    List(Vec<Node>),
    /// A mapping in the order of the file, `<<` merged.
    Table(Vec<(Key, Node)>),
}

/// A key of a mapping. One that is no text has an empty name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// Where it stands.
    pub span: Span,
    /// Its name.
    pub name: String,
    /// Whether a reader asked for it, where it looks like retries.
    pub(crate) asked: Asked,
}

impl Key {
    /// A key of this name at this place.
    pub fn new(span: Span, name: impl Into<String>) -> Self {
        Self {
            span,
            name: name.into(),
            asked: Asked::default(),
        }
    }
}

/// Whether a reader asked for a key, which all copies of the key know. `None` of one that does not look like retries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked(Option<Arc<AtomicBool>>);

impl Asked {
    pub fn watched() -> Self {
        Self(Some(Arc::default()))
    }

    pub fn set(&self, is_asked: bool) {
        if let Some(asked) = &self.0 {
            asked.store(is_asked, Ordering::Relaxed);
        }
    }

    /// Of a key that looks like retries, whether a reader asked for it.
    pub fn get(&self) -> Option<bool> {
        self.0.as_ref().map(|it| it.load(Ordering::Relaxed))
    }
}

impl PartialEq for Asked {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Asked {}

impl Node {
    /// The value of this key, of a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|(_, node)| node)
    }

    /// The key of this name with its value; of several the last, as parsers of JSON and Envoy have it.
    pub fn entry(&self, key: &str) -> Option<(&Key, &Self)> {
        #[cfg(test)]
        LOOKED_AT.set(LOOKED_AT.get() + 1);
        let found = self.entries().iter().rfind(|(it, _)| it.name == key);
        found.map(|(key, node)| {
            key.asked.set(true);
            (key, node)
        })
    }

    /// What stands at this path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The entries of a mapping; none of what is none.
    pub fn entries(&self) -> &[(Key, Self)] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; none of what is none.
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The items of the list at this path; none where there is none.
    pub fn list(&self, path: &[&str]) -> &[Self] {
        self.at(path).map_or(&[], Self::items)
    }

    /// The text of a scalar. Of a null: `None`.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Whether it says nothing: empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        match &self.value {
            Value::Scalar { text, quoted } => {
                !quoted && matches!(&**text, "" | "~" | "null" | "Null" | "NULL")
            }
            _ => false,
        }
    }

    /// Whether it is a mapping.
    pub const fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// Keys that stand in a mapping a second time.
    pub fn repeated_keys(&self) -> impl Iterator<Item = &Key> {
        let entries = self.entries();
        let mut names = HashSet::default();
        let keys = entries.iter().map(|(key, _)| key).enumerate();
        let again = keys.filter(move |(at, key)| {
            // Most mappings are small, and nothing is hashed.
            let is_again = match entries.len() {
                ..=8 => entries[..*at].iter().any(|(it, _)| it.name == key.name),
                _ => !names.insert(&*key.name),
            };
            is_again && !key.name.is_empty()
        });
        again.map(|(_, key)| key)
    }

    /// All nodes from here on, itself first, in the order of the file.
    pub fn walk(&self) -> impl Iterator<Item = &Self> {
        let mut left = vec![self];
        std::iter::from_fn(move || {
            let node = left.pop()?;
            #[cfg(test)]
            LOOKED_AT.set(LOOKED_AT.get() + 1);
            match &node.value {
                Value::List(items) => left.extend(items.iter().rev()),
                Value::Table(entries) => left.extend(entries.iter().rev().map(|(_, it)| it)),
                Value::Scalar { .. } => {}
            }
            Some(node)
        })
    }
}
