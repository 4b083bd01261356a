//! Which tree is a file of TOML?

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::node::{Asked, Key, Node, Span, Value};
use crate::hints::looks_like_retries;

/// The tree of a file, in the order of the file; `None` of what is none.
pub fn document(text: &str) -> Option<Node> {
    let table = DeTable::parse(text).ok()?;
    let places = Places::of(text);
    let span = places.span(&(0..0));
    Some(Node {
        span,
        value: entries(table.get_ref(), &places),
    })
}

fn entries(table: &DeTable<'_>, places: &Places<'_>) -> Value {
    let mut all: Vec<_> = table.iter().collect();
    all.sort_by_key(|(key, _)| key.span().start);
    let entries = all.into_iter().map(|(key, value)| {
        let name = key.get_ref().to_string();
        let mut own = Key::new(places.span(&key.span()), name);
        if looks_like_retries(&own.name) {
            own.asked = Asked::watched();
        }
        (own, node(value.get_ref(), &value.span(), places))
    });
    Value::Table(entries.collect())
}

/// The parser bounds how deep it is.
fn node(value: &DeValue<'_>, at: &Range<usize>, places: &Places<'_>) -> Node {
    let value = match value {
        DeValue::Table(table) => entries(table, places),
        DeValue::Array(items) => {
            let items = items.iter();
            let items = items.map(|it| node(it.get_ref(), &it.span(), places));
            Value::List(items.collect())
        }
        DeValue::String(text) => Value::Scalar {
            text: text.to_string(),
            quoted: true,
        },
        _ => Value::Scalar {
            text: places.text.get(at.clone()).unwrap_or_default().to_owned(),
            quoted: false,
        },
    };
    let span = places.span(at);
    Node { span, value }
}

/// Where a byte of a text stands.
struct Places<'t> {
    text: &'t str,
    /// The first byte of each line.
    lines: Vec<usize>,
    /// Characters before each block, so that a long line is not counted from its beginning for each key.
    chars: Vec<usize>,
}

const BLOCK: usize = 1024;

impl<'t> Places<'t> {
    fn of(text: &'t str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut count = 0;
        let blocks = text.as_bytes().chunks(BLOCK).map(|block| {
            let before = count;
            count += begun(block);
            before
        });
        Self {
            text,
            lines: std::iter::once(0).chain(ends).collect(),
            chars: blocks.collect(),
        }
    }

    fn span(&self, at: &Range<usize>) -> Span {
        let line = self.lines.partition_point(|it| *it <= at.start).max(1);
        let column = self.before(at.start) - self.before(self.lines[line - 1]) + 1;
        let length = self.before(at.end) - self.before(at.start);
        Span::new(line, column, length)
    }

    /// Characters before this byte.
    fn before(&self, at: usize) -> usize {
        let block = at / BLOCK;
        let before = self.chars.get(block).copied().unwrap_or_default();
        let bytes = self.text.as_bytes().get(block * BLOCK..at);
        before + bytes.map_or(0, begun)
    }
}

/// Characters that begin in these bytes.
fn begun(bytes: &[u8]) -> usize {
    bytes.iter().filter(|it| **it & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_know_their_places() {
        let text = "\"é\" = 1\n[a.b]\nretry = {c = [\"x\", true]} # y\n[[a.d]]\ne = '''\nz'''\n";
        let read = document(text).unwrap();
        let place = |path: &[&str]| read.at(path).map(|it| (it.span.line, it.span.column));
        assert_eq!(place(&["é"]), Some((1, 7)));
        assert_eq!(place(&["a", "b", "retry", "c"]), Some((3, 14)));
        let list = read.list(&["a", "b", "retry", "c"]);
        let texts: Vec<_> = list.iter().map(Node::text).collect();
        assert_eq!(texts, [Some("x"), Some("true")]);
        assert_eq!(
            read.list(&["a", "d"])[0].get("e").and_then(Node::text),
            Some("z")
        );
        let (key, _) = read.at(&["a", "b"]).unwrap().entry("retry").unwrap();
        assert_eq!(
            (key.span, key.asked.get()),
            (Span::new(3, 1, 5), Some(true))
        );
        assert!(document("a = ").is_none());
    }

    #[test]
    fn a_long_line_is_not_counted_from_its_beginning() {
        let text = format!("a = [{}]\n", "{é = 1}, ".replace('é', "\"é\"").repeat(3000));
        let read = document(&text).unwrap();
        let last = read.list(&["a"]).last().unwrap();
        assert_eq!(last.span, Span::new(1, 6 + 2999 * 11, 9));
    }
}
