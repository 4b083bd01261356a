//! What of a reading stands in the file that its own lies on top of?
//!
//! A system may read two files as one tree. The spans of the lower one's nodes follow the last line of the upper one, so that each
//! finding and each key still knows its place, and go back to their own file at the end.

use crate::document::{Node, Span, Value};
use crate::finding::Finding;
use crate::mapping::{Mapping, Origin};

/// The file below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Below<'a> {
    file: &'a str,
    /// Lines of the file on top.
    lines: usize,
}

impl<'a> Below<'a> {
    /// A file of this name below one with this text.
    pub fn new(file: &'a str, text: &str) -> Self {
        Self {
            file,
            lines: text.lines().count() + 1,
        }
    }

    /// A tree of the file below, with its spans behind the file on top.
    pub fn tree(&self, node: &Node) -> Node {
        let value = match &node.value {
            Value::List(items) => Value::List(items.iter().map(|it| self.tree(it)).collect()),
            Value::Table(entries) => {
                let entries = entries.iter().map(|(key, it)| {
                    let mut key = key.clone();
                    key.span.line += self.lines;
                    (key, self.tree(it))
                });
                Value::Table(entries.collect())
            }
            scalar @ Value::Scalar { .. } => scalar.clone(),
        };
        let mut span = node.span;
        span.line += self.lines;
        Node { span, value }
    }

    /// Gives a finding back to its file.
    pub fn settle(&self, finding: &mut Finding) {
        if let Some(span) = self.own(finding.span) {
            finding.span = span;
            self.file.clone_into(&mut finding.file);
        }
    }

    /// Names the file where a mapping of the file on top, which begins there, comes from it.
    pub fn name(&self, mapping: &mut Mapping, start: Span) {
        let at = match self.own(mapping.span) {
            Some(_) => start,
            None => mapping.span,
        };
        mapping.span = at;
        let file = self.file;
        for (_, origin) in &mut mapping.origins {
            let (Origin::Line(span) | Origin::Derived(span, _) | Origin::Unknown(span, _)) = origin
            else {
                continue;
            };
            if let Some(span) = self.own(*span) {
                *origin = std::mem::replace(origin, Origin::Default).of_file(file, span, at);
            }
        }
        for lost in &mut mapping.lost {
            if let Some(span) = lost.span.and_then(|it| self.own(it)) {
                lost.is_of_file(file, span);
            }
        }
    }

    /// The place in the file below.
    fn own(&self, mut span: Span) -> Option<Span> {
        span.line = span.line.checked_sub(self.lines).filter(|it| *it > 0)?;
        Some(span)
    }
}
