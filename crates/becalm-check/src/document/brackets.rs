//! Which long values in brackets can be read apart from the rest of a file?
//!
//! A parser of all of YAML needs seconds for a line of 16 MiB. Where such a line ends with a list or a mapping in brackets, the rest is
//! read with a word in its place, and the value by the reader of JSON. The word is found again as a value at that very place only if the
//! brackets were a value there, and no part of a text, a comment or a key.

use foldhash::HashMap;

use super::bounds::DEEPEST;
use super::json;
use super::node::{Node, Value};
use super::yaml::Read;

/// In bytes: shorter lines are soon read with the rest.
const LONG: usize = 4096;

/// Half of the levels are left to the rest of the file.
const DEEP: usize = DEEPEST / 2;

/// What stands in the place of a value.
const WORD: &str = "0";

/// What `read` makes of the text, with long values read apart; `None` where there are none, or the whole must be read at once.
pub fn apart(text: &str, read: impl Fn(&str) -> Read) -> Option<Read> {
    apart_from(text, LONG, read)
}

fn apart_from(text: &str, long: usize, read: impl Fn(&str) -> Read) -> Option<Read> {
    if text.len() < long {
        return None;
    }
    let mut values = Values::default();
    let mut rest = String::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let long = (line.len() >= long).then(|| value(line, at + 1));
        match long.flatten() {
            Some((node, start, end)) => {
                rest.extend([&line[..start], WORD, &line[end..]]);
                values.insert((node.span.line, node.span.column), Some(node));
            }
            None => rest += line,
        }
    }
    if values.is_empty() {
        return None;
    }
    let mut read = read(&rest);
    // A merge of what an alias repeats takes the word.
    let is_put = read.unread.is_empty()
        && read.merges.is_empty()
        && (read.documents.iter_mut()).all(|it| put(it, DEEP, &mut values))
        && values.values().all(Option::is_none);
    is_put.then_some(read)
}

/// The list or mapping with which this long line ends, and its first byte and the one after its last.
fn value(line: &str, number: usize) -> Option<(Node, usize, usize)> {
    let begins = |(at, _): &(usize, &str)| {
        at.checked_sub(1)
            .is_none_or(|it| line.as_bytes()[it] == b' ')
    };
    let (start, _) = line.match_indices(['{', '[']).find(begins)?;
    let (node, end) = json::within(line, start, number, DEEP)?;
    let after = &line[end..];
    let is_end =
        after.trim().is_empty() || after.trim_start().starts_with('#') && after.starts_with(' ');
    (is_end && node.span.line == number).then_some((node, start, end))
}

/// Values by their lines and columns, as long as they are not put back.
type Values = HashMap<(usize, usize), Option<Node>>;

/// Puts each value back in its place; `false` where an alias repeats it, or the file is too deep.
fn put(node: &mut Node, deep: usize, values: &mut Values) -> bool {
    let is_word = matches!(&node.value, Value::Scalar { text, quoted: false } if text == WORD);
    let place = (node.span.line, node.span.column);
    if let Some(value) = values.get_mut(&place).filter(|_| is_word) {
        let Some(value) = value.take() else {
            return false;
        };
        *node = value;
        return true;
    }
    let Some(deep) = deep.checked_sub(1) else {
        return false;
    };
    match &mut node.value {
        Value::Scalar { .. } => true,
        Value::List(items) => items.iter_mut().all(|it| put(it, deep, values)),
        Value::Table(entries) => entries.iter_mut().all(|(_, it)| put(it, deep, values)),
    }
}

#[cfg(test)]
mod tests {
    use becalm::rng::SplitMix64;

    use super::super::comments::blanked;
    use super::super::drawn::Writer;
    use super::super::in_lines;
    use super::super::yaml::{of_yaml, of_yaml_alone};
    use super::*;

    fn read_apart(text: &str) -> Option<Read> {
        apart_from(text, 1, of_yaml_alone)
    }

    #[test]
    fn a_value_has_the_place_that_it_has_in_the_whole() {
        for text in [
            "a:\n  b: [1, {c: 'd'}]\n",
            "# a\n{a: 1}\n",
            "---\n- [1] # b\n- a: {}\n---\n[2]",
            "é: [1]\nb: &x [2]\nc: !t {d: 3}",
            "a: 0\nb:\n- 0\n-\n  [0]",
        ] {
            let apart = read_apart(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(apart.documents, of_yaml(text, text).documents, "{text}");
        }
    }

    #[test]
    fn what_is_no_value_of_its_own_is_read_with_the_rest() {
        for text in [
            "a: 1",
            "a: [1\n ]",
            "a: |\n  [1]",
            "a: 'b\n  [1]'",
            "a: b\n  [1]",
            "a: [1]\n  b",
            "# [1]",
            "a: b # [1]",
            "? [1]\n: 2",
            "[1]: 2",
            "a: &x [1]\nb: *x",
            "a: &x {b: 1}\n<<: *x",
            "<<: {b: 1}",
            "a: [1] b",
            "a: [1]\n b: 2",
        ] {
            assert!(read_apart(text).is_none(), "{text}");
        }
        let deep = |levels: usize| "- ".repeat(levels) + "[1]";
        assert!(read_apart(&deep(DEEP)).is_some() && read_apart(&deep(DEEP + 1)).is_none());
    }

    /// What stands before a value, and behind it.
    const BEFORE: [&str; 16] = [
        "- ", "- ", "a: ", "a: ", "b: ", "c: ", "- a: ", "", "? ", "b: &x ", "c: *x ", "d: | ",
        "'q ", "# ", "<<: ", "!t ",
    ];
    const AFTER: [&str; 8] = ["\n", "\n", "\n", "\n", " # c\n", ",\n", "]\n", ":\n"];

    #[test]
    fn what_is_read_apart_yaml_reads_so() {
        let mut writer = Writer(SplitMix64::new(1));
        let (mut read, mut left) = (0, 0);
        for at in 0..40_000 {
            let mut text = String::new();
            for _ in 0..writer.below(5) {
                text += writer.one_of(&["", "", "", "  ", "  ", "    ", "\n", "---\n"]);
                text += writer.one_of(&BEFORE);
                text += &match writer.below(3) {
                    0 => String::new(),
                    _ => writer
                        .value(2)
                        .replace('\n', writer.one_of(&["", "", "\n"])),
                };
                text += writer.one_of(&AFTER);
            }
            if at % 3 == 0 {
                text = writer.corrupted(&text);
            }
            let text = in_lines(&text);
            let blank = blanked(&text);
            let Some(apart) = read_apart(&blank) else {
                left += 1;
                continue;
            };
            read += 1;
            let whole = of_yaml(&text, &blank);
            assert!(whole.unread.is_empty(), "{text:?}");
            assert_eq!(apart.documents, whole.documents, "{text:?}");
        }
        assert!(read > 500 && left > 10_000, "{read} {left}");
    }
}
