//! Which tree is a file of Java's properties?
//!
//! As `java.util.Properties` and Spring Boot read it: a document for each part between `#---`, a key with dots for each line.

use super::node::{Asked, Key, Node, Span, Value};
use crate::hints::looks_like_retries;

/// The list that a key is a place of: `a.b` of `a.b[0]`.
fn list(name: &str) -> Option<&str> {
    let (list, place) = name.strip_suffix(']')?.rsplit_once('[')?;
    place.bytes().all(|it| it.is_ascii_digit()).then_some(list)
}

/// The documents of a file.
pub fn documents(text: &str) -> Vec<Node> {
    let mut all: Vec<Vec<(Key, Node)>> = vec![Vec::new()];
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let trimmed = line.trim_start();
        if matches!(trimmed.trim_end(), "#---" | "!---") {
            all.push(Vec::new());
            continue;
        }
        if trimmed.is_empty() || trimmed.starts_with(['#', '!']) {
            continue;
        }
        let mut whole = trimmed.trim_end().to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            match lines.next() {
                Some((_, next)) => whole.push_str(next.trim()),
                None => break,
            }
        }
        let end = whole.find(|c: char| c == '=' || c == ':' || c.is_whitespace());
        let (name, rest) = whole.split_at(end.unwrap_or(whole.len()));
        let value = rest.trim_start();
        let value = value.strip_prefix(['=', ':']).unwrap_or(value).trim_start();
        let column = line.chars().count() - trimmed.chars().count() + 1;
        let key_span = Span::new(at + 1, column, name.chars().count());
        let before = whole.len() - value.len();
        let span = Span::new(
            at + 1,
            column + whole[..before].chars().count(),
            value.chars().count(),
        );
        let mut key = Key::new(key_span, name);
        if looks_like_retries(name) {
            let before = all.last().and_then(|it| it.last());
            let same =
                before.filter(|(it, _)| list(name).is_some_and(|own| list(&it.name) == Some(own)));
            // A reader asks for a list, and not for each of its places.
            key.asked = same.map_or_else(Asked::watched, |(it, _)| it.asked.clone());
        }
        let value = Value::Scalar {
            text: value.to_owned(),
            // A text, whatever it looks like; nothing is none.
            quoted: !value.is_empty(),
        };
        if let Some(entries) = all.last_mut() {
            entries.push((key, Node { span, value }));
        }
    }
    let trees = all.into_iter().filter(|it| !it.is_empty());
    let trees = trees.map(|entries| Node {
        span: entries[0].0.span,
        value: Value::Table(entries),
    });
    trees.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_keys_with_dots() {
        let read = documents("# a\n  a.b = c d\ne:f\n! x\ng \\\n  h\n#---\ni=\n");
        assert_eq!(read.len(), 2);
        let told: Vec<_> = read[0]
            .entries()
            .iter()
            .map(|(key, node)| (&*key.name, node.text(), node.span.line, node.span.column))
            .collect();
        assert_eq!(
            told,
            [
                ("a.b", Some("c d"), 2, 9),
                ("e", Some("f"), 3, 3),
                ("g", Some("h"), 5, 3)
            ]
        );
    }
}
