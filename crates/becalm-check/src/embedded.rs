//! Which files does a `ConfigMap` hold, and what is found in them?
//!
//! Each value of its `data` is a file by the name of its key; they are read together, as the container that mounts them does. What
//! is found keeps its place in the outer file where the value is a literal block (`|`), and has the place of its key elsewhere.

use crate::checked::Checked;
use crate::code;
use crate::document::{Key, Node, Span, Value};
use crate::file::File;
use crate::mapping::Origin;

/// Has the files of a resource that holds files checked; whether there is anything that a system reads, or that looks like retries.
pub fn read(
    file: &str,
    text: &str,
    tree: &Node,
    check: impl FnOnce(&[File<'_>]) -> Checked,
    found: &mut Checked,
) -> bool {
    if tree.get("kind").and_then(Node::text) != Some("ConfigMap") {
        return false;
    }
    let data = tree.get("data").map_or(&[][..], Node::entries);
    let held: Vec<_> = data.iter().filter_map(|it| Held::of(it, text)).collect();
    let files: Vec<_> = held.iter().map(|it| File::new(it.name, it.text)).collect();
    let mut inner = check(&files);
    inner
        .findings
        .retain(|it| it.code != code::UNKNOWN_SYSTEM.name);
    let place = |name: &str| held.iter().find(|it| it.name == name);
    for finding in &mut inner.findings {
        if let Some(held) = place(&finding.file) {
            held.put(&mut finding.span);
            file.clone_into(&mut finding.file);
        }
    }
    for mapping in &mut inner.mappings {
        if let Some(held) = place(&mapping.file) {
            held.put(&mut mapping.span);
            for (_, origin) in &mut mapping.origins {
                if let Origin::Line(span) | Origin::Derived(span, _) | Origin::Unknown(span, _) =
                    origin
                {
                    held.put(span);
                }
            }
            let lost = mapping.lost.iter_mut().filter_map(|it| it.span.as_mut());
            lost.for_each(|span| held.put(span));
            file.clone_into(&mut mapping.file);
        }
    }
    let is_any = !inner.findings.is_empty() || !inner.mappings.is_empty();
    found.findings.append(&mut inner.findings);
    found.mappings.append(&mut inner.mappings);
    is_any
}

/// A file within a file.
struct Held<'a> {
    name: &'a str,
    text: &'a str,
    key: Span,
    /// The line of the outer file before its first, and its columns there.
    block: Option<(usize, usize)>,
}

impl<'a> Held<'a> {
    fn of((key, value): &'a (Key, Node), outer: &str) -> Option<Self> {
        let Value::Scalar { text, .. } = &value.value else {
            return None;
        };
        if !text.contains('\n') {
            return None;
        }
        let mut lines = outer.lines().skip(key.span.line - 1);
        let is_literal = lines
            .next()
            .is_some_and(|it| it.trim_end().ends_with(['|', '-', '+']) && it.contains('|'));
        let first = text.lines().position(|it| !it.trim().is_empty())?;
        let indent = |line: &str| line.chars().take_while(|it| *it == ' ').count();
        let own = indent(text.lines().nth(first)?);
        let block = lines
            .nth(first)
            .map(|it| (key.span.line, indent(it).saturating_sub(own)));
        Some(Self {
            name: &key.name,
            text,
            key: key.span,
            block: block.filter(|_| is_literal),
        })
    }

    /// Moves a place of this file to the outer one.
    fn put(&self, span: &mut Span) {
        match self.block {
            Some((line, indent)) => {
                span.line += line;
                span.column += indent;
            }
            None => *span = self.key,
        }
    }
}
