//! How is a line read whose format somebody wrote down? As fields, and the text between them.

use memchr::{memchr, memchr_iter};

use super::field::Field;
use super::number::SECOND;
use super::parts::{Parts, Why};
use super::stamp::inner_space;

/// A format of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    before: Box<[u8]>,
    pieces: Vec<Piece>,
}

/// A field, and the text behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    field: Field,
    until: Box<[u8]>,
    /// Whether this text begins within quotes, where columns may be padded: a blank outside of quotes stands for
    /// several, too.
    padded: Option<bool>,
}

/// A part of a format as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Text(Vec<u8>),
    Field(Field),
}

/// Why a format cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// Two fields stand side by side, and nothing says where the first ends.
    SideBySide,
    /// It has no duration.
    NoDuration,
    /// It has no moment.
    NoMoment,
    /// It has no status.
    NoStatus,
    /// It begins as a directive of nginx, and goes on otherwise.
    Directive,
}

impl Template {
    /// The format that is made of these.
    pub fn new(tokens: Vec<Token>) -> Result<Self, Unusable> {
        let template = Self::shape(tokens)?;
        let has = |wanted: fn(Field) -> bool| template.pieces.iter().any(|it| wanted(it.field));
        let starts = has(|it| matches!(it, Field::Start | Field::StartIn(_)));
        let ends = has(|it| matches!(it, Field::End | Field::EndIn(_)));
        if !(has(Field::is_duration) || starts && ends) {
            return Err(Unusable::NoDuration);
        }
        if !starts && !ends {
            return Err(Unusable::NoMoment);
        }
        if !has(|it| it == Field::Status) {
            return Err(Unusable::NoStatus);
        }
        Ok(template)
    }

    /// Fields with one space between them; those with `true` are in quotes.
    ///
    /// # Panics
    ///
    /// Without a moment, a duration and a status.
    pub fn spaced(fields: &[(Field, bool)]) -> Self {
        let mut tokens = Vec::new();
        let mut between = String::new();
        for (field, is_quoted) in fields {
            let quote = if *is_quoted { "\"" } else { "" };
            between.push_str(quote);
            if !between.is_empty() {
                tokens.push(Token::Text(between.into_bytes()));
            }
            tokens.push(Token::Field(*field));
            between = format!("{quote} ");
        }
        // The last one ends with the line.
        between.pop();
        if !between.is_empty() {
            tokens.push(Token::Text(between.into_bytes()));
        }
        Self::new(tokens).expect("a format that is known says what is needed")
    }

    /// The shape that is made of these, whether there are requests in it or not.
    pub fn shape(tokens: Vec<Token>) -> Result<Self, Unusable> {
        let mut template = Self {
            before: Box::default(),
            pieces: Vec::new(),
        };
        for token in tokens {
            match (token, template.pieces.last_mut()) {
                (Token::Field(field), last) => {
                    if last.is_some_and(|it| it.until.is_empty()) {
                        return Err(Unusable::SideBySide);
                    }
                    template.pieces.push(Piece {
                        field,
                        until: Box::default(),
                        padded: None,
                    });
                }
                (Token::Text(text), Some(last)) => last.until = text.into(),
                (Token::Text(text), None) => template.before = text.into(),
            }
        }
        Ok(template)
    }

    /// Takes durations for seconds only where they have a decimal point.
    pub fn decimal(mut self) -> Self {
        for piece in &mut self.pieces {
            if piece.field == Field::Duration(SECOND) {
                piece.field = Field::DecimalSeconds;
            }
        }
        self
    }

    /// Takes several blanks for one, but in quotes: some programs pad their columns.
    pub fn padded(mut self) -> Self {
        let quotes = |text: &[u8]| memchr_iter(b'"', text).count();
        let mut before = quotes(&self.before);
        for piece in &mut self.pieces {
            piece.padded = Some(before % 2 == 1);
            before += quotes(&piece.until);
        }
        self
    }

    /// The parts of a line.
    pub fn read<'a>(&self, line: &'a [u8]) -> Result<Parts<'a>, Why> {
        let mut rest = line.strip_prefix(&*self.before).ok_or(Why::Shape)?;
        let mut parts = Parts::default();
        for piece in &self.pieces {
            let end = piece.end(rest).ok_or(Why::Shape)?;
            piece.field.fill(&mut parts, &rest[..end])?;
            let behind = piece.behind(&rest[end..]).ok_or(Why::Shape)?;
            rest = &rest[end + behind..];
        }
        if rest.is_empty() {
            Ok(parts)
        } else {
            Err(Why::Shape)
        }
    }
}

impl Piece {
    /// The length of what stands behind the field, at the front of this text.
    #[inline]
    fn behind(&self, text: &[u8]) -> Option<usize> {
        let Some(mut is_quoted) = self.padded else {
            return text.starts_with(&self.until).then_some(self.until.len());
        };
        let mut at = 0;
        let mut was_blank = false;
        for byte in &self.until {
            is_quoted ^= *byte == b'"';
            let is_blank = *byte == b' ' && !is_quoted;
            if is_blank && was_blank {
                continue;
            }
            if text.get(at) != Some(byte) {
                return None;
            }
            at += 1;
            while is_blank && text.get(at) == Some(&b' ') {
                at += 1;
            }
            was_blank = is_blank;
        }
        Some(at)
    }

    /// Where the field at the front of this text ends.
    #[inline]
    fn end(&self, text: &[u8]) -> Option<usize> {
        let Some((first, others)) = self.until.split_first() else {
            return Some(text.len());
        };
        let from = match self.field {
            Field::Start | Field::End => inner_space(text).min(text.len()),
            _ => 0,
        };
        if others.is_empty() && *first != b'"' && !self.field.is_list() {
            return memchr(*first, &text[from..]).map(|at| from + at);
        }
        memchr_iter(*first, &text[from..])
            .map(|at| from + at)
            .find(|at| {
                self.behind(&text[*at..]).is_some()
                    && !(*first == b'"' && is_escaped(&text[..*at]))
                    && !(self.field.is_list() && goes_on(text, *at))
            })
    }
}

/// A quote behind an odd number of backslashes is a part of the text, as JSON has it.
fn is_escaped(before: &[u8]) -> bool {
    let backslashes = before.iter().rev().take_while(|it| **it == b'\\').count();
    backslashes % 2 == 1
}

/// nginx writes several upstreams as `a, b` and, where it changed groups, `a : b`: no end of the field.
fn goes_on(text: &[u8], at: usize) -> bool {
    match text[at] {
        b',' => text.get(at + 1) == Some(&b' '),
        b' ' => {
            text[..at].ends_with(b",")
                || text[..at].ends_with(b" :")
                || text[at..].starts_with(b" : ")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::stamp::Stamp;
    use super::*;

    fn text(text: &str) -> Token {
        Token::Text(text.into())
    }

    fn template(between: &str) -> Template {
        Template::new(vec![
            text("<"),
            Token::Field(Field::End),
            text(between),
            Token::Field(Field::Upstream),
            text(between),
            Token::Field(Field::Duration(SECOND)),
            text(between),
            Token::Field(Field::Status),
            text(">"),
        ])
        .unwrap()
    }

    #[test]
    fn lists_of_upstreams_are_one_field_and_the_last_one_answered() {
        for between in [" ", ",", "\",\""] {
            let template = template(between);
            for (list, last, retries) in [
                ("10.0.0.1:80", "10.0.0.1:80", 0),
                ("10.0.0.1:80, unix:/run/a", "unix:/run/a", 1),
                ("a:1, b:1 : c:1", "c:1", 1),
                ("-", "-", 0),
            ] {
                let line = ["23/Nov/2026:11:02:31 +0000", list, "0.010", "200"].join(between);
                let line = format!("<{line}>");
                let parts = template.read(line.as_bytes()).unwrap();
                assert_eq!(parts.upstream, last.as_bytes(), "{line}");
                assert_eq!(
                    (parts.retries, parts.status),
                    (retries, Some(200)),
                    "{line}"
                );
                assert_eq!(parts.duration, Some(10_000));
            }
        }
    }

    #[test]
    fn padded_columns_have_several_blanks_for_one_but_in_quotes() {
        let tokens = || {
            vec![
                Token::Field(Field::End),
                text(" "),
                Token::Field(Field::Duration(SECOND)),
                text(" - \""),
                Token::Field(Field::Method),
                text(" "),
                Token::Field(Field::Target),
                text("\" "),
                Token::Field(Field::Status),
            ]
        };
        let exact = Template::new(tokens()).unwrap();
        let padded = exact.clone().padded();
        for line in [
            "5.250      0.010 - \"GET /a\" 200",
            "5.250 0.010   -  \"GET /a\"   200",
        ] {
            let parts = padded.read(line.as_bytes()).unwrap();
            assert_eq!((parts.duration, parts.status), (Some(10_000), Some(200)));
            assert!(exact.read(line.as_bytes()).is_err(), "{line}");
        }
        let quoted = b"5.250 0.010 - \"GET  /a\" 200";
        assert_eq!(padded.read(quoted).unwrap().target, b" /a");
    }

    #[test]
    fn of_several_moments_the_finest_counts() {
        for (moments, micros) in [
            (["5.250", "01/Jan/1970:00:00:05 +0000"], 5_250_000),
            (["01/Jan/1970:00:00:05 +0000", "5.250"], 5_250_000),
            (["1970-01-01 00:00:05,250", "5.250125"], 5_250_125),
            (["5.250125", "1970-01-01 00:00:05,250"], 5_250_125),
            (["5", "01/Jan/1970:00:00:05 +0000"], 5_000_000),
        ] {
            let template = Template::new(vec![
                Token::Field(Field::End),
                text(" ["),
                Token::Field(Field::End),
                text("] "),
                Token::Field(Field::Duration(SECOND)),
                text(" "),
                Token::Field(Field::Status),
            ])
            .unwrap();
            let line = format!("{} [{}] 0.1 200", moments[0], moments[1]);
            let parts = template.read(line.as_bytes()).unwrap();
            assert_eq!(parts.end, Some(Stamp { micros }), "{line}");
        }
    }

    #[test]
    fn a_quote_that_is_escaped_ends_nothing() {
        let template = Template::new(vec![
            text("{\"r\":\""),
            Token::Field(Field::RequestLine),
            text("\",\"t\":"),
            Token::Field(Field::Start),
            text(",\"d\":"),
            Token::Field(Field::Duration(SECOND)),
            text(",\"s\":"),
            Token::Field(Field::Status),
            text("}"),
        ])
        .unwrap();
        let line = br#"{"r":"GET /\",\"t\":1 HTTP/1.1","t":5.5,"d":0.1,"s":200}"#;
        let parts = template.read(line).unwrap();
        assert_eq!(parts.target, br#"GET /\",\"t\":1"#);
        assert_eq!(parts.duration, Some(100_000));
    }

    #[test]
    fn what_does_not_fit_says_what_does_not() {
        let template = template(" ");
        for (line, why) in [
            ("", Why::Shape),
            ("<5 a 0.1 200", Why::Shape),
            ("<5 a 0.1 200> more", Why::Shape),
            ("<x a 0.1 200>", Why::Moment),
            ("<5 a - 200>", Why::Duration),
            ("<5 a 0.1 2x0>", Why::Status),
        ] {
            assert_eq!(template.read(line.as_bytes()).unwrap_err(), why, "{line}");
        }
    }

    #[test]
    fn a_format_without_what_is_needed_is_refused() {
        let field = Token::Field;
        for (tokens, expected) in [
            (
                vec![field(Field::End), field(Field::Status)],
                Unusable::SideBySide,
            ),
            (
                vec![field(Field::End), text(" "), field(Field::Status)],
                Unusable::NoDuration,
            ),
            (
                vec![field(Field::Duration(1)), text(" "), field(Field::Status)],
                Unusable::NoMoment,
            ),
            (
                vec![field(Field::Duration(1)), text(" "), field(Field::End)],
                Unusable::NoStatus,
            ),
        ] {
            assert_eq!(Template::new(tokens).unwrap_err(), expected);
        }
    }
}
