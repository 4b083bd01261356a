//! How does a table of requests say them? `start,duration,status[,client,id,target,upstream,upstream_duration]`, with a header.

use memchr::{memchr, memchr2};

use super::names::Names;
use super::number::{MILLISECOND, SECOND, micros, status};
use super::parts::{Line, NO_ANSWER, Parts, Why};
use super::stamp::Stamp;
use super::upstreams::{duration, of_upstreams};

/// Which column says what, by the names in the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    header: Box<[u8]>,
    columns: Vec<Column>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// In a unit of this many microseconds.
    Start(u64),
    End(u64),
    Duration(u64),
    UpstreamDuration(u64),
    Status,
    Client,
    Id,
    Target,
    Upstream,
    Other,
}

impl Columns {
    /// The columns of this header, if it has what is needed: a start or an end, a duration (or both of the former), a status.
    pub fn of(header: &[u8]) -> Option<Self> {
        let names = header.split(|byte| *byte == b',');
        let columns: Vec<_> = names.map(column).collect();
        let has = |wanted: fn(&Column) -> bool| columns.iter().any(wanted);
        let starts = has(|it| matches!(it, Column::Start(_)));
        let ends = has(|it| matches!(it, Column::End(_)));
        let lasts = has(|it| matches!(it, Column::Duration(_)));
        let is_enough =
            has(|it| *it == Column::Status) && (starts && ends || lasts && (starts || ends));
        is_enough.then(|| Self {
            header: header.into(),
            columns,
        })
    }

    /// What this line is.
    pub fn line(&self, line: &[u8], names: &mut Names) -> Result<Line, Why> {
        // Files that were put together have several.
        if *line == *self.header {
            return Ok(Line::Other);
        }
        let mut parts = Parts::default();
        let mut rest = Some(line);
        for column in &self.columns {
            let (value, behind) = field(rest.ok_or(Why::Shape)?);
            column.fill(&mut parts, value)?;
            rest = behind;
        }
        if rest.is_some() {
            return Err(Why::Shape);
        }
        parts.line(names)
    }
}

impl Column {
    fn fill<'a>(self, parts: &mut Parts<'a>, value: &'a [u8]) -> Result<(), Why> {
        match self {
            Self::Start(unit) => parts.start = Some(moment(value, unit)?),
            Self::End(unit) => parts.end = Some(moment(value, unit)?),
            Self::Duration(unit) => {
                parts.duration = Some(micros(value, unit).ok_or(Why::Duration)?);
            }
            Self::UpstreamDuration(unit) => {
                (parts.tried_before, parts.upstream_duration) =
                    of_upstreams(value, duration(unit))?;
            }
            Self::Status => match value {
                b"abandoned" | b"aborted" => parts.client_left = true,
                b"-" => parts.status = Some(NO_ANSWER),
                _ => parts.status = Some(status(value).ok_or(Why::Status)?),
            },
            Self::Client => parts.client = value,
            Self::Id => parts.id = value,
            Self::Target => parts.target = value,
            Self::Upstream => parts.upstream = value,
            Self::Other => {}
        }
        Ok(())
    }
}

fn moment(value: &[u8], unit: u64) -> Result<Stamp, Why> {
    let stamp = if unit == SECOND {
        Stamp::read(value)
    } else {
        Stamp::in_unit(value, unit)
    };
    stamp.ok_or(Why::Moment)
}

/// What a column of this name says. Durations and moments are seconds unless the name ends in `_ms` or `_us`.
fn column(name: &[u8]) -> Column {
    let name = unquoted(name.trim_ascii()).to_ascii_lowercase();
    let (name, unit) = match name.as_slice() {
        [name @ .., b'_', b'm', b's'] => (name, MILLISECOND),
        [name @ .., b'_', b'u', b's'] => (name, 1),
        name => (name, SECOND),
    };
    match name {
        b"start" => Column::Start(unit),
        b"end" => Column::End(unit),
        b"duration" => Column::Duration(unit),
        b"upstream_duration" => Column::UpstreamDuration(unit),
        b"status" => Column::Status,
        b"client" => Column::Client,
        b"id" => Column::Id,
        b"target" => Column::Target,
        b"upstream" => Column::Upstream,
        _ => Column::Other,
    }
}

/// The first field without spaces around it, and what stands behind its comma. A quoted field may have commas in it (RFC 4180).
#[inline]
fn field(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let text = text.trim_ascii_start();
    if let Some(mut inner) = text.strip_prefix(b"\"") {
        let mut length = 1;
        while let Some(at) = memchr(b'"', inner) {
            length += at + 1;
            inner = &inner[at + 1..];
            match inner.first() {
                Some(b'"') => {
                    length += 1;
                    inner = &inner[1..];
                }
                _ => break,
            }
        }
        let (value, rest) = text.split_at(length.min(text.len()));
        return (unquoted(value), rest.trim_ascii_start().strip_prefix(b","));
    }
    match memchr2(b',', b'\n', text) {
        Some(at) => (text[..at].trim_ascii_end(), Some(&text[at + 1..])),
        None => (text.trim_ascii_end(), None),
    }
}

fn unquoted(value: &[u8]) -> &[u8] {
    let inner = value
        .strip_prefix(b"\"")
        .and_then(|it| it.strip_suffix(b"\""));
    inner.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ended;

    fn read(header: &str, line: &str) -> Result<Line, Why> {
        let columns = Columns::of(header.as_bytes()).expect("a header");
        columns.line(line.as_bytes(), &mut Names::default())
    }

    #[test]
    fn columns_are_known_by_their_names_in_any_order_and_unit() {
        for (header, line) in [
            ("start,duration,status", "5.25,0.017,200"),
            ("status,note,duration_ms,start_ms", "200,hello,17,5250"),
            (
                "Start, Duration ,STATUS,client,id",
                "5.25,0.017,200,10.0.0.1,x",
            ),
            ("start, duration, status", " 5.25, 0.017 , \"200\" "),
            ("end_us,duration_us,status", "5267000,17000,200"),
            (
                "start,end,status",
                "1970-01-01T00:00:05.250Z,1970-01-01T00:00:05.267Z,200",
            ),
            (
                "\"note\",\"start\",duration,status",
                "\"a, \"\"b\"\"\",5.25,0.017,200",
            ),
        ] {
            let Ok(Line::Request(seen)) = read(header, line) else {
                panic!("{header}: {line}")
            };
            assert_eq!(
                (seen.request.start, seen.request.duration),
                (5_250_000, 17_000),
                "{header}"
            );
            assert_eq!(seen.request.ended, Ended::Answered(200));
        }
        let columns = Columns::of(b"start,duration,status").unwrap();
        let header = columns.line(b"start,duration,status", &mut Names::default());
        assert_eq!(header, Ok(Line::Other));
    }

    #[test]
    fn the_upstream_has_a_time_of_its_own() {
        let header = "start,duration,upstream_duration_ms,status";
        let Ok(Line::Request(seen)) = read(header, "5,0.5,17,200") else {
            panic!("it is a request")
        };
        let at_upstream = seen.request.at_upstream.map(|it| (it.duration, it.latest));
        assert_eq!(at_upstream, Some((17_000, 483_000)));
    }

    #[test]
    fn who_left_is_said_by_a_word_or_by_499() {
        for status in ["abandoned", "aborted", "499", "000", "0", "-"] {
            let Ok(Line::Request(seen)) = read("start,duration,status", &format!("5,0.5,{status}"))
            else {
                panic!("{status}")
            };
            assert_eq!(seen.request.ended, Ended::Abandoned);
        }
    }

    #[test]
    fn a_header_without_what_is_needed_is_none_and_a_short_line_is_told() {
        for header in [
            "",
            "a,b,c",
            "start,duration",
            "duration,status",
            "start,status",
            "1,2,200",
        ] {
            assert_eq!(Columns::of(header.as_bytes()), None, "{header}");
        }
        for (line, why) in [
            ("5,0.5", Why::Shape),
            ("5,0.5,200,more", Why::Shape),
            ("x,0.5,200", Why::Moment),
            ("1795431751123,0.5,200", Why::Moment),
            ("5,-,200", Why::Duration),
            ("5,0.5,OK", Why::Status),
            ("5,0.5,\"200", Why::Status),
        ] {
            assert_eq!(read("start,duration,status", line), Err(why), "{line}");
        }
    }
}
