//! Which tree is a text, if it is JSON, or YAML in brackets?
//!
//! JSON is YAML, whose parser needs ten times as long for it. What is read here has the tree that YAML gives it: JSON with plain words,
//! and keys at the margin with a value each that ends on their line. All else is left to YAML: comments, a comma at an end, templates,
//! anchors, words with a blank, and what the two read otherwise.

use super::bounds::DEEPEST;
use super::node::{Key, Names, Node, Span, Value};

/// The tree of a text that is a list or a mapping.
pub fn document(text: &str) -> Option<Node> {
    let mut left = Left {
        text,
        at: 0,
        line: 1,
        begins: 0,
        wide: 0,
        names: Names::default(),
    };
    if left.next()?.is_ascii_alphabetic() {
        return left.lines();
    }
    left.blank();
    let node = match left.next()? {
        b'{' | b'[' => left.value(DEEPEST)?,
        _ => return None,
    };
    left.blank();
    (left.at == text.len()).then_some(node)
}

/// The longest word that is read: YAML has no keys of more than 1,024 letters.
const LONGEST: usize = 500;

/// What is left of a text.
struct Left<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    /// Where its line begins, and how many bytes since then are no character of their own.
    begins: usize,
    wide: usize,
    names: Names,
}

impl Left<'_> {
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    fn blank(&mut self) {
        while let Some(byte @ (b' ' | b'\t' | b'\r' | b'\n')) = self.next() {
            self.at += 1;
            if byte == b'\n' {
                self.line += 1;
                self.begins = self.at;
                self.wide = 0;
            }
        }
    }

    fn column(&self) -> usize {
        self.at - self.begins - self.wide + 1
    }

    /// The place from there to here.
    fn since(&self, (line, column): (usize, usize)) -> Span {
        let is_of_line = line == self.line;
        Span::new(
            line,
            column,
            if is_of_line {
                self.column() - column
            } else {
                1
            },
        )
    }

    /// Lines of a key and its value.
    fn lines(&mut self) -> Option<Node> {
        let mut entries = Vec::new();
        while self.at < self.text.len() {
            let line = self.line;
            let key = self.plain_key()?;
            entries.push((key, self.value(DEEPEST - 1)?));
            if line != self.line || !matches!(self.next(), None | Some(b'\n')) {
                return None;
            }
            self.blank();
            // An empty line, or an indent.
            if self.next().is_some() && (self.line, self.column()) != (line + 1, 1) {
                return None;
            }
        }
        entries.shrink_to_fit();
        let span = Span::new(1, 1, 0);
        let value = Value::Table(entries);
        Some(Node { span, value })
    }

    fn value(&mut self, deep: usize) -> Option<Node> {
        let start = (self.line, self.column());
        let value = match self.next()? {
            b'{' => Value::Table(self.listed(b'}', deep, Self::entry)?),
            b'[' => Value::List(self.listed(b']', deep, Self::value)?),
            b'"' => Value::Scalar {
                text: self.string()?,
                quoted: true,
            },
            _ => Value::Scalar {
                text: self.word()?,
                quoted: false,
            },
        };
        let span = self.since(start);
        Some(Node { span, value })
    }

    /// What stands up to this bracket, with a comma after each but the last.
    fn listed<T>(
        &mut self,
        end: u8,
        deep: usize,
        read: impl Fn(&mut Self, usize) -> Option<T>,
    ) -> Option<Vec<T>> {
        let deep = deep.checked_sub(1)?;
        let mut all = Vec::new();
        self.at += 1;
        self.blank();
        if self.take(end).is_some() {
            return Some(all);
        }
        loop {
            all.push(read(self, deep)?);
            self.blank();
            if self.take(end).is_some() {
                all.shrink_to_fit();
                return Some(all);
            }
            self.take(b',')?;
            self.blank();
        }
    }

    fn entry(&mut self, deep: usize) -> Option<(Key, Node)> {
        let key = match self.next()? {
            b'"' => self.quoted_key()?,
            _ => self.plain_key()?,
        };
        self.blank();
        Some((key, self.value(deep)?))
    }

    fn quoted_key(&mut self) -> Option<Key> {
        let start = (self.line, self.column());
        let text = self.string()?;
        let span = self.since(start);
        if text == "<<" {
            return None;
        }
        self.blank();
        self.take(b':')?;
        Some(self.key(span, text, true))
    }

    /// A word, a colon and a blank.
    fn plain_key(&mut self) -> Option<Key> {
        let start = (self.line, self.column());
        let text = self.word()?;
        let span = self.since(start);
        self.take(b':')?;
        self.take(b' ')?;
        Some(self.key(span, text, false))
    }

    fn key(&mut self, span: Span, text: String, quoted: bool) -> Key {
        let value = Value::Scalar { text, quoted };
        self.names.key(Node { span, value })
    }

    /// A number or a word, as it stands there: it begins with a letter or a digit, perhaps behind a minus.
    fn word(&mut self) -> Option<String> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let is_of_word = |it: &u8| it.is_ascii_alphanumeric() || b"+-._/".contains(it);
        let length = rest.iter().take_while(|it| is_of_word(it)).count();
        let word = &self.text[self.at..self.at + length];
        let begins = word.strip_prefix('-').unwrap_or(word);
        let is_known = begins.starts_with(|it: char| it.is_ascii_alphanumeric())
            && length <= LONGEST
            && !word.contains("//");
        is_known.then(|| {
            self.at += length;
            word.to_owned()
        })
    }

    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let mut text = String::new();
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let is_plain = |it: &u8| (b' '..0x7f).contains(it) && !matches!(it, b'"' | b'\\');
            let plain = rest.iter().take_while(|it| is_plain(it)).count();
            text += &self.text[self.at..self.at + plain];
            self.at += plain;
            match self.next()? {
                b'"' => {
                    self.at += 1;
                    return Some(text);
                }
                b'\\' => text.push(self.escaped()?),
                0x80.. => text.push(self.wide()?),
                _ => return None,
            }
        }
    }

    /// A character of several bytes. Some of them are line ends to one of the two, or refused.
    fn wide(&mut self) -> Option<char> {
        let wide = self.text[self.at..].chars().next()?;
        let is_odd = matches!(wide, '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}'..='\u{ffff}');
        self.at += wide.len_utf8();
        self.wide += wide.len_utf8() - 1;
        (!is_odd).then_some(wide)
    }

    fn escaped(&mut self) -> Option<char> {
        let byte = self.text.as_bytes().get(self.at + 1)?;
        self.at += 2;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(*byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                let is_hex = digits.bytes().all(|it| it.is_ascii_hexdigit());
                self.at += 4;
                // None of half a pair.
                char::from_u32(u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?)?
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use becalm::rng::{Random, SplitMix64};

    use super::super::in_lines;
    use super::super::yaml::of_yaml;
    use super::*;

    #[test]
    fn json_has_the_tree_of_yaml() {
        for text in [
            "{}",
            "[]",
            " \n[1, -2.5e+3,true ,null,\"\"]\n\n",
            "{\"a\": {\"b\":[{\"c\":\"d\"}, {}]},\n  \"retries\" : 3,\r\n \"x\": [\n1\n]\n}",
            "{\"é\": \"日本\", \"b\": \"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\", \"maxAttempts\": \"x\"}",
            "[\"é\", {\"é\": \"ü😀\"}, 1]",
            "{\"a\": 1, \"a\": 2, \"\": 3}",
            "{a: 1}",
            "[a]",
            "[01, x/y.z-1, -a, null]",
            "{a: [b, {c-d: \"e\", 1: true}], \"f\": g }",
            "a: b",
            "apiVersion: x.io/v1\nkind: A\n1: -1\nspec: {a: [b]}\n",
            "[[[[\"a\"]], \"it's # no comment\", \"{{ x }}\", \"a: b\"]]",
        ] {
            let own = document(text).unwrap_or_else(|| panic!("{text}"));
            let read = of_yaml(text);
            assert!(read.unread.is_empty(), "{text}");
            assert_eq!(read.documents, [own], "{text}");
        }
    }

    #[test]
    fn what_is_no_plain_json_is_left_to_yaml() {
        for text in [
            "",
            "1",
            "\"a\"",
            "{a}",
            "{a:1}",
            "{a: }",
            "[a: b]",
            "[a b]",
            "[a#b]",
            "[a//b]",
            "[---]",
            "[\n--- ]",
            "{a: *b}",
            "{a: &b c}",
            "{a: !b c}",
            "{<<: {a: 1}}",
            "a:\n  b: c",
            "a: b c",
            "a: b # c",
            "a: b\n  c",
            "a: b\n\nc: d",
            "a: [\n1]",
            "a: {b: {{ c }}}",
            "a: b\n---\nc: d",
            "a: b\n...",
            "a: b: c",
            "[1,]",
            "[1] x",
            "{\"a\" 1}",
            "[1 2]",
            "[01 x]",
            "[-]",
            "{\"a\": {{ x }}}",
            "[// a\n1]",
            "[\"a\nb\"]",
            "[\"\t\"]",
            "[\"\\x41\"]",
            "[\"\\ud83d\"]",
            "{\"<<\": {\"a\": 1}}",
            "[1",
            "[\"a",
            "[\"\u{85}\"]",
            "[\"\u{feff}\"]",
        ] {
            assert_eq!(document(text), None, "{text}");
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(document(&deep(DEEPEST)).is_some() && document(&deep(DEEPEST + 1)).is_none());
    }

    /// What stands between a key and its value, and behind them: mostly what is plain.
    const COLONS: [&str; 8] = [": ", ": ", ": ", ": ", ": ", ":", " : ", ":  "];
    const ENDS: [&str; 8] = ["\n", "\n", "\n", "\n", "\n", "\n\n", " \n", "\n "];

    struct Writer(SplitMix64);

    impl Writer {
        fn below(&mut self, most: usize) -> usize {
            let drawn = self.0.next_u64() % most as u64;
            usize::try_from(drawn).unwrap()
        }

        fn one_of(&mut self, all: &[&'static str]) -> &'static str {
            all[self.below(all.len())]
        }

        fn blank(&mut self) -> &'static str {
            self.one_of(&["", "", "", "", "", "", " ", " ", " ", " ", "\n", "\n  "])
        }

        fn scalar(&mut self) -> &'static str {
            self.one_of(&[
                "a",
                "1",
                "-2.5e+3",
                "null",
                "no",
                "retries",
                "x.io/v1",
                "a-b_c",
                "\"a\"",
                "\"\\u00e9é: {\"",
                "\"{{ a }}\"",
                "\"\"",
            ])
        }

        /// A scalar, or brackets with some.
        fn value(&mut self, deep: usize) -> String {
            let (begin, end) = match self.below(3) {
                0 => ("{", "}"),
                1 => ("[", "]"),
                _ => return self.scalar().to_owned(),
            };
            let many = if deep == 0 { 0 } else { self.below(4) };
            let mut text = begin.to_owned() + self.blank();
            for at in 0..many {
                if at > 0 {
                    text = text + "," + self.blank();
                }
                if begin == "{" {
                    text = text + self.scalar() + self.one_of(&COLONS) + self.blank();
                }
                text += &self.value(deep - 1);
                text += self.blank();
            }
            text + end
        }

        /// A value, or lines of keys and values.
        fn document(&mut self) -> String {
            match self.below(6) {
                0..3 => self.value(3),
                many => {
                    let lines = (0..many).map(|_| {
                        let key = self.one_of(&["a", "kind", "x-y_z", "\"b\""]);
                        let colon = self.one_of(&COLONS);
                        let value = self.value(2).replace('\n', self.one_of(&["", "", "\n"]));
                        format!("{key}{colon}{value}{}", self.one_of(&ENDS))
                    });
                    lines.collect()
                }
            }
        }

        /// With a letter put in, or in place of another, or without one.
        fn corrupted(&mut self, text: &str) -> String {
            const LETTERS: &[char] = &[
                '{', '}', '[', ']', ',', ':', '"', '\'', '#', '-', '?', '&', '*', '!', '|', '>',
                '%', '@', '~', '<', '/', '\\', '.', ' ', '\n', '\t', '\r', 'a', '0', 'é', '\u{85}',
                '\u{feff}', '\0',
            ];
            let mut letters: Vec<char> = text.chars().collect();
            let at = self.below(letters.len() + 1);
            let until = (at + self.below(2)).min(letters.len());
            let more = (0..self.below(3)).map(|_| LETTERS[self.below(LETTERS.len())]);
            let more: Vec<_> = more.collect();
            letters.splice(at..until, more);
            letters.into_iter().collect()
        }
    }

    #[test]
    fn what_is_read_here_yaml_reads_so() {
        let mut writer = Writer(SplitMix64::new(1));
        let (mut read, mut left) = (0, 0);
        for at in 0..40_000 {
            let mut text = writer.document();
            for _ in 0..at % 3 {
                text = writer.corrupted(&text);
            }
            let text = in_lines(&text);
            let Some(own) = document(&text) else {
                left += 1;
                continue;
            };
            read += 1;
            let yaml = of_yaml(&text);
            let unread: Vec<_> = yaml.unread.iter().map(|it| &it.why).collect();
            assert!(
                unread.is_empty() && yaml.merges.is_empty(),
                "{text:?}: {unread:?}"
            );
            assert_eq!(yaml.documents, [own], "{text:?}");
        }
        assert!(read > 5_000 && left > 10_000, "{read} {left}");
    }
}
