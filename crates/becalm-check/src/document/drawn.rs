//! Which texts do tests of readers draw? YAML in brackets and in lines, and such text that is spoilt.

use becalm::rng::{Random, SplitMix64};

/// What stands between a key and its value, and behind them: mostly what is plain.
const COLONS: [&str; 8] = [": ", ": ", ": ", ": ", ": ", ":", " : ", ":  "];
const ENDS: [&str; 8] = ["\n", "\n", "\n", "\n", "\n", "\n\n", " \n", "\n "];

pub struct Writer(pub SplitMix64);

impl Writer {
    pub fn below(&mut self, most: usize) -> usize {
        let drawn = self.0.next_u64() % most as u64;
        usize::try_from(drawn).unwrap()
    }

    pub fn one_of(&mut self, all: &[&'static str]) -> &'static str {
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
            "'it''s \\'",
            "''",
            "a b",
            "http://a:80/b",
            "~",
            "/a",
            "\"\"",
        ])
    }

    /// A scalar, or brackets with some.
    pub fn value(&mut self, deep: usize) -> String {
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
        text + self.one_of(&["", "", "", "", "", ","]) + end
    }

    /// A value, or lines of keys and values.
    pub fn document(&mut self) -> String {
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
    pub fn corrupted(&mut self, text: &str) -> String {
        const LETTERS: &[char] = &[
            '{', '}', '[', ']', ',', ':', '"', '\'', '#', '-', '?', '&', '*', '!', '|', '>', '%',
            '@', '~', '<', '/', '\\', '.', ' ', '\n', '\t', '\r', 'a', '0', 'é', '\u{85}',
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
