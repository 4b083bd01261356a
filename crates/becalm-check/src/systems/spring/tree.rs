//! How do keys with dots, and several documents, become one tree of properties?

use std::collections::HashMap;

use crate::document::{DEEPEST, Key, Node, Span, Value};

/// What a key is called in all of its spellings: `max-attempts`, `maxAttempts` and `MAX_ATTEMPTS`.
fn uniform(name: &str) -> String {
    let mut uniform = String::with_capacity(name.len());
    uniform.extend(letters(name).map(char::from));
    uniform
}

/// Whether a key has this name, in any spelling.
pub fn is_called(key: &Key, name: &str) -> bool {
    !key.name.is_empty() && is_same(&key.name, name)
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    let bytes = name.bytes().filter(u8::is_ascii_alphanumeric);
    bytes.map(|it| it.to_ascii_lowercase())
}

fn is_same(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// The entry of this name, in any spelling.
pub fn entry<'n>(node: &'n Node, name: &str) -> Option<(&'n Key, &'n Node)> {
    let found = node.entries().iter().rfind(|(key, _)| is_called(key, name));
    found.map(|(key, node)| {
        key.asked.set(true);
        (key, node)
    })
}

/// The value of this name, in any spelling.
pub fn get<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    entry(node, name).map(|(_, node)| node)
}

/// What stands at this path of names.
pub fn at<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, name| get(node, name))
}

/// What stands at this path of a document as it is written, or below it in one key: `a.b.c: 1` is below `a.b`.
pub fn found<'n>(node: &'n Node, path: &'n [&'n str]) -> Box<dyn Iterator<Item = &'n Node> + 'n> {
    let below = node.entries().iter().filter_map(move |(key, value)| {
        let mut rest = path;
        for (name, _) in segments(&key.name) {
            let Some((first, left)) = rest.split_first() else {
                break;
            };
            if !is_same(name, first) {
                return None;
            }
            rest = left;
        }
        Some((value, rest))
    });
    let entries = below.flat_map(|(value, rest)| match rest {
        [] => Box::new(std::iter::once(value)) as Box<dyn Iterator<Item = &'n Node>>,
        rest => found(value, rest),
    });
    Box::new(entries)
}

/// The names between the dots of a key, and where each begins. What stands in brackets is one name, dots and all: `[a.b]`, or the
/// place of an item in a list: `a[0]`.
fn segments(key: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut left = Some(0);
    let all = std::iter::from_fn(move || {
        let start = left?;
        let rest = &key[start..];
        let (end, next) = if rest.starts_with('[') {
            let end = rest.find(']').map_or(rest.len(), |it| it + 1);
            (end, end)
        } else {
            let end = rest.bytes().position(|it| matches!(it, b'.' | b'['));
            let end = end.unwrap_or(rest.len());
            (end, end + usize::from(rest[end..].starts_with('.')))
        };
        left = (end < rest.len()).then_some(start + next);
        Some((&rest[..end], start))
    });
    all.filter(|(name, _)| !name.is_empty())
}

/// The place in a list that a name is: 0 of `[0]`.
fn index(name: &str) -> Option<usize> {
    name.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// These documents as one: a later one wins, key by key; a list is taken as a whole.
pub fn merged(documents: &[&Node], span: Span) -> Node {
    let mut all = Branch::default();
    for document in documents {
        all.take(document, 0);
    }
    all.into_node(span)
}

/// So many entries are looked through one by one.
const FEW: usize = 8;

/// A mapping in the making.
#[derive(Default)]
struct Branch {
    /// Where each name is, of more than a few.
    places: HashMap<String, usize>,
    entries: Vec<(Key, Part)>,
}

/// What a key has: a value, or what is below it.
struct Part {
    value: Option<Node>,
    span: Span,
    below: Branch,
}

impl Branch {
    fn take(&mut self, table: &Node, depth: usize) {
        let mut names = Vec::new();
        for (key, value) in table.entries() {
            names.clear();
            names.extend(segments(&key.name));
            let is_path = names.len() > 1 && depth + names.len() <= DEEPEST;
            let (outer, (last, start)) = match names.split_last() {
                Some((last, outer)) if is_path => (outer, *last),
                _ => (&[][..], (&*key.name, 0)),
            };
            let mut branch = &mut *self;
            for (name, start) in outer {
                branch = branch.below(named(key, name, *start), value.span);
            }
            branch.put(named(key, last, start), value, depth + outer.len() + 1);
        }
    }

    fn put(&mut self, key: Key, value: &Node, depth: usize) {
        if value.is_table() {
            self.below(key, value.span).take(value, depth);
        } else {
            let span = value.span;
            *self.part(key, span) = Part {
                value: Some(plain(value, depth)),
                span,
                below: Self::default(),
            };
        }
    }

    fn below(&mut self, key: Key, span: Span) -> &mut Self {
        let part = self.part(key, span);
        part.value = None;
        &mut part.below
    }

    /// Where this name is among the entries, in any spelling, or will be.
    fn place(&mut self, name: &str) -> usize {
        let next = self.entries.len();
        let mut own = self.entries.iter().enumerate();
        if next < FEW {
            let same = own.find(|(_, (key, _))| is_same(&key.name, name));
            return same.map_or(next, |(at, _)| at);
        }
        if self.places.is_empty() {
            self.places = own.map(|(at, (key, _))| (uniform(&key.name), at)).collect();
        }
        *self.places.entry(uniform(name)).or_insert(next)
    }

    /// What has this name, in any spelling; a new one where nothing has.
    fn part(&mut self, key: Key, span: Span) -> &mut Part {
        let next = self.entries.len();
        let at = self.place(&key.name);
        if at == next {
            let part = Part {
                value: None,
                span,
                below: Self::default(),
            };
            if next == 0 {
                // Most have one, and four would be a kilobyte.
                self.entries.reserve_exact(1);
            }
            self.entries.push((key, part));
        } else {
            self.entries[at].0 = key;
        }
        &mut self.entries[at].1
    }

    /// A list where all keys are places in one.
    fn into_node(self, span: Span) -> Node {
        let entries = self.entries.into_iter().map(|(key, part)| {
            let node = part
                .value
                .unwrap_or_else(|| part.below.into_node(part.span));
            (key, node)
        });
        let mut entries: Vec<_> = entries.collect();
        let is_list =
            !entries.is_empty() && entries.iter().all(|(key, _)| index(&key.name).is_some());
        let value = if is_list {
            entries.sort_by_key(|(key, _)| index(&key.name));
            Value::List(entries.into_iter().map(|(_, node)| node).collect())
        } else {
            Value::Table(entries)
        };
        Node { span, value }
    }
}

/// A list whose mappings have no keys with dots, or a scalar.
fn plain(node: &Node, depth: usize) -> Node {
    let item = |it: &Node| {
        let mut branch = Branch::default();
        if it.is_table() {
            branch.take(it, depth + 1);
            branch.into_node(it.span)
        } else {
            plain(it, depth + 1)
        }
    };
    let value = match &node.value {
        Value::List(items) => Value::List(items.iter().map(item).collect()),
        other => other.clone(),
    };
    Node {
        span: node.span,
        value,
    }
}

fn named(key: &Key, name: &str, start: usize) -> Key {
    let mut span = key.span;
    let name = match index(name) {
        Some(_) => name,
        None => name.trim_start_matches('[').trim_end_matches(']'),
    };
    if name.len() < key.name.len() {
        let before = key.name.get(..start).map_or(0, |it| it.chars().count());
        span.column += before;
        span.length = span.length.saturating_sub(before);
    }
    let mut part = Key::new(span, name);
    part.asked = key.asked.clone();
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::documents;

    fn tree(text: &str) -> Node {
        let read = documents(text).documents;
        merged(&read.iter().collect::<Vec<_>>(), Span::new(1, 1, 0))
    }

    fn said<'n>(tree: &'n Node, path: &[&str]) -> Option<&'n str> {
        at(tree, path)?.text()
    }

    #[test]
    fn dots_are_levels_and_spellings_are_the_same() {
        let tree = tree("a.b-c: {d_e: 1}\na:\n  bC.dE: 2\n  \"[x.y]\": 3\n  list: [{p.q: 4}]\n");
        assert_eq!(said(&tree, &["a", "b-c", "dE"]), Some("2"));
        assert_eq!(said(&tree, &["a", "x.y"]), Some("3"));
        let items = at(&tree, &["a", "list"]).unwrap().items();
        assert_eq!(said(&items[0], &["p", "q"]), Some("4"));
        assert_eq!(tree.entries().len(), 1);
        assert_eq!(at(&tree, &["a"]).unwrap().entries().len(), 3);
    }

    #[test]
    fn of_many_names_each_is_found_again() {
        let lines =
            |dash: &'static str| (0..3 * FEW).map(move |at| format!("a{dash}b{at}: {dash}{at}\n"));
        let tree = tree(&lines("").chain(lines("-")).collect::<String>());
        assert_eq!(tree.entries().len(), 3 * FEW);
        for (at, (_, node)) in tree.entries().iter().enumerate() {
            assert_eq!(node.text(), Some(&*format!("-{at}")));
        }
    }

    #[test]
    fn what_stands_in_brackets_is_a_place_in_a_list_or_one_name() {
        let tree = tree("a[1]: {\"b[0]\": x}\n\"a[0].b\": [y]\n\"a[0].c[d.e]\": z\n\"[f.g]\": 1");
        let items = at(&tree, &["a"]).unwrap().items();
        let first = |it: &Node| get(it, "b").unwrap().items()[0].text().map(str::to_owned);
        assert_eq!(
            items.iter().filter_map(first).collect::<Vec<_>>(),
            ["y", "x"]
        );
        assert_eq!(said(&items[0], &["c", "d.e"]), Some("z"));
        assert_eq!(said(&tree, &["f.g"]), Some("1"));
        let read = documents("\"a.b[0].c\": 1").documents;
        assert_eq!(found(&read[0], &["a", "b"]).count(), 1);
    }

    #[test]
    fn what_is_a_value_here_and_a_level_there_is_what_came_last() {
        assert_eq!(said(&tree("a: 1\na.b: 2"), &["a", "b"]), Some("2"));
        assert_eq!(said(&tree("a.b: 2\na: 1"), &["a"]), Some("1"));
    }

    #[test]
    fn a_document_is_searched_as_it_is_written() {
        let read = documents("a.b:\n  c.d: 1\na: {b: {c: 2}}\nab: 3").documents;
        let says = |path: &[&str]| found(&read[0], path).count();
        assert_eq!(says(&["a", "b", "c"]), 2);
        assert_eq!(says(&["a", "b"]), 2);
        assert_eq!(says(&["a", "b", "c", "d", "e"]), 0);
    }

    #[test]
    fn keys_with_very_many_dots_stay_one_name() {
        let key = vec!["a"; 400].join(".");
        assert_eq!(tree(&format!("{key}: 1")).entries()[0].0.name, key);
    }
}
