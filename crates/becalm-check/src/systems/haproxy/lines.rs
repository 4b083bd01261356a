//! Which sections and words does an HAProxy configuration hold, and where?
//!
//! As `parse_line` of 2.6 reads them (`src/tools.c`).

use crate::document::Span;
use crate::list::list;

/// A line that says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Never empty.
    pub words: Vec<Word>,
}

/// A word, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub span: Span,
}

impl Line {
    pub fn word(&self, at: usize) -> &str {
        #[cfg(test)]
        crate::document::LOOKED_AT.set(crate::document::LOOKED_AT.get() + 1);
        self.words.get(at).map_or("", |it| &it.text)
    }

    /// From its first word to its last.
    pub fn span(&self) -> Span {
        match (self.words.first(), self.words.last()) {
            (Some(first), Some(last)) => {
                let end = last.span.column + last.span.length;
                Span::new(first.span.line, first.span.column, end - first.span.column)
            }
            _ => Span::new(1, 1, 0),
        }
    }

    /// The words from this one on, with one blank between two.
    pub fn rest(&self, from: usize) -> String {
        let words = self.words.iter().skip(from).map(|it| &*it.text);
        words.collect::<Vec<_>>().join(" ")
    }
}

/// A section: its first line, and those below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub head: Line,
    pub lines: Vec<Line>,
}

const SECTIONS: &[&str] = list!(
    "global defaults frontend backend listen peers resolvers userlist mailers program \
     http-errors cache ring log-forward fcgi-app crt-store traces acme log-profile"
);

impl Section {
    /// Its name, which `defaults` may be without.
    pub fn name(&self) -> &str {
        match (self.head.word(0), self.head.word(1)) {
            ("defaults", "from") if self.head.words.len() > 2 => "",
            (_, name) => name,
        }
    }

    /// Whether HAProxy refuses a line of its own here: run with 2.6.12. Rules stand in `defaults` that have a name.
    pub fn refuses(&self, line: &Line) -> bool {
        let is_defaults = self.head.word(0) == "defaults";
        is_defaults
            && match line.word(0) {
                "acl" | "http-request" => self.name().is_empty(),
                "server" | "server-template" | "dispatch" | "use_backend" => true,
                _ => false,
            }
    }
}

/// The sections of a file, and the lines that switch others on and off.
pub fn sections(text: &str) -> (Vec<Section>, Vec<Line>) {
    let mut sections: Vec<Section> = Vec::new();
    let mut conditions = Vec::new();
    for (at, text) in text.lines().enumerate() {
        let words = words(text, at + 1);
        let Some(first) = words.first() else {
            continue;
        };
        if [".if", ".elif", ".else", ".endif"].contains(&&*first.text) {
            conditions.push(Line { words });
            continue;
        }
        let is_head = SECTIONS.contains(&&*first.text);
        let line = Line { words };
        match sections.last_mut() {
            Some(section) if !is_head => section.lines.push(line),
            _ if is_head => sections.push(Section {
                head: line,
                lines: Vec::new(),
            }),
            _ => {} // before the first section
        }
    }
    (sections, conditions)
}

fn words(text: &str, line: usize) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<(String, usize)> = None;
    let mut quote = None;
    let mut left = text.chars().enumerate();
    let put = |words: &mut Vec<Word>, word: &mut Option<(String, usize)>, end: usize| {
        if let Some((text, start)) = word.take() {
            let span = Span::new(line, start + 1, end - start);
            words.push(Word { text, span });
        }
    };
    let mut end = 0;
    while let Some((at, c)) = left.next() {
        end = at + 1;
        match (quote, c) {
            (None, '#') => {
                end = at;
                break;
            }
            (None, ' ' | '\t' | '\r') => put(&mut words, &mut word, at),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_with(|| (String::new(), at));
            }
            (Some(open), _) if c == open => quote = None,
            (None | Some('"'), '\\') => {
                let escaped = left.next().map(|(_, it)| it);
                let (text, _) = word.get_or_insert_with(|| (String::new(), at));
                text.extend(escaped);
            }
            _ => word.get_or_insert_with(|| (String::new(), at)).0.push(c),
        }
    }
    put(
        &mut words,
        &mut word,
        end.max(text.chars().count().min(end)),
    );
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_quotes_and_comments_are_read() {
        for (text, read) in [
            ("a b", "a|b"),
            ("\ta  b # c", "a|b"),
            ("a \"b c\" 'd \" e'", "a|b c|d \" e"),
            ("a b\\ c\\#", "a|b c#"),
            ("a \"\" b", "a||b"),
            ("# a", ""),
            ("", ""),
            ("a \"b", "a|b"),
            ("a\\", "a"),
        ] {
            let words: Vec<_> = words(text, 1).into_iter().map(|it| it.text).collect();
            assert_eq!(words.join("|"), read, "{text}");
        }
        let (read, _) = sections("x\nglobal\n  a b\n\nbackend y\n c");
        assert_eq!(read.len(), 2);
        assert_eq!(read[1].head.span(), Span::new(5, 1, 9));
        assert_eq!(read[0].lines[0].words[1].span, Span::new(3, 5, 1));
    }
}
