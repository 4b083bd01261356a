//! What stands in a file, and where?

mod bounds;
mod brackets;
mod comments;
#[cfg(test)]
mod drawn;
mod json;
mod names_1_1;
mod node;
pub(crate) mod properties;
pub(crate) mod toml;
mod yaml;
mod yaml_1_1;

use std::borrow::Cow;

pub use bounds::{DEEPEST, LONGEST};
pub(crate) use node::Asked;
#[cfg(test)]
pub(crate) use node::LOOKED_AT;
pub use node::{Key, Node, Span, Value};
pub(crate) use yaml::{Unread, Unreadable, documents};

/// The text with each line ended by a line feed, as YAML has it: a carriage return alone ends one, too.
pub(crate) fn in_lines(text: &str) -> Cow<'_, str> {
    let is_alone = |at: usize| text.as_bytes().get(at + 1) != Some(&b'\n');
    if text.match_indices('\r').any(|(at, _)| is_alone(at)) {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// One document of a file, or a whole file that is no tree.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// The name of its file, as it was given.
    pub file: &'a str,
    /// All of the file.
    pub text: &'a str,
    /// Its tree, of YAML and JSON.
    pub tree: Option<&'a Node>,
    /// The trees of all documents of the file, itself among them.
    pub beside: &'a [Node],
    /// All files that are checked together, itself among them.
    pub together: &'a [Together<'a>],
    /// Where the file merges mappings by `<<`, which some systems do not read.
    pub merges: &'a [Span],
}

/// A file that is checked together with others.
#[derive(Debug, Clone, Copy)]
pub struct Together<'a> {
    /// Its name, as it was given.
    pub file: &'a str,
    /// All of it.
    pub text: &'a str,
    /// Its documents, of YAML and JSON.
    pub trees: &'a [Node],
}

impl<'a> Document<'a> {
    /// What stands at this path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&'a Node> {
        self.tree?.at(path)
    }

    /// Whether the text at this path is this one.
    pub fn says(&self, path: &[&str], text: &str) -> bool {
        self.at(path).and_then(Node::text) == Some(text)
    }

    /// The documents of this file, then those of the others, each with the name of its file.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, &'a Node)> + use<'a> {
        let (file, beside) = (self.file, self.beside);
        let own = beside.iter().map(move |tree| (file, tree));
        let others = self.together.iter().filter(move |it| it.file != file);
        own.chain(others.flat_map(|it| it.trees.iter().map(move |tree| (it.file, tree))))
    }

    /// Where it begins.
    pub fn start(&self) -> Span {
        self.tree.map_or_else(|| Span::new(1, 1, 0), |it| it.span)
    }
}
