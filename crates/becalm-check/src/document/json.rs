//! Which tree is a text, if it is JSON?
//!
//! JSON is YAML, whose parser needs ten times as long for it. What is read here has the tree that YAML gives it; all else is left to
//! YAML: comments, a comma at an end, templates, and what the two read otherwise.

use super::bounds::DEEPEST;
use super::node::{Key, Names, Node, Span, Value};

/// The tree of a text that is a list or a mapping of JSON.
pub fn document(text: &str) -> Option<Node> {
    let mut left = Left {
        text,
        at: 0,
        line: 1,
        begins: 0,
        wide: 0,
        names: Names::default(),
    };
    left.blank();
    let node = match left.next()? {
        b'{' | b'[' => left.value(DEEPEST)?,
        _ => return None,
    };
    left.blank();
    (left.at == text.len()).then_some(node)
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
        let start = (self.line, self.column());
        let text = self.string()?;
        let span = self.since(start);
        if text == "<<" {
            return None;
        }
        let value = Value::Scalar { text, quoted: true };
        let key = self.names.key(Node { span, value });
        self.blank();
        self.take(b':')?;
        self.blank();
        Some((key, self.value(deep)?))
    }

    /// A number, `true`, `false` or `null`, as it stands there.
    fn word(&mut self) -> Option<String> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let is_of_word = |it: &u8| it.is_ascii_alphanumeric() || b"+-.".contains(it);
        let length = rest.iter().take_while(|it| is_of_word(it)).count();
        let word = &self.text[self.at..self.at + length];
        let is_number = word.starts_with(|it: char| it.is_ascii_digit() || it == '-');
        let is_known = matches!(word, "true" | "false" | "null");
        (is_known || is_number && word != "-").then(|| {
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
