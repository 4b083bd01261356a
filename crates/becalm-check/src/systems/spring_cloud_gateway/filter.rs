//! What is a filter of a route, in its long form and in its short one?

use super::spring::words;
use super::{check, get};
use crate::code;
#[cfg(test)]
use crate::document::LOOKED_AT;
use crate::document::{Key, Node, Span, Value};
use crate::mapping::Origin;
use crate::reading::Reading;
use crate::template::is_placeholder;

/// A filter with its arguments.
#[derive(Debug)]
pub struct Filter {
    pub name: String,
    pub span: Span,
    /// In the long form a mapping of names; in the short one a list of texts.
    pub args: Node,
    /// The filter as it stands.
    given: Node,
}

impl Filter {
    /// The filters of a list.
    pub fn all(list: Option<&Node>) -> Vec<Self> {
        let items = list.map_or(&[][..], Node::items);
        items.iter().filter_map(Self::of).collect()
    }

    /// `FilterDefinition(String text)`, and its fields.
    fn of(given: &Node) -> Option<Self> {
        if let Some(text) = given.text() {
            let (name, args) = text.split_once('=').unwrap_or((text, ""));
            let tokens = args.split(',').map(str::trim).filter(|it| !it.is_empty());
            let token = |text: &str| scalar(text, given.span);
            let args = Value::List(tokens.map(token).collect());
            return Some(Self {
                name: name.trim().to_owned(),
                span: given.span,
                args: Node {
                    span: given.span,
                    value: args,
                },
                given: given.clone(),
            });
        }
        let (key, name) = super::entry(given, "name")?;
        let empty = Node {
            span: key.span,
            value: Value::Table(Vec::new()),
        };
        Some(Self {
            name: name.text()?.to_owned(),
            span: key.span,
            args: get(given, "args")
                .filter(|it| it.is_table())
                .cloned()
                .unwrap_or(empty),
            given: given.clone(),
        })
    }

    /// Whether it is the filter of this name.
    pub fn is(&self, name: &str) -> bool {
        #[cfg(test)]
        LOOKED_AT.set(LOOKED_AT.get() + 1);
        self.name == name
    }

    /// The filter with its arguments by name, as the short form orders them. What it has beyond them, or what this filter does
    /// not know, is told.
    pub fn named(&self, reading: &mut Reading<'_>, order: &[&str], known: &[&str]) -> Self {
        if self.given.is_table() {
            check(reading, Some(&self.given), "a filter", &["name", "args"]);
        }
        let mut args = self.args.clone();
        if let Value::List(tokens) = &self.args.value {
            for token in tokens.iter().skip(order.len()) {
                let said = token.text().unwrap_or_default();
                let sentence = format!(
                    "{} does not read `{said}`: the short form of Retry is {}",
                    reading.who(),
                    order.join(", ")
                );
                let remedy = "write the long form, with `name` and `args`";
                reading.find(self.span, code::KEY_NOT_READ, sentence, remedy);
            }
            args = by_name(order, tokens, self.span);
        }
        check(reading, Some(&args), "the arguments of Retry", known);
        Self {
            name: self.name.clone(),
            span: self.span,
            args,
            given: self.given.clone(),
        }
    }

    /// The words of an argument with its place; `None` of one that is not there.
    pub fn words(&self, name: &str) -> Option<(Span, Vec<(String, Span)>)> {
        let (key, node) = super::entry(&self.args, name)?;
        let span = if node.is_null() { key.span } else { node.span };
        Some((span, words(node)))
    }
}

/// Where the lists of these arguments come from: `methods`, which decide about a POST, or the first of them, or what of them is not known.
pub fn origin(filter: &Filter, names: &[&str]) -> Option<Origin> {
    let lists: Vec<_> = names.iter().filter_map(|it| filter.words(it)).collect();
    let words = lists.iter().flat_map(|(_, words)| words);
    let mut unknown = words.filter(|(word, _)| is_placeholder(word));
    if let Some((word, span)) = unknown.next() {
        return Some(Origin::Unknown(*span, word.clone()));
    }
    let methods = filter.words("methods").map(|(span, _)| span);
    let first = || lists.iter().map(|(span, _)| *span).min();
    methods.or_else(first).map(Origin::Line)
}

fn scalar(text: &str, span: Span) -> Node {
    let value = Value::Scalar {
        text: text.to_owned(),
        quoted: true,
    };
    Node { span, value }
}

/// `backoff.firstBackoff` is `firstBackoff` within `backoff`.
fn by_name(order: &[&str], tokens: &[Node], span: Span) -> Node {
    let mut entries: Vec<(Key, Node)> = Vec::new();
    for (path, token) in order.iter().zip(tokens) {
        let key = |name: &str| Key::new(span, name);
        let Some((outer, inner)) = path.split_once('.') else {
            entries.push((key(path), token.clone()));
            continue;
        };
        let entry = (key(inner), token.clone());
        match entries.last_mut() {
            Some((
                last,
                Node {
                    value: Value::Table(within),
                    ..
                },
            )) if last.name == outer => within.push(entry),
            _ => entries.push((
                key(outer),
                Node {
                    span,
                    value: Value::Table(vec![entry]),
                },
            )),
        }
    }
    Node {
        span,
        value: Value::Table(entries),
    }
}
