//! How is a line read whose format somebody wrote down? As fields, and the text between them.

use memchr::{memchr, memchr_iter};

use super::number::{SECOND, micros, status, whole_number};
use super::parts::{Parts, Why, without_port, without_version};
use super::stamp::{Stamp, inner_space};
use super::unit::has_point;

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

/// What a field of a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Start,
    End,
    /// Since the epoch, in a unit of this many microseconds.
    StartIn(u64),
    EndIn(u64),
    /// In a unit of this many microseconds.
    Duration(u64),
    /// Seconds of a program that writes them with a decimal point: without one, they may be another unit.
    DecimalSeconds,
    /// One of several that make up the whole, in a unit of this many microseconds; -1 of what was not done.
    DurationPart(u64),
    /// One for each upstream that was tried, in a unit of this many microseconds.
    UpstreamDuration(u64),
    /// Until the request was sent on, in a unit of this many microseconds.
    SentAfter(u64),
    Status,
    /// Envoy's `%RESPONSE_FLAGS%`.
    Flags,
    Client,
    ClientWithPort,
    Forwarded,
    /// Method, path and version.
    RequestLine,
    Method,
    Target,
    Id,
    /// One for each that was tried.
    Upstream,
    /// How often the proxy tried.
    Attempts,
    Other,
    /// One for each upstream that was tried, of which nothing is read.
    OtherOfUpstreams,
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

impl Field {
    const fn is_duration(self) -> bool {
        matches!(
            self,
            Self::Duration(_)
                | Self::DecimalSeconds
                | Self::DurationPart(_)
                | Self::UpstreamDuration(_)
        )
    }

    fn is_list(self) -> bool {
        matches!(
            self,
            Self::Upstream | Self::UpstreamDuration(_) | Self::OtherOfUpstreams
        )
    }

    #[inline]
    fn fill<'a>(self, parts: &mut Parts<'a>, value: &'a [u8]) -> Result<(), Why> {
        match self {
            Self::Start => parts.start = Some(finest(parts.start, value)?),
            Self::End => parts.end = Some(finest(parts.end, value)?),
            Self::Duration(unit) => {
                parts.duration = Some(duration(unit)(value)?);
            }
            Self::StartIn(unit) => parts.start = Some(counted(value, unit)?),
            Self::EndIn(unit) => parts.end = Some(counted(value, unit)?),
            Self::DecimalSeconds => {
                let micros = duration(SECOND)(value)?;
                parts.duration = Some(has_point(value).then_some(micros).ok_or(Why::Unit)?);
            }
            Self::DurationPart(_) if value == b"-1" => {}
            Self::DurationPart(unit) => {
                let part = duration(unit)(value)?;
                parts.duration = Some(parts.duration.unwrap_or(0).saturating_add(part));
            }
            Self::UpstreamDuration(unit) => {
                (parts.tried_before, parts.upstream_duration) =
                    of_upstreams(value, duration(unit))?;
            }
            Self::SentAfter(unit) => parts.sent_after = of_upstreams(value, duration(unit))?.1,
            Self::Status if value == b"-" => {}
            Self::Status => parts.status = Some(status(value).ok_or(Why::Status)?),
            Self::Flags => parts.client_left = flags_say_left(value),
            Self::Client => parts.client = value,
            Self::ClientWithPort => parts.client = without_port(value),
            Self::Forwarded => parts.forwarded = value,
            Self::RequestLine => parts.target = without_version(value),
            Self::Method => parts.method = value,
            Self::Target => parts.target = value,
            Self::Id => parts.id = value,
            Self::Upstream => {
                parts.upstream = last_of(value);
                parts.retries = retries(value);
            }
            Self::Attempts => {
                let attempts = whole_number(value).unwrap_or(0);
                parts.retries = u32::try_from(attempts).map_or(0, |it| it.saturating_sub(1));
            }
            Self::Other | Self::OtherOfUpstreams => {}
        }
        Ok(())
    }
}

/// This moment, or the same one as the line has told it before, if that was finer.
#[inline]
fn finest(before: Option<Stamp>, value: &[u8]) -> Result<Stamp, Why> {
    let stamp = Stamp::read(value).ok_or(Why::Moment)?;
    Ok(before.map_or(stamp, |before| before.finer(stamp)))
}

fn counted(value: &[u8], unit: u64) -> Result<Stamp, Why> {
    Stamp::in_unit(value, unit).ok_or(Why::Moment)
}

/// `DC`: the client's connection ended; `DR`: the client reset its stream.
pub fn flags_say_left(flags: &[u8]) -> bool {
    let mut flags = flags.split(|byte| *byte == b',');
    flags.any(|flag| matches!(flag, b"DC" | b"DR"))
}

/// The microseconds of the upstreams that were tried before the last, together, and those of the last, as each of them is read; none, where
/// none was. AWS writes -1 for that, others a dash.
pub fn of_upstreams(
    value: &[u8],
    read: impl Fn(&[u8]) -> Result<u64, Why>,
) -> Result<(u64, Option<u64>), Why> {
    let (mut before, mut last) = (0_u64, None);
    for each in value.split(|byte| matches!(byte, b',' | b':')) {
        let each = each.trim_ascii();
        if !each.is_empty() && each[0] != b'-' {
            before = before.saturating_add(last.replace(read(each)?).unwrap_or(0));
        }
    }
    Ok((before, last))
}

/// Reads a duration in a unit of this many microseconds.
pub fn duration(unit: u64) -> impl Fn(&[u8]) -> Result<u64, Why> {
    move |text| micros(text, unit).ok_or(Why::Duration)
}

/// The upstream that was tried last.
pub fn last_of(value: &[u8]) -> &[u8] {
    let last = value.windows(2).rposition(|it| it == b", ");
    let group = value.windows(3).rposition(|it| it == b" : ");
    let from = last
        .map_or(0, |at| at + 2)
        .max(group.map_or(0, |at| at + 3));
    &value[from..]
}

/// How often another upstream was tried.
pub fn retries(value: &[u8]) -> u32 {
    let commas = memchr_iter(b',', value).count();
    u32::try_from(commas).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn of_several_upstreams_the_last_one_has_its_time_apart() {
        for (value, expected) in [
            ("0.016", Ok((0, Some(16_000)))),
            ("0.001, 0.016", Ok((1_000, Some(16_000)))),
            ("0.001, - : 0.016", Ok((1_000, Some(16_000)))),
            ("-", Ok((0, None))),
            ("-1", Ok((0, None))),
            ("x", Err(Why::Duration)),
        ] {
            let read = of_upstreams(value.as_bytes(), duration(SECOND));
            assert_eq!(read, expected, "{value}");
        }
    }

    #[test]
    fn flags_of_envoy_say_who_left() {
        assert!(flags_say_left(b"DC") && flags_say_left(b"UT,DC") && flags_say_left(b"DR"));
        assert!(!flags_say_left(b"-") && !flags_say_left(b"UH") && !flags_say_left(b"DCX"));
    }
}
