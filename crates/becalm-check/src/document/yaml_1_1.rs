//! What must change in a text of YAML 1.1, so that a parser of YAML 1.2 reads it?
//!
//! `PyYAML` follows YAML 1.1. That version ends lines with three more letters, and `PyYAML` is lenient with tags, anchors, comments and
//! directives. Each mend is one that the parser's refusal asks for, at the place that it names.

use granit_parser::{ErrorKind as Refusal, ScanError};

use super::node::Span;

/// Letters that are parsed again in all, so that a large file is not parsed often.
const AGAIN: usize = 32 << 20;

/// A text, and which of its letters are blanks that were put in.
pub struct Older {
    letters: Vec<(char, bool)>,
    again: usize,
}

impl Older {
    pub fn new(text: &str) -> Self {
        let newer = |letter| match letter {
            '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
            _ => letter,
        };
        Self {
            letters: text.chars().map(|it| (newer(it), false)).collect(),
            again: 0,
        }
    }

    /// Whether the text has line breaks that YAML 1.2 does not have.
    pub fn is_older(text: &str) -> bool {
        text.contains(['\u{85}', '\u{2028}', '\u{2029}'])
    }

    pub fn text(&self) -> String {
        self.letters.iter().map(|it| it.0).collect()
    }

    /// Mends what the parser refused; `false` where no mend is known, or enough was tried.
    pub fn mend(&mut self, error: &ScanError) -> bool {
        self.again += self.letters.len();
        self.again <= AGAIN + self.letters.len()
            && self.mend_at(error.kind(), error.marker().index())
    }

    fn mend_at(&mut self, refusal: &Refusal, at: usize) -> bool {
        match refusal {
            // `'a'# comment`
            Refusal::CommentNotSeparated => self.put_blank(at),
            // `{a:[1]}`
            Refusal::FlowMappingValueAdjacentCollection => self.put_blank(at + 1),
            // `- ` and then `| # c` at the line's begin
            Refusal::SimpleKeyExpected if matches!(self.letter(at), Some('|' | '>')) => {
                self.put_blank(at)
            }
            // `[-]`
            Refusal::PlainScalarStartsWithDashFlowIndicator => self.write(at, '_'),
            // `%TAG` after a document without `...`, or `%OTHER` with letters that 1.2 does not allow
            Refusal::MissingDocumentEndBeforeDirective
            | Refusal::InvalidGlobalTagCharacter
            | Refusal::InvalidTagDirectiveTerminator
            | Refusal::InvalidDirectiveTerminator => self.comment_out(at),
            Refusal::CommentInterceptedScalar => {
                let after = &self.letters[at.min(self.letters.len())..];
                let line = after.iter().position(|it| it.0 == '\n');
                line.is_some_and(|line| self.comment_out(at + line + 1))
            }
            // `!!str!x a`, or a handle whose `%TAG` is a comment now
            Refusal::InvalidTagTerminator
            | Refusal::MissingTagUri
            | Refusal::UndeclaredTagHandle
                if self.letter(at) == Some('!') =>
            {
                self.mask(at);
                true
            }
            // `"\udd00"`
            Refusal::UnpairedLowSurrogate
            | Refusal::MissingLowSurrogate
            | Refusal::InvalidLowSurrogate
            | Refusal::InvalidLowSurrogateHexEscape => self.replace_surrogates(at),
            _ => self.separate_names(),
        }
    }

    fn letter(&self, at: usize) -> Option<char> {
        self.letters.get(at).map(|it| it.0)
    }

    fn write(&mut self, at: usize, letter: char) -> bool {
        let place = self.letters.get_mut(at);
        place.map(|it| it.0 = letter).is_some()
    }

    fn put_blank(&mut self, at: usize) -> bool {
        let is_within = at <= self.letters.len();
        if is_within {
            self.letters.insert(at, (' ', true));
        }
        is_within
    }

    /// A directive becomes a comment, where `---` follows: other lines with `%` may be those of a template.
    fn comment_out(&mut self, at: usize) -> bool {
        let after: String = self.letters[at.min(self.letters.len())..]
            .iter()
            .map(|it| it.0)
            .collect();
        let mut lines = after
            .split(['\n', '\r'])
            .map(|it| it.trim_start_matches('\u{feff}'));
        let ends = lines.find(|it| !it.starts_with(['%', '#']) && !it.trim().is_empty());
        after.starts_with('%')
            && ends.is_some_and(|it| it.starts_with("---"))
            && self.write(at, '#')
    }

    /// Gives a tag letters that each reader takes, as many as before.
    fn mask(&mut self, at: usize) {
        let rest = self.letters[at..].iter_mut().skip(1);
        for letter in rest.take_while(|it| !it.0.is_whitespace()) {
            letter.0 = 'x';
        }
    }

    fn replace_surrogates(&mut self, from: usize) -> bool {
        let mut is_changed = false;
        for at in from..self.letters.len().saturating_sub(5) {
            let here = [at, at + 1, at + 2].map(|it| self.letters[it].0);
            if matches!(here, ['\\', 'u', 'd' | 'D']) {
                for (place, letter) in "fffd".chars().enumerate() {
                    self.letters[at + 2 + place].0 = letter;
                }
                is_changed = true;
            }
        }
        is_changed
    }

    /// Ends the names of anchors where 1.1 ends them, as in `*a: b`, and takes the brackets from tags.
    fn separate_names(&mut self) -> bool {
        let mut is_changed = false;
        let before = std::mem::take(&mut self.letters);
        let mut at = 0;
        while at < before.len() {
            let last = at.checked_sub(1).map_or('\n', |it| before[it].0);
            let begins = last.is_whitespace() || matches!(last, '[' | '{' | ',' | ':');
            let rest = &before[at + 1..];
            let while_is = |of: fn(char) -> bool| rest.iter().take_while(|it| of(it.0)).count();
            let first = before[at].0;
            self.letters.push(before[at]);
            at += 1;
            if begins && matches!(first, '&' | '*') {
                let name = while_is(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_'));
                self.letters.extend(&rest[..name]);
                at += name;
                let then = rest.get(name).map(|it| it.0);
                if name > 0 && matches!(then, Some(':' | '?' | '%' | '@' | '`')) {
                    self.letters.push((' ', true));
                    is_changed = true;
                }
            } else if begins && first == '!' {
                let tag = while_is(|it| !it.is_whitespace());
                let has_brackets = rest[..tag].iter().any(|it| matches!(it.0, '[' | ']' | ','));
                let masked = rest[..tag]
                    .iter()
                    .map(|it| (if has_brackets { 'x' } else { it.0 }, it.1));
                self.letters.extend(masked);
                at += tag;
                is_changed |= has_brackets;
            }
        }
        is_changed
    }

    /// Where each line of the changed text was.
    pub fn places(&self, text: &str) -> Places {
        let mut places = Places {
            starts: vec![(1, 0)],
            blanks: Vec::new(),
        };
        let (mut line, mut column, mut within) = (1, 0, 0);
        let mut own = text.chars().peekable();
        for (at, (letter, is_put)) in self.letters.iter().enumerate() {
            within += 1;
            if *is_put {
                places.blanks.push((places.starts.len(), within - 1));
                continue;
            }
            let was = own.next();
            column += 1;
            let is_break = *letter == '\n' || *letter == '\r' && self.letter(at + 1) != Some('\n');
            if is_break {
                if matches!(was, Some('\n' | '\r')) {
                    (line, column) = (line + 1, 0);
                }
                places.starts.push((line, column));
                within = 0;
            }
        }
        places
    }
}

/// The places of a changed text in the text as it was.
#[derive(Default)]
pub struct Places {
    /// Line and column at which each changed line begins.
    starts: Vec<(usize, usize)>,
    /// Changed line and column of the blanks that were put in.
    blanks: Vec<(usize, usize)>,
}

impl Places {
    /// The span as it was; unchanged where nothing was.
    pub fn of(&self, span: Span) -> Span {
        let Some((line, column)) = self.starts.get(span.line - 1) else {
            return span;
        };
        let until = |column| self.blanks.partition_point(|it| *it < (span.line, column));
        let put = until(span.column - 1) - until(0);
        Span::new(*line, column + span.column - put, span.length)
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Node;
    use super::super::yaml::documents;

    /// The texts of the tree, each with its line and column; an error where a document is refused.
    fn read(text: &str) -> String {
        let read = documents(text);
        assert!(read.unread.is_empty(), "{text:?}: {:?}", read.unread);
        let mut told = Vec::new();
        for node in read.documents.iter().flat_map(Node::walk) {
            let keys = node
                .entries()
                .iter()
                .map(|(key, _)| (key.span, key.name.as_str()));
            let own = node.text().map(|it| (node.span, it));
            told.extend(
                keys.chain(own)
                    .map(|(at, it)| format!("{}:{} {it}", at.line, at.column)),
            );
        }
        told.join(", ")
    }

    #[test]
    fn what_1_1_allows_is_read_and_its_places_are_those_of_the_file() {
        for (text, told) in [
            ("a: 'b'# c\nd: e", "1:1 a, 2:1 d, 1:4 b, 2:4 e"),
            (
                "x: {a:[1, b], c:{d:[e]}, f: g}",
                "1:1 x, 1:5 a, 1:15 c, 1:26 f, 1:8 1, 1:11 b, 1:18 d, 1:21 e, 1:29 g",
            ),
            (
                "a: 1\n---\nb: 2\n%YAML 1.1\n---\nc: 3",
                "1:1 a, 1:4 1, 3:1 b, 3:4 2, 6:1 c, 6:4 3",
            ),
            ("a: !!str!x 1\n!a,b c: d", "1:1 a, 2:6 c, 1:12 1, 2:9 d"),
            (
                "a: \"\\ud83d\\ude00 \\udd00\"\nb: c",
                "1:1 a, 2:1 b, 1:4 \u{fffd}\u{fffd} \u{fffd}, 2:4 c",
            ),
            (
                "a: &x 1\n*x: 2\nb: [-]",
                "1:1 a, 1:7 1, 3:1 b, 1:7 1, 2:5 2, 3:5 _",
            ),
            ("- \n| # c\n  a\n- b", "3:3 a\n, 4:3 b"),
            (
                "a: b\u{85}c: d\u{2028}# c\ne: [f, g]",
                "1:1 a, 1:6 c, 2:1 e, 1:4 b, 1:9 d, 2:5 f, 2:8 g",
            ),
        ] {
            assert_eq!(read(text), told, "{text:?}");
        }
    }

    #[test]
    fn what_no_reader_takes_is_refused_at_its_first_place() {
        for (text, line) in [
            ("a: 1\n%for x\nb: 2\n", 2),
            ("\na: *b: c: d", 2),
            ("a: 'b'# c\nd: {", 1),
        ] {
            let unread = documents(text).unread;
            let lines: Vec<_> = unread.iter().map(|it| it.why.span.line).collect();
            assert_eq!(lines, [line], "{text:?}");
        }
    }

    #[test]
    fn a_file_with_a_thousand_such_places_is_parsed_a_bounded_number_of_times() {
        let text = "a: 'b'# c\n".repeat(100_000);
        assert_eq!(documents(&text).unread.len(), 1);
    }
}
