//! Which files does a file hold, a `ConfigMap` or a record of DNS, and what is found in them?
//!
//! Each value of its `data` is a file by the name of its key; they are read together, as the container that mounts them does. What
//! is found keeps its place in the outer file where the value is a literal block (`|`), and has the place of its key elsewhere.

use std::collections::{HashMap, HashSet};

use crate::checked::Checked;
use crate::code;
use crate::document::{Key, Node, Span, Value};
use crate::file::File;
use crate::finding::Finding;
use crate::kept::More;
use crate::mapping::Origin;
use crate::parsed::{FILES, is_named, sets_nothing};
use crate::severity::Severity;
use crate::template;
use crate::unread;

/// What was read within a resource.
#[derive(Default)]
pub struct Within {
    /// Whether there is anything that a system reads, or that looks like retries.
    pub is_any: bool,
    /// The keys of the files that a system reads, and of those with findings.
    pub known: HashSet<Span>,
}

/// Has the files of a resource that holds files checked.
pub fn read(
    file: &str,
    lines: &[&str],
    tree: &Node,
    check: impl FnOnce(&[File<'_>]) -> Checked,
    found: &mut Checked,
) -> Within {
    if !is_config_map(tree) {
        return Within::default();
    }
    let data = tree.get("data").map_or(&[][..], Node::entries);
    let held: Vec<_> = data.iter().filter_map(|it| Held::of(it, lines)).collect();
    let mut known: HashSet<_> = held.iter().map(|it| it.key).collect();
    let check = |files: &[File<'_>]| {
        let mut inner = check(files);
        let silent = soften(files, &mut inner);
        let unknown = inner.findings.iter();
        let unknown = unknown.filter(|it| it.code == code::UNKNOWN_SYSTEM.name);
        let unknown: HashSet<_> = unknown.map(|it| &*it.file).collect();
        let says_nothing = |it: &&Held<'_>| unknown.contains(it.name) || silent.contains(it.name);
        for it in held.iter().filter(says_nothing) {
            known.remove(&it.key);
        }
        inner
    };
    let is_any = of_held(file, &held, check, found);
    let scripts = data.iter().filter(|it| is_script(it));
    known.extend(scripts.map(|(key, _)| key.span));
    Within { is_any, known }
}

/// The files of resources in which nothing is of a system that is read, as far as their names say that they are some.
pub fn named(trees: &[Node]) -> String {
    let maps = trees.iter().filter(|it| is_config_map(it));
    let data = maps.filter_map(|it| it.get("data")).flat_map(Node::entries);
    let is_file = |name: &str| FILES.iter().any(|it| is_named(File::new(name, ""), it));
    let mut names = data.map(|(key, _)| &*key.name).filter(|it| is_file(it));
    let first = names.next();
    first.map_or_else(String::new, |first| match names.count() {
        0 => format!(", nor is its `{first}`"),
        more => format!(", nor is its `{first}`, nor {more} more"),
    })
}

/// The file around a text that cannot be parsed is fine. Such a text is searched for words of retries, and it is
/// told as unreadable only if its name says that it is YAML. Returns the files that have no finding after that.
fn soften(files: &[File<'_>], inner: &mut Checked) -> HashSet<String> {
    let is_broken = |it: &Finding| it.code == code::CANNOT_READ.name;
    let (mut silent, mut broken, mut told) = (HashSet::new(), HashSet::new(), HashSet::new());
    for it in &inner.findings {
        if is_broken(it) {
            silent.insert(it.file.clone());
            if it.severity == Severity::Error {
                broken.insert(it.file.clone());
            }
        } else if it.code == code::RETRIES_NOT_READ.name {
            told.insert(it.file.clone());
        }
    }
    for it in files {
        if broken.contains(it.name) && !told.contains(it.name) {
            unread::of_text(it.name, it.text, &mut inner.findings);
        }
    }
    let is_named = |name: &str| FILES.iter().any(|it| is_named(File::new(name, ""), it));
    (inner.findings).retain(|it| !is_broken(it) || is_named(&it.file));
    for it in inner.findings.iter_mut().filter(|it| is_broken(it)) {
        it.severity = Severity::Note;
    }
    for it in inner
        .more
        .iter_mut()
        .filter(|it| it.code == code::CANNOT_READ.name)
    {
        it.severity = Severity::Note;
    }
    for it in &inner.findings {
        silent.remove(&it.file);
    }
    silent
}

/// How many files are read each within the other: a text is read once more for each of those around it.
pub const MOST_WITHIN: u8 = 4;

/// Tells of each of these that it is not read.
pub fn too_deep(files: &[File<'_>]) -> Checked {
    let mut found = Checked::default();
    for it in files {
        let sentence =
            format!("a file within {MOST_WITHIN} others, each within the other, is not read");
        let remedy = "check what it holds by itself";
        let begin = Span::new(1, 1, 0);
        found.push(Finding::new(
            it.name,
            begin,
            code::NOT_KNOWN,
            sentence,
            remedy,
        ));
        unread::of_text(it.name, it.text, &mut found.findings);
    }
    found
}

fn is_config_map(tree: &Node) -> bool {
    tree.get("kind").and_then(Node::text) == Some("ConfigMap")
}

/// Has the service configs of gRPC checked that TXT records hold: those of a zone, or of a tool that makes one. A record holds no
/// other, and those of a `ConfigMap` are found in its files.
pub fn records(
    file: &str,
    text: &str,
    trees: &[Node],
    check: impl FnOnce(&[File<'_>]) -> Checked,
    found: &mut Checked,
) -> bool {
    if file.ends_with(OF_RECORD) {
        return false;
    }
    let (mut line, mut from, mut begin, mut until) = (1, 0, 0, 0);
    let mut records = Vec::new();
    for (at, _) in text.match_indices(RECORD).take(RECORDS) {
        let between = &text[from..at];
        line += between.matches('\n').count();
        begin = between.rfind('\n').map_or(begin, |it| from + it + 1);
        from = at;
        let before = text[begin..at].trim_start();
        let is_comment = COMMENTS.iter().any(|it| before.starts_with(it));
        let next = trees.partition_point(|it| it.span.line <= line);
        let within = next.checked_sub(1).map(|it| &trees[it]);
        if at < until || is_comment || within.is_some_and(is_config_map) {
            continue;
        }
        if let Some(json) = record(text, at) {
            until = at + RECORD.len() + json.len();
            let name = format!("{at}{OF_RECORD}");
            let span = Span::new(
                line,
                text[begin..at].chars().take(LONGEST).count() + 1,
                RECORD.len(),
            );
            records.push((name, json, span));
        }
    }
    let held = records.iter().map(|(name, text, key)| Held {
        name,
        text,
        key: *key,
        block: None,
    });
    of_held(file, &held.collect::<Vec<_>>(), check, found)
}

/// How the names of what records hold end.
const OF_RECORD: &str = ".grpc_config.json";

/// How a TXT record begins that holds a service config (gRFC A2).
const RECORD: &str = "grpc_config=";

/// How a line begins that is a comment: of a zone, of YAML, and two of Terraform.
const COMMENTS: [&str; 4] = [";", "#", "//", "/*"];

/// How many records of a file are read, and how long each may be: that of DNS has at most 64 KiB.
const RECORDS: usize = 1000;
const LONGEST: usize = 1 << 17;

/// The list of a record that begins here. Quotes of a record within a text (`CloudFormation`, `kubectl get -o json`) are escaped
/// twice.
fn record(text: &str, at: usize) -> Option<String> {
    let (before, rest) = (&text[..at], &text[at + RECORD.len()..]);
    if before.ends_with("\\\"") {
        let mut inner = String::new();
        let mut chars = rest.chars().take(LONGEST);
        while let Some(c) = chars.next().filter(|it| *it != '"') {
            inner.push(if c == '\\' { chars.next()? } else { c });
        }
        return list_of(&inner, true);
    }
    list_of(rest, before.ends_with('"'))
}

/// The list that begins here: without the quotes that a zone puts around each 255 bytes.
fn list_of(text: &str, is_quoted: bool) -> Option<String> {
    let mut json = String::new();
    let (mut depth, mut is_text, mut is_outside) = (0_usize, false, false);
    let mut chars = text.chars().take(LONGEST);
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' if is_quoted => chars.next()?,
            '"' if is_quoted => {
                is_outside = !is_outside;
                continue;
            }
            c if is_outside && (c.is_whitespace() || "(),".contains(c)) => continue,
            _ if is_outside => return None,
            c => c,
        };
        json.push(c);
        match c {
            '"' => is_text = !is_text,
            '[' if !is_text => depth += 1,
            ']' if !is_text => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(json).filter(|it| it.len() > 1);
        }
    }
    None
}

fn of_held(
    file: &str,
    held: &[Held<'_>],
    check: impl FnOnce(&[File<'_>]) -> Checked,
    found: &mut Checked,
) -> bool {
    if held.is_empty() {
        return false;
    }
    let files: Vec<_> = held.iter().map(|it| File::new(it.name, it.text)).collect();
    let mut inner = check(&files);
    inner
        .findings
        .retain(|it| it.code != code::UNKNOWN_SYSTEM.name);
    let mut places = HashMap::new();
    for it in held {
        places.entry(it.name).or_insert(it);
    }
    let place = |name: &str| places.get(name);
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
    found.take_inner(&mut inner);
    for more in &inner.more {
        let kind = (more.code, more.severity);
        let place = place(&more.file).map_or(more.span, |it| it.key);
        More::add(
            &mut found.more,
            kind,
            [more.findings, more.places],
            (file, place),
        );
    }
    is_any
}

/// How the names of programs end, which set nothing.
const SCRIPTS: [&str; 11] = [
    ".sh", ".bash", ".py", ".lua", ".js", ".rb", ".pl", ".go", ".java", ".ts", ".php",
];

/// Whether it is a program or prose, which set nothing.
fn is_script((key, value): &(Key, Node)) -> bool {
    let begins = value.text().is_some_and(|it| it.starts_with("#!"));
    begins
        || sets_nothing(File::new(&key.name, ""))
        || SCRIPTS.iter().any(|it| key.name.ends_with(it))
}

/// Whether a text of one line is a file, and no value: by its name, or as JSON.
fn is_file(name: &str, text: &str) -> bool {
    let text = text.trim();
    let is_json = text.starts_with('{') && text.ends_with('}')
        || text.starts_with('[') && text.ends_with(']');
    let file = File::new(name, text);
    let is_known = FILES.iter().any(|ends| is_named(file, ends)) || is_named(file, &[".env"]);
    (is_json || is_known) && template::first(text).is_none()
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
    fn of(entry: &'a (Key, Node), outer: &[&str]) -> Option<Self> {
        let (key, value) = entry;
        let Value::Scalar { text, .. } = &value.value else {
            return None;
        };
        if !(text.contains('\n') || is_file(&key.name, text)) || is_script(entry) {
            return None;
        }
        let line = outer.get(key.span.line - 1).map_or("", |it| it.trim_end());
        let is_literal = line.ends_with(['|', '-', '+']) && line.contains('|');
        let first = text.lines().position(|it| !it.trim().is_empty())?;
        let indent = |line: &str| line.chars().take_while(|it| *it == ' ').count();
        let own = indent(text.lines().nth(first)?);
        let block = outer
            .get(key.span.line + first)
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
