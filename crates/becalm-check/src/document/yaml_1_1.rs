//! What must change in a text of YAML 1.1, so that a parser of YAML 1.2 reads it?
//!
//! `PyYAML` follows YAML 1.1. That version ends lines with three more letters, and `PyYAML` is lenient with tags, anchors, comments and
//! directives. Each mend is one that the parser's refusal asks for, at the place that it names; where its cause may be elsewhere, at an
//! anchor or a tag of the same document.

use granit_parser::{ErrorKind as Refusal, ScanError};

use super::names_1_1::{Name, is_blank, is_break, names};
use super::node::Span;

/// Letters that are parsed again in all: of a large file one attempt, of 10 KiB hundreds.
const AGAIN: usize = 8 << 20;

/// What an attempt takes beside its letters, in letters.
const A_PARSER: usize = 1_000;

/// Lines between a directive and `---`, or of comments.
const BETWEEN: usize = 100;

/// A text, and which of its letters are blanks that were put in.
pub struct Older {
    letters: Vec<(char, bool)>,
    again: usize,
    /// Whether a directive became a comment.
    has_lost_directives: bool,
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
            has_lost_directives: false,
        }
    }

    /// Whether the text has line breaks that YAML 1.2 does not have.
    pub fn is_older(text: &str) -> bool {
        text.contains(['\u{85}', '\u{2028}', '\u{2029}'])
    }

    /// Whether any of these may be mended: a file in a format of its own has no names of anchors and tags.
    pub fn may_mend(refusals: &[ScanError], text: &str) -> bool {
        let mut kinds = refusals.iter().map(ScanError::kind);
        let is_other = kinds.all(|it| matches!(it, Refusal::ExpectedDocumentStart));
        !is_other || text.contains(['&', '*', '!'])
    }

    pub fn text(&self) -> String {
        self.letters.iter().map(|it| it.0).collect()
    }

    /// Mends what the parser refused; `false` where no mend is known, or enough was tried.
    pub fn mend(&mut self, refusals: &[ScanError]) -> bool {
        if self.again >= AGAIN {
            return false;
        }
        self.again += self.letters.len() + A_PARSER;
        let mut blanks = Vec::new();
        let mut is_changed = false;
        for it in refusals {
            match self.mended(it.kind(), it.marker().index()) {
                Mend::Blank(at) => blanks.push(at),
                Mend::Written => is_changed = true,
                Mend::None => {}
            }
        }
        is_changed |= !blanks.is_empty();
        self.put(blanks);
        is_changed
    }

    fn mended(&mut self, refusal: &Refusal, at: usize) -> Mend {
        match refusal {
            // `'a'# comment`
            Refusal::CommentNotSeparated => {
                match at.checked_sub(1).and_then(|it| self.letter(it)) {
                    Some(last) if "'\"]}[{,:?".contains(last) => Mend::Blank(at),
                    _ => Mend::None,
                }
            }
            // `{a:[1]}`
            Refusal::FlowMappingValueAdjacentCollection => Mend::Blank(at + 1),
            // `- ` and then `| # c` at the line's begin
            Refusal::SimpleKeyExpected if matches!(self.letter(at), Some('|' | '>')) => {
                self.indent_text(at)
            }
            // `[-]`
            Refusal::PlainScalarStartsWithDashFlowIndicator => self.write(at, ['_']),
            // `%TAG` after a document without `...`, or `%OTHER` with letters that 1.2 does not allow
            Refusal::MissingDocumentEndBeforeDirective
            | Refusal::InvalidGlobalTagCharacter
            | Refusal::InvalidTagDirectiveTerminator
            | Refusal::InvalidDirectiveTerminator => self.comment_out(at),
            Refusal::CommentInterceptedScalar => {
                let mut after = self.letters.iter().skip(at);
                let line = after.position(|it| it.0 == '\n');
                line.map_or(Mend::None, |line| self.comment_out(at + line + 1))
            }
            // A handle whose `%TAG` is a comment now.
            Refusal::UndeclaredTagHandle if !self.has_lost_directives => Mend::None,
            // `!!str!x a`
            Refusal::InvalidTagTerminator
            | Refusal::MissingTagUri
            | Refusal::UndeclaredTagHandle
                if self.letter(at) == Some('!') =>
            {
                self.mask(at)
            }
            // `"\udd00"`
            Refusal::UnpairedLowSurrogate
            | Refusal::MissingLowSurrogate
            | Refusal::InvalidLowSurrogate
            | Refusal::InvalidLowSurrogateHexEscape => self.replace_surrogates(at),
            _ => self.separate_name(at),
        }
    }

    fn letter(&self, at: usize) -> Option<char> {
        self.letters.get(at).map(|it| it.0)
    }

    fn write(&mut self, at: usize, letters: impl IntoIterator<Item = char>) -> Mend {
        let mut mend = Mend::None;
        for (own, letter) in self.letters.iter_mut().skip(at).zip(letters) {
            if std::mem::replace(&mut own.0, letter) != letter {
                mend = Mend::Written;
            }
        }
        mend
    }

    /// A text in a block may begin its line where an entry or a value is to come.
    fn indent_text(&self, at: usize) -> Mend {
        let lines = self.letters[..at].rsplit(|it| is_break(it.0)).take(BETWEEN);
        let last = lines
            .map(|it| it.iter().map(|it| it.0).collect())
            .find_map(|line: String| {
                let said = line
                    .split(" #")
                    .next()
                    .filter(|_| !line.trim_start().starts_with('#'));
                said.and_then(|it| it.split_whitespace().last().map(str::to_owned))
            });
        let is_open = |it: &String| it.ends_with(['-', ':', '?']) || it.starts_with(['&', '!']);
        last.filter(is_open).map_or(Mend::None, |_| Mend::Blank(at))
    }

    /// Puts a blank before each of these letters.
    fn put(&mut self, mut blanks: Vec<usize>) {
        blanks.sort_unstable();
        let mut blanks = blanks.into_iter().peekable();
        if blanks.peek().is_none() {
            return;
        }
        let before = std::mem::take(&mut self.letters);
        for (at, letter) in before.into_iter().enumerate() {
            if blanks.next_if_eq(&at).is_some() {
                self.letters.push((' ', true));
            }
            self.letters.push(letter);
        }
    }

    /// A directive becomes a comment, where `---` follows: other lines with `%` may be those of a template.
    fn comment_out(&mut self, at: usize) -> Mend {
        if self.letter(at) != Some('%') {
            return Mend::None;
        }
        let mut lines = self.letters[at..].split(|it| is_break(it.0)).take(BETWEEN);
        let is_skipped = |line: &[(char, bool)]| match line.iter().find(|it| it.0 != '\u{feff}') {
            None | Some(('%' | '#', _)) => true,
            Some(_) => line.iter().all(|it| it.0.is_whitespace()),
        };
        let end = lines.find(|it| !is_skipped(it)).unwrap_or_default();
        let is_start = end.len() >= 3 && end[..3].iter().all(|it| it.0 == '-');
        if !is_start {
            return Mend::None;
        }
        self.has_lost_directives = true;
        self.write(at, ['#'])
    }

    /// Gives a tag that `PyYAML` takes letters that each reader takes, as many as before.
    fn mask(&mut self, at: usize) -> Mend {
        let letters = self.letters.iter().skip(at + 1).map(|it| it.0);
        let tag: String = letters.take_while(|it| !is_blank(*it)).collect();
        let (handle, suffix) = tag.split_once('!').unwrap_or(("", &tag));
        let is_word = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
        let is_address = |it: char| is_word(it) || ";/?:@&=+$,.!~*'()[]%".contains(it);
        if suffix.is_empty() || !handle.chars().all(is_word) || !suffix.chars().all(is_address) {
            return Mend::None;
        }
        self.write(at + 1, std::iter::repeat_n('x', tag.len()))
    }

    /// Each half of a pair in the quoted text that begins here is a letter of its own.
    fn replace_surrogates(&mut self, quote: usize) -> Mend {
        let half = |at: usize| {
            let digits: Option<String> = (at + 2..at + 6).map(|it| self.letter(it)).collect();
            let is_escape = self.letter(at) == Some('\\') && self.letter(at + 1) == Some('u');
            let code = digits.and_then(|it| u32::from_str_radix(&it, 16).ok());
            code.filter(|it| is_escape && (0xd800..0xe000).contains(it))
        };
        let mut alone = Vec::new();
        let mut at = quote + 1;
        while let Some(letter) = self.letter(at).filter(|it| *it != '"') {
            at += match (half(at), half(at + 6)) {
                (Some(..0xdc00), Some(0xdc00..)) => 12,
                (Some(_), _) => {
                    alone.push(at + 2);
                    6
                }
                _ if letter == '\\' => 2,
                _ => 1,
            };
        }
        let mut mend = Mend::None;
        for at in alone {
            mend = self.write(at, "fffd".chars());
        }
        mend
    }

    /// In the document that is refused: ends the name of an anchor where 1.1 ends it, as in `*a: b`, or takes the brackets from a tag.
    /// It is the first one of the refused line, or else the last one before, or the first one after.
    fn separate_name(&mut self, at: usize) -> Mend {
        let at = at.min(self.letters.len());
        let begins = |it: usize| it == 0 || is_break(self.letters[it - 1].0);
        let is_mark = |it: &usize| {
            let line = || {
                self.letters[*it..]
                    .iter()
                    .map(|it| it.0)
                    .skip_while(|it| *it == '\u{feff}')
                    .take(3)
            };
            begins(*it) && (line().eq("---".chars()) || line().eq("...".chars()))
        };
        let line = (0..=at).rev().find(|it| begins(*it)).unwrap_or(0);
        let first = (0..=line).rev().find(is_mark).unwrap_or(0);
        let end = (at + 1..self.letters.len())
            .find(is_mark)
            .unwrap_or(self.letters.len());
        self.again += end - first;
        let is_sign = |it: &(char, bool)| matches!(it.0, '&' | '*' | '!');
        if !self.letters[first..end].iter().any(is_sign) {
            return Mend::None;
        }
        let mut before = None;
        let mut after = None;
        for name in names(&self.letters[..end], first) {
            if name.0 >= line {
                after = Some(name);
                break;
            }
            before = Some(name);
        }
        let is_here =
            |it: &(usize, Name)| self.letters[line..it.0].iter().all(|it| !is_break(it.0));
        match after.filter(is_here).or(before).or(after) {
            Some((_, Name::Ends(at))) => Mend::Blank(at),
            Some((at, Name::Tag)) => self.mask(at),
            None => Mend::None,
        }
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
            if is_break(*letter) && (*letter, self.letter(at + 1)) != ('\r', Some('\n')) {
                if was.is_some_and(is_break) {
                    (line, column) = (line + 1, 0);
                }
                places.starts.push((line, column));
                within = 0;
            }
        }
        places
    }
}

/// What changed, or is to be put before a letter.
enum Mend {
    Blank(usize),
    Written,
    None,
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
    use super::*;

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

    fn refusal_of(text: &str) -> ScanError {
        let mut parser = granit_parser::Parser::new_from_str(text);
        let refused = std::iter::from_fn(|| parser.next_event()).find_map(Result::err);
        refused.expect("it is refused")
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
                "1:1 a, 2:1 b, 1:4 \u{1f600} \u{fffd}, 2:4 c",
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
            ("a: b\n|\n  x\n", 2),
            ("a: |# c\n  x\n", 1),
            ("a: !x{y z", 1),
            ("a: !! b", 1),
            ("a: !e!b c", 1),
            ("b: !foo\u{a0}bar\n", 1),
        ] {
            let unread = documents(text).unread;
            let lines: Vec<_> = unread.iter().map(|it| it.why.span.line).collect();
            assert_eq!(lines, [line], "{text:?}");
        }
    }

    #[test]
    fn what_only_looks_like_1_1_stays_beside_what_is() {
        for (text, told) in [
            (
                "a: &x 1\n*x: 2\nc: \"d !a,b\"",
                "1:1 a, 1:7 1, 3:1 c, 1:7 1, 2:5 2, 3:4 d !a,b",
            ),
            (
                "x: \"\\udd00\"\na: C:\\ud\nb: 1",
                "1:1 x, 2:1 a, 3:1 b, 1:4 \u{fffd}, 2:4 C:\\ud, 3:4 1",
            ),
            (
                "x: \"\\udd00 \\\\udata \\ud83d\\ude00\"",
                "1:1 x, 1:4 \u{fffd} \\udata \u{1f600}",
            ),
        ] {
            assert_eq!(read(text), told, "{text:?}");
        }
        let read = documents("a: *x: 'p &y: z' # &w: !a,b\n---\nb: p &y: z");
        assert_eq!(read.unread.len(), 2);
        let read = documents("*x: 1\n---\nb: p !y,z\n---\n'a'# b");
        let texts: Vec<_> = read
            .documents
            .iter()
            .map(|it| it.get("b").and_then(Node::text))
            .collect();
        assert_eq!((texts, read.unread.len()), (vec![Some("p !y,z"), None], 1));
    }

    #[test]
    fn a_file_is_parsed_again_as_long_as_it_is_short() {
        for (lines, attempts) in [(4, 4), (1 << 21, 1)] {
            let mut older = Older::new(&"a: b\n".repeat(lines));
            let refusal = refusal_of("{a:[1]}");
            let tried = (0..4).filter(|_| older.mend(std::slice::from_ref(&refusal)));
            assert_eq!(tried.count(), attempts);
        }
    }
}
