//! Which trees does a file of YAML or JSON hold?
//!
//! The parser's events are gathered here, so that depth, size and what aliases repeat are bounded before anything recurses. A
//! document that cannot be read leaves the others as they are.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle, ScanError};

use super::bounds::DEEPEST;
use super::brackets;
use super::comments::blanked;
use super::json;
use super::node::{Key, Names, Node, Span, Value};
use super::yaml_1_1::{Older, Places};
use crate::hints::holds_retries;
use crate::template;

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
    /// The documents that are no tree.
    pub unread: Vec<Unread>,
}

/// A document that is no YAML, too deep, too large, or a template.
#[derive(Debug, Clone)]
pub struct Unread {
    pub why: Unreadable,
    /// Where a tool is to fill it in.
    pub template: Option<Span>,
    /// Whether it has a word that looks like retries.
    pub holds_retries: bool,
}

/// The documents of a file.
pub fn documents(text: &str) -> Read {
    let blank = blanked(text);
    if let Some(tree) = json::document(&blank) {
        return Read {
            documents: vec![tree],
            ..Read::default()
        };
    }
    let read = |text: &str, blank: &str| {
        brackets::apart(blank, of_yaml_alone).unwrap_or_else(|| of_yaml(text, blank))
    };
    let own = read(text, &blank);
    if own.unread.is_empty() || matches!(blank, Cow::Borrowed(_)) {
        return own;
    }
    // What looked like comments may be words.
    Some(read(text, text))
        .filter(|it| it.unread.is_empty())
        .unwrap_or(own)
}

/// Those of a text of YAML 1.2 without comments of JSON.
pub(super) fn of_yaml_alone(text: &str) -> Read {
    parsed(text, text, &Places::default()).0
}

/// Those of a text that may be all of YAML, which is `blank` without comments.
pub(super) fn of_yaml(text: &str, blank: &str) -> Read {
    let (read, mut refusals) = parsed(text, blank, &Places::default());
    let mut is_older = Older::is_older(text);
    if read.unread.is_empty() || !(is_older || Older::may_mend(&refusals, blank)) {
        return read;
    }
    let mut best = read;
    let mut older = Older::new(blank);
    while is_older || older.mend(&refusals) {
        is_older = false;
        let (read, now) = parsed(text, &older.text(), &older.places(text));
        refusals = now;
        if read.unread.len() < best.unread.len() {
            best = read;
        }
    }
    best
}

/// The documents of `shown`, whose places are those of `text`, and what the parser refused.
fn parsed(text: &str, shown: &str, places: &Places) -> (Read, Vec<ScanError>) {
    let options = granit_parser::options! { bom_inside_document_as_content: true };
    let mut parser = Parser::new_from_str_with_options(shown, options);
    let mut trees = Trees::default();
    let mut broken = Vec::new();
    let mut refusals = Vec::new();
    loop {
        let why = match parser.next_event() {
            None | Some(Ok((Event::StreamEnd, _))) => break,
            Some(Ok((event, at))) => {
                let at = places.of(place(at));
                match trees.take(event, at) {
                    Ok(()) => continue,
                    Err(sentence) => refused(at, sentence),
                }
            }
            Some(Err(error)) => {
                let at = error.marker();
                let span = places.of(Span::new(at.line().max(1), at.col() + 1, 0));
                let sentence = format!("it cannot be parsed: {}", error.info());
                refusals.push(error);
                refused(span, &sentence)
            }
        };
        broken.push((trees.abandon(why.span.line), why));
        if !matches!(parser.proceed_next_document(), Ok(true)) {
            break;
        }
    }
    (trees.read(text, broken), refusals)
}

fn refused(span: Span, sentence: &str) -> Unreadable {
    Unreadable {
        span,
        sentence: sentence.to_owned(),
    }
}

fn place(span: granit_parser::Span) -> Span {
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
    /// The first line of each document, and how many documents were there before it.
    starts: Vec<(usize, usize)>,
    /// Where a mapping in braces is the key of another: in a file that is meant, a template.
    doubled: Vec<Span>,
    is_within: bool,
    names: Names,
}

impl Trees {
    /// Forgets the document that is open, or begins at this line, and returns its number.
    fn abandon(&mut self, line: usize) -> usize {
        if !std::mem::take(&mut self.is_within) {
            self.starts.push((line, self.documents.len()));
        }
        let number = self.starts.len() - 1;
        self.documents.truncate(self.starts[number].1);
        self.open.clear();
        self.anchors.clear();
        number
    }

    fn read(mut self, text: &str, mut broken: Vec<(usize, Unreadable)>) -> Read {
        let number = |line: usize| self.starts.partition_point(|it| it.0 <= line).max(1) - 1;
        let mut gone = Vec::new();
        let lines: Vec<&str> = match (&broken[..], &self.doubled[..]) {
            ([], []) => Vec::new(),
            _ => text.split('\n').collect(),
        };
        let mut is_broken: HashSet<_> = broken.iter().map(|it| it.0).collect();
        for span in &self.doubled {
            let line = lines.get(span.line - 1).copied().unwrap_or_default();
            let of = number(span.line);
            if !is_broken.contains(&of) && template::begins(line, span.column - 1) {
                is_broken.insert(of);
                broken.push((of, refused(*span, "it is a template")));
                gone.push(of);
            }
        }
        broken.sort_by_key(|(number, _)| *number);
        let unread = broken.into_iter().map(|(number, why)| {
            let first = if number == 0 {
                0
            } else {
                self.starts[number].0 - 1
            };
            let end = self
                .starts
                .get(number + 1)
                .map_or(lines.len(), |it| it.0 - 1);
            let text = lines.get(first..end).unwrap_or_default().join("\n");
            let template = template::first(&text).map(|mut span| {
                span.line += first;
                span
            });
            Unread {
                why,
                template,
                holds_retries: holds_retries(&text),
            }
        });
        let unread = unread.collect();
        if !gone.is_empty() {
            let ends = self.starts.iter().skip(1).map(|it| it.1);
            let ends: Vec<_> = ends.chain([self.documents.len()]).collect();
            let mut gone = gone
                .iter()
                .map(|of| self.starts[*of].1..ends[*of])
                .peekable();
            let mut at = 0;
            self.documents.retain(|_| {
                while gone.next_if(|it| it.end <= at).is_some() {}
                at += 1;
                gone.peek().is_none_or(|it| at <= it.start)
            });
        }
        Read {
            documents: self.documents,
            merges: self.merges,
            unread,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), &'static str> {
        match event {
            Event::DocumentStart(..) => {
                self.starts.push((span.line, self.documents.len()));
                self.is_within = true;
                Ok(())
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(anchor, span, Holds::Items(Vec::new()))
            }
            Event::MappingStart(_, anchor, _) => {
                let is_within = |outer: &&Open| {
                    matches!(outer.holds, Holds::Entries(_, None))
                        && (outer.span.line, outer.span.column + 1) == (span.line, span.column)
                };
                let outer = self.open.last().filter(is_within).map(|it| it.span);
                self.doubled.extend(outer);
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
                self.is_within = false;
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
            Holds::Items(mut items) => {
                items.shrink_to_fit();
                Value::List(items)
            }
            Holds::Entries(entries, _) => {
                let mut entries = self.merged(entries)?;
                entries.shrink_to_fit();
                Value::Table(entries)
            }
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
                None => *key = Some(self.names.key(node)),
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
        let mut names: HashSet<_> = own.iter().map(|(key, _)| key.name.clone()).collect();
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
                if names.insert(key.name.clone()) {
                    own.push((key.clone(), node.clone()));
                }
            }
        }
        Ok(own)
    }
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
