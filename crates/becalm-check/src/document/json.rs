//! Which tree is a text, if it is JSON, or YAML in brackets?
//!
//! JSON is YAML, whose parser needs ten times as long for it. What is read here has the tree that YAML gives it: JSON, with plain words,
//! texts in single quotes, and a comma at an end. All else is left to YAML: comments, templates, anchors, tags, and what the two read
//! otherwise.

use super::bounds::DEEPEST;
use super::node::{Key, Names, Node, Span, Value};

/// The tree of a text that is a list or a mapping.
pub fn document(text: &str) -> Option<Node> {
    let mut left = Left::of(text, 0, 1);
    left.blank();
    let node = left.bracket(DEEPEST)?;
    left.blank();
    (left.at == text.len()).then_some(node)
}

/// Reads the list or the mapping that begins at this byte of a line, and returns it with the byte after it.
///
/// `None` where it is no JSON, or has more than `deep` levels.
pub fn within(line: &str, at: usize, number: usize, deep: usize) -> Option<(Node, usize)> {
    let mut left = Left::of(line, at, number);
    let node = left.bracket(deep)?;
    Some((node, left.at))
}

/// The longest word that is read: YAML has no keys of more than 1,024 letters.
const LONGEST: usize = 500;

/// Which letters a word may hold in its middle, and which may begin one.
const OF_WORD: [bool; 256] = letters(b"+-._/=*$^~@%()!;&<>|?");
const BEGINS: [bool; 256] = letters(b"_/~^$(");

/// Letters of words, digits, and these.
const fn letters(others: &[u8]) -> [bool; 256] {
    let mut all = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        all[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        all[others[at] as usize] = true;
        at += 1;
    }
    all
}

/// What is left of a text.
struct Left<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    /// Where its line begins, and how many bytes since then are no character of their own.
    begins: usize,
    wide: usize,
    names: Names,
    /// Those of all lists and mappings whose end has not come.
    items: Vec<Node>,
    entries: Vec<(Key, Node)>,
}

impl<'t> Left<'t> {
    /// From this byte on, of the line of this number with which the text begins.
    fn of(text: &'t str, at: usize, line: usize) -> Self {
        Self {
            text,
            at,
            line,
            begins: 0,
            wide: at - text[..at].chars().count(),
            names: Names::default(),
            items: Vec::new(),
            entries: Vec::new(),
        }
    }

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

    /// A list or a mapping.
    fn bracket(&mut self, deep: usize) -> Option<Node> {
        matches!(self.next()?, b'{' | b'[').then(|| self.value(deep))?
    }

    fn value(&mut self, deep: usize) -> Option<Node> {
        let start = (self.line, self.column());
        let value = match self.next()? {
            b'{' => Value::Table(self.listed(b'}', deep, Self::entry, |it| &mut it.entries)?),
            b'[' => Value::List(self.listed(b']', deep, Self::value, |it| &mut it.items)?),
            b'"' | b'\'' => Value::Scalar {
                text: self.quoted()?,
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

    /// What stands up to this bracket, with a comma after each, perhaps after the last.
    fn listed<T>(
        &mut self,
        end: u8,
        deep: usize,
        read: impl Fn(&mut Self, usize) -> Option<T>,
        all: impl Fn(&mut Self) -> &mut Vec<T>,
    ) -> Option<Vec<T>> {
        let deep = deep.checked_sub(1)?;
        let first = all(self).len();
        self.at += 1;
        self.blank();
        while self.take(end).is_none() {
            let one = read(self, deep)?;
            all(self).push(one);
            self.blank();
            if self.take(b',').is_some() {
                self.blank();
            } else if self.next()? != end {
                return None;
            }
        }
        if first > 0 {
            return Some(all(self).drain(first..).collect());
        }
        // A list of millions is not copied.
        let mut own = std::mem::take(all(self));
        own.shrink_to_fit();
        Some(own)
    }

    fn entry(&mut self, deep: usize) -> Option<(Key, Node)> {
        let key = match self.next()? {
            b'"' | b'\'' => self.quoted_key()?,
            _ => self.plain_key()?,
        };
        self.blank();
        Some((key, self.value(deep)?))
    }

    fn quoted_key(&mut self) -> Option<Key> {
        let start = (self.line, self.column());
        let text = self.quoted()?;
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

    /// Words with a blank between them, as they stand there: the first begins with a letter or the like, perhaps behind a minus.
    fn word(&mut self) -> Option<String> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let is_letter = |at: usize| rest.get(at).is_some_and(|it| OF_WORD[usize::from(*it)]);
        let begins = usize::from(rest.first() == Some(&b'-'));
        if !BEGINS[usize::from(*rest.get(begins)?)] {
            return None;
        }
        let mut length = begins + 1;
        while is_letter(length)
            || matches!(rest.get(length), Some(b':')) && is_letter(length + 1)
            || matches!(rest.get(length), Some(b' '))
                && rest.get(length + 1).is_some_and(u8::is_ascii_alphanumeric)
        {
            length += 1;
        }
        (length <= LONGEST).then(|| {
            let word = &self.text[self.at..self.at + length];
            self.at += length;
            word.to_owned()
        })
    }

    fn quoted(&mut self) -> Option<String> {
        match self.next()? {
            b'"' => self.string(),
            _ => self.literal(),
        }
    }

    /// A text in single quotes; two of them in it are one.
    fn literal(&mut self) -> Option<String> {
        self.take(b'\'')?;
        let mut text = String::new();
        loop {
            text += self.plain(|it| it != b'\'');
            match self.next()? {
                b'\'' => {
                    self.at += 1;
                    if self.take(b'\'').is_none() {
                        return Some(text);
                    }
                    text.push('\'');
                }
                0x80.. => text.push(self.wide()?),
                _ => return None,
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let mut text = String::new();
        loop {
            text += self.plain(|it| !matches!(it, b'"' | b'\\'));
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

    /// What stands here of letters that stand for themselves.
    fn plain(&mut self, is_itself: impl Fn(u8) -> bool) -> &str {
        let rest = &self.text.as_bytes()[self.at..];
        let is_plain = |it: &&u8| (b' '..0x7f).contains(*it) && is_itself(**it);
        let from = self.at;
        self.at += rest.iter().take_while(is_plain).count();
        &self.text[from..self.at]
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
    use becalm::rng::SplitMix64;

    use super::super::comments::blanked;
    use super::super::drawn::Writer;
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
            "[// a\n1]",
            "[1,]",
            "{a: 1 , }",
            "[a b, c:d, http://a:80/b, ~, /a, $x, (a|b)*]",
            "['it''s', '', {'a':'\"b\\n é: {'}]",
            "[[[[\"a\"]], \"it's # no comment\", \"{{ x }}\", \"a: b\"]]",
        ] {
            let own = document(&blanked(text)).unwrap_or_else(|| panic!("{text}"));
            let read = of_yaml(text, &blanked(text));
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
            "[,]",
            "[1,,]",
            "[a  b]",
            "[a b: c]",
            "[a :b]",
            "['a' 'b']",
            "['a\n b']",
            "[a\n b]",
            "[a: b]",
            "[a#b]",
            "[---]",
            "[\n--- ]",
            "{a: *b}",
            "{a: &b c}",
            "{a: !b c}",
            "{<<: {a: 1}}",
            "a: b c",
            "[1] x",
            "{\"a\" 1}",
            "[-]",
            "{\"a\": {{ x }}}",
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
            assert_eq!(document(&blanked(text)), None, "{text}");
        }
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(document(&deep(DEEPEST)).is_some() && document(&deep(DEEPEST + 1)).is_none());
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
            let Some(own) = document(&blanked(&text)) else {
                left += 1;
                continue;
            };
            read += 1;
            let yaml = of_yaml(&text, &blanked(&text));
            let unread: Vec<_> = yaml.unread.iter().map(|it| &it.why).collect();
            assert!(
                unread.is_empty() && yaml.merges.is_empty(),
                "{text:?}: {unread:?}"
            );
            assert_eq!(yaml.documents, [own], "{text:?}");
        }
        assert!(read > 3_000 && left > 10_000, "{read} {left}");
    }
}
