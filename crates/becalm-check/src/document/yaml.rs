//! Which trees does a file of YAML or JSON hold?
//!
//! The parser's events are gathered here rather than in its own loader, so that depth, size and
//! what aliases repeat are bounded before anything recurses.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::bounds::{DEEPEST, LONGEST};
use super::comments::blanked;
use super::node::{Key, Node, Span, Value};

/// Nodes that aliases may repeat in a file, and those that a merge copies.
const REPEATED: usize = 100_000;

/// Why a file is no tree, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub span: Span,
    pub sentence: String,
}

/// What was read of a file.
#[derive(Debug, Default)]
pub struct Read {
    /// The documents, but for empty ones.
    pub documents: Vec<Node>,
    /// Where `<<` stands.
    pub merges: Vec<Span>,
    /// Where the text is no YAML, too deep or too large; what comes before it was read.
    pub unreadable: Option<Unreadable>,
}

/// The documents of a file.
pub fn documents(text: &str) -> Read {
    let mut trees = Trees::default();
    if text.len() > LONGEST {
        let sentence = format!("a file of more than {LONGEST} bytes is not read");
        return Read {
            unreadable: Some(refused(Span::new(1, 1, 0), &sentence)),
            ..Read::default()
        };
    }
    let text = blanked(text);
    let mut parser = Parser::new_from_str(&text);
    loop {
        match parser.next_event() {
            None | Some(Ok((Event::StreamEnd, _))) => return trees.read(None),
            Some(Err(error)) => {
                let at = error.marker();
                let span = Span::new(at.line().max(1), at.col() + 1, 0);
                let sentence = format!("it cannot be parsed: {}", error.info());
                return trees.read(Some(refused(span, &sentence)));
            }
            Some(Ok((event, at))) => {
                let span = place(at);
                if let Err(sentence) = trees.take(event, span) {
                    return trees.read(Some(refused(span, sentence)));
                }
            }
        }
    }
}

fn refused(span: Span, sentence: &str) -> Unreadable {
    Unreadable {
        span,
        sentence: sentence.to_owned(),
    }
}

fn place(span: saphyr_parser::Span) -> Span {
    let (start, end) = (span.start, span.end);
    let length = if start.line() == end.line() {
        end.col().saturating_sub(start.col())
    } else {
        0
    };
    Span::new(start.line().max(1), start.col() + 1, length)
}

/// A list or mapping whose end has not come.
struct Open {
    anchor: usize,
    span: Span,
    holds: Holds,
}

enum Holds {
    Items(Vec<Node>),
    Entries(Vec<(Key, Node)>, Option<Key>),
}

#[derive(Default)]
struct Trees {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, (Node, usize)>,
    repeated: usize,
    merges: Vec<Span>,
}

impl Trees {
    fn read(self, unreadable: Option<Unreadable>) -> Read {
        Read {
            documents: self.documents,
            merges: self.merges,
            unreadable,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), &'static str> {
        match event {
            Event::SequenceStart(anchor, _) => self.begin(anchor, span, Holds::Items(Vec::new())),
            Event::MappingStart(anchor, _) => {
                self.begin(anchor, span, Holds::Entries(Vec::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Scalar(text, style, anchor, _) => {
                let quoted = style != ScalarStyle::Plain;
                let text = text.into_owned();
                let value = Value::Scalar { text, quoted };
                self.put(Node { span, value }, anchor)
            }
            Event::Alias(anchor) => {
                let Some((node, size)) = self.anchors.get(&anchor) else {
                    return Err("an alias names an anchor that is not there, or holds itself");
                };
                self.repeated = self.repeated.saturating_add(*size);
                if self.repeated > REPEATED || self.open.len() + depth(node) > DEEPEST {
                    return Err("its aliases repeat too much; a file that is meant repeats less");
                }
                let node = node.clone();
                self.put(node, 0)
            }
            Event::DocumentEnd => {
                self.anchors.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, span: Span, holds: Holds) -> Result<(), &'static str> {
        if self.open.len() >= DEEPEST {
            return Err("it is more than 100 levels deep; no system's configuration is");
        }
        self.open.push(Open {
            anchor,
            span,
            holds,
        });
        Ok(())
    }

    fn end(&mut self, end: Span) -> Result<(), &'static str> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = match open.holds {
            Holds::Items(items) => Value::List(items),
            Holds::Entries(entries, _) => Value::Table(self.merged(entries)?),
        };
        let mut span = open.span;
        // In brackets, and on one line.
        if span.length > 0 && end.line == span.line {
            span.length = (end.column + end.length).saturating_sub(span.column);
        }
        self.put(Node { span, value }, open.anchor)
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), &'static str> {
        if anchor > 0 {
            let size = node.walk().count();
            self.repeated = self.repeated.saturating_add(size / 8);
            if self.repeated > REPEATED {
                return Err("its anchors hold too much; a file that is meant repeats less");
            }
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut().map(|it| &mut it.holds) {
            None if node.is_null() => {}
            None => self.documents.push(node),
            Some(Holds::Items(items)) => items.push(node),
            Some(Holds::Entries(entries, key)) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(named(node)),
            },
        }
        Ok(())
    }

    /// The entries with what `<<` brings: a key that stands there itself wins, and of several merged
    /// mappings the first (yaml.org/type/merge.html).
    fn merged(&mut self, entries: Vec<(Key, Node)>) -> Result<Vec<(Key, Node)>, &'static str> {
        if !entries.iter().any(|(key, _)| key.name == "<<") {
            return Ok(entries);
        }
        let (merges, mut own): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|(key, _)| key.name == "<<");
        for (key, node) in merges {
            self.merges.push(key.span);
            let tables = match node.value {
                Value::List(items) => items,
                _ => vec![node],
            };
            for (key, node) in tables.iter().flat_map(Node::entries) {
                self.repeated = self.repeated.saturating_add(1);
                if self.repeated > REPEATED || own.len() > 10_000 {
                    return Err("its merges repeat too much; a file that is meant repeats less");
                }
                if !own.iter().any(|(it, _)| it.name == key.name) {
                    own.push((key.clone(), node.clone()));
                }
            }
        }
        Ok(own)
    }
}

fn named(node: Node) -> Key {
    let span = node.span;
    let name = match node.value {
        Value::Scalar { text, .. } => text,
        _ => String::new(),
    };
    Key { span, name }
}

/// Bounded itself, because what it looks at is.
fn depth(node: &Node) -> usize {
    let inner = match &node.value {
        Value::Scalar { .. } => return 0,
        Value::List(items) => items.iter().map(depth).max(),
        Value::Table(entries) => entries.iter().map(|(_, it)| depth(it)).max(),
    };
    1 + inner.unwrap_or(0)
}
