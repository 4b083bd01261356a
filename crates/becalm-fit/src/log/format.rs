//! Which format does a log have, by its first lines or by somebody's word?

use std::fmt;

use super::csv::Columns;
use super::fields::Fields;
use super::front::Front;
use super::kind::Kind;
use super::names::Names;
use super::packed::packed;
use super::parts::{Line, Why};
use super::refusal::{AS_NAMED, AS_SAID, TABLE};
use super::template::Template;
use super::w3c::Header;
use super::{Refusal, alb, apache, elb, haproxy, json, shapes, unknown, written};

/// A format of access logs.
#[derive(Debug, Clone)]
pub struct Format {
    name: &'static str,
    reads: Reads,
    front: Front,
}

#[derive(Debug, Clone)]
enum Reads {
    Template(Template),
    Alb(Template),
    Haproxy,
    Json,
    Fields(Fields),
    W3c(Header),
    Csv(Columns),
}

/// The formats of this family; `first` is the first line.
fn formats(kind: Kind, first: &[u8]) -> Vec<Format> {
    let written = |known: &[(&'static str, &str)]| {
        let known = known.iter().filter_map(|(name, text)| {
            // nginx writes seconds with a decimal point.
            let template = written::template(text).ok()?.decimal();
            Some(Format::new(name, Reads::Template(template)))
        });
        known.collect()
    };
    let one = |name, reads| Format::new(name, reads);
    match kind {
        Kind::Nginx => written(&written::NGINX),
        Kind::Envoy => written(&written::ENVOY),
        Kind::Apache => written(&apache::KNOWN),
        Kind::Traefik => written(&written::TRAEFIK),
        Kind::Json => {
            let programs = shapes::programs().map(|(name, it)| one(name, Reads::Fields(it)));
            programs.chain([one("JSON", Reads::Json)]).collect()
        }
        Kind::Pairs => {
            let (name, fields) = shapes::pairs();
            vec![one(name, Reads::Fields(fields))]
        }
        Kind::Haproxy => vec![one("HAProxy, httplog", Reads::Haproxy)],
        Kind::Alb => {
            let new = one(
                "AWS, Application Load Balancer",
                Reads::Alb(alb::template()),
            );
            let name = "AWS, Application Load Balancer before 2018";
            let old = elb::old().map(|it| one(name, Reads::Alb(it)));
            [new].into_iter().chain(old).collect()
        }
        Kind::Elb => vec![one(
            "AWS, Classic Load Balancer",
            Reads::Template(elb::classic()),
        )],
        Kind::Csv => {
            let columns = Columns::of(first).into_iter();
            columns
                .map(|columns| Format::new(TABLE, Reads::Csv(columns)))
                .collect()
        }
    }
}

/// What somebody says of the format.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Said {
    /// Nothing: it is found out.
    #[default]
    Nothing,
    /// Its family.
    Kind(Kind),
    /// The format itself.
    Format(Format),
}

/// Lines that are looked at to find out.
const LOOKED_AT: usize = 100;

impl Format {
    const fn new(name: &'static str, reads: Reads) -> Self {
        let front = Front::None;
        Self { name, reads, front }
    }

    /// A format as nginx's `log_format`, Envoy's text format or gunicorn's `--access-logformat` writes it.
    pub fn written(text: &str) -> Result<Self, Refusal> {
        let reads = Reads::Template(written::template(text)?.padded());
        Ok(Self::new(AS_SAID, reads))
    }

    /// Lines of JSON, or of `name=value`, whose fields somebody named: `start=ts,duration=took:ms,status=code`.
    pub fn named(text: &str) -> Result<Self, Refusal> {
        let fields = Fields::said(text).map_err(|sentence| Refusal::Fields { sentence })?;
        Ok(Self::new(AS_NAMED, Reads::Fields(fields)))
    }

    /// The format of the file that begins so: of those that may be meant, the one that reads most of its lines.
    pub(super) fn of(
        file: &str,
        beginning: &[u8],
        is_whole: bool,
        said: &Said,
    ) -> Result<Self, Refusal> {
        if let Some((kind, command)) = packed(beginning) {
            return Err(Refusal::Packed {
                file: file.into(),
                kind,
                command,
            });
        }
        let lines = lines(beginning, is_whole);
        if lines.is_empty() {
            return Err(Refusal::Empty { file: file.into() });
        }
        let found = Self::of_lines(&lines, said);
        let by_header = || Self::of_header(beginning, &lines);
        let found = match said {
            Said::Nothing => found.or_else(by_header),
            _ => found,
        };
        match (found, said) {
            (Some(format), _) => Ok(format),
            (None, Said::Format(format)) => Err(format.reads_little(file, beginning, &lines)),
            (None, _) => match formats(Kind::Csv, lines[0]).pop() {
                Some(table) => Err(table.reads_little(file, beginning, &lines)),
                None => Err(unknown::refusal(file.into(), &lines)),
            },
        }
    }

    /// The format of the last of these lines.
    pub(super) fn of_last(text: &[u8], said: &Said) -> Option<Self> {
        let lines = text.rsplit(|byte| *byte == b'\n').map(without_return);
        let lines = lines.filter(|line| !says_nothing(line));
        let lines: Vec<_> = lines.take(LOOKED_AT).collect();
        Self::of_lines(&lines, said)
    }

    /// The one that reads most of these lines, if that is more than half; with the shortest front that does.
    fn of_lines(lines: &[&[u8]], said: &Said) -> Option<Self> {
        Front::ALL.into_iter().find_map(|front| {
            let stripped: Vec<_> = lines.iter().filter_map(|it| front.strip(it)).collect();
            let bare: Vec<&[u8]> = stripped.iter().map(|it| &**it).collect();
            let first = bare.first()?;
            let formats = match said {
                Said::Format(format) => vec![format.clone()],
                Said::Kind(kind) => formats(*kind, first),
                Said::Nothing => {
                    let plain = Kind::ALL.iter().filter(|it| it.is_plain());
                    plain.flat_map(|it| formats(*it, first)).collect()
                }
            };
            let mut best = (lines.len() / 2, None);
            for format in formats {
                let read = format.reads_of(&bare);
                if read > best.0 {
                    best = (read, Some(format));
                }
            }
            best.1.map(|format| Self { front, ..format })
        })
    }

    /// The one whose columns a remark says, if it reads most of these lines.
    fn of_header(text: &[u8], lines: &[&[u8]]) -> Option<Self> {
        let format = Self::new("W3C", Reads::W3c(Header::of(text)?));
        (2 * format.reads_of(lines) > lines.len()).then_some(format)
    }

    /// Refuses the first lines of a file, most of which it does not read.
    fn reads_little(&self, file: &str, beginning: &[u8], lines: &[&[u8]]) -> Refusal {
        let mut names = Names::default();
        let all = beginning.split(|byte| *byte == b'\n').map(without_return);
        let first = (1..).zip(all).filter(|(_, line)| !says_nothing(line));
        if let Reads::Fields(fields) = &self.reads {
            let lacking = unknown::lacking(fields, &first.collect::<Vec<_>>());
            return Refusal::Lacking {
                file: file.into(),
                lacking,
            };
        }
        let mut first =
            first.filter_map(|(number, line)| Some((number, self.line(line, &mut names).err()?)));
        let read = self.reads_of(lines);
        Refusal::Unreadable {
            file: file.into(),
            format: self.name,
            read: read as u64,
            unread: (lines.len() - read) as u64,
            first: first.next().into_iter().collect(),
        }
    }

    /// Where the first request of this format begins.
    pub(super) fn first(&self, text: &[u8]) -> Option<usize> {
        let mut names = Names::default();
        let mut from = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let bare = without_return(line.strip_suffix(b"\n").unwrap_or(line));
            if matches!(self.line(bare, &mut names), Ok(Line::Request(_))) {
                return Some(from);
            }
            from += line.len();
        }
        None
    }

    /// What this line is.
    #[inline]
    pub(super) fn line(&self, line: &[u8], names: &mut Names) -> Result<Line, Why> {
        let line = &*self.front.strip(line).ok_or(Why::Shape)?;
        match &self.reads {
            Reads::Fields(fields) => fields.line(line, names),
            Reads::W3c(header) => header.line(line, names),
            Reads::Template(template) => {
                let parts = template.read(line)?;
                parts.line(names)
            }
            Reads::Alb(template) => alb::line(template, line, names),
            Reads::Haproxy => haproxy::line(line, names),
            Reads::Json => json::line(line, names),
            Reads::Csv(columns) => columns.line(line, names),
        }
    }

    /// Its name, in words.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    fn reads_of(&self, lines: &[&[u8]]) -> usize {
        let mut names = Names::default();
        let read = lines
            .iter()
            .filter_map(|line| self.line(line, &mut names).ok());
        let (requests, others): (Vec<_>, Vec<_>) =
            read.partition(|it| matches!(it, Line::Request(_)));
        // A program's remarks alone do not say whether its requests have these names.
        let is_named = matches!(self.reads, Reads::Fields(_));
        let none = is_named && requests.is_empty();
        if none {
            0
        } else {
            requests.len() + others.len()
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The first lines that say something; the last one only if the file ends with it.
fn lines(beginning: &[u8], is_whole: bool) -> Vec<&[u8]> {
    let end = match memchr::memrchr(b'\n', beginning) {
        Some(at) if !is_whole => at,
        _ => beginning.len(),
    };
    let lines = beginning[..end].split(|byte| *byte == b'\n');
    lines
        .map(without_return)
        .filter(|line| !says_nothing(line))
        .take(LOOKED_AT)
        .collect()
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// An empty line, or a remark.
pub fn says_nothing(line: &[u8]) -> bool {
    line.is_empty() || line[0] == b'#'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<&'static str, Refusal> {
        Format::of("a.log", text.as_bytes(), true, &Said::Nothing).map(|it| it.name())
    }

    const COMBINED: &str =
        r#"10.0.0.1 - - [23/Nov/2026:11:02:31 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/7""#;

    #[test]
    fn formats_are_found_out() {
        for (line, name) in [
            (
                "1795431751.250,0.017,200,10.0.0.1,-,10.0.0.2:80, 10.0.0.3:80,0.001, 0.016",
                "nginx, as becalm asks for",
            ),
            (
                &format!("{COMBINED} 0.017"),
                "nginx, combined and $request_time",
            ),
            (
                &format!("{COMBINED} 0.017 0.016"),
                "nginx, combined and both times",
            ),
            (
                &format!("{COMBINED} \"-\" 0.017"),
                "nginx, main and $request_time",
            ),
            (
                &format!("{COMBINED} \"-\" 0.017 -"),
                "nginx, main and both times",
            ),
            (
                &format!("{COMBINED} \"0.017\""),
                "nginx, combined and \"$request_time\"",
            ),
            (
                &format!("{COMBINED} \"0.017\" \"0.016, 0.001\""),
                "nginx, combined and both times in quotes",
            ),
            (
                &format!("{COMBINED} \"10.0.0.3\" \"0.017\""),
                "nginx, main and \"$request_time\"",
            ),
            (
                &format!("{COMBINED} \"-\" \"0.017\" \"-\""),
                "nginx, main and both times in quotes",
            ),
            (
                &format!("2026-11-24T10:00:00.123456789Z stdout F {COMBINED} 0.017"),
                "nginx, combined and $request_time",
            ),
            (
                r#"2026-11-24T10:00:00.123456789Z {"msec":5.5,"request_time":0.017,"status":200}"#,
                "JSON",
            ),
            (
                &format!("{COMBINED} rt=0.017 uct=\"0.000\" uht=\"0.017\" urt=\"0.017\""),
                "nginx, upstream_time",
            ),
            (
                &format!("{COMBINED} 417 0.017 [default-app-80] [] 10.0.0.1:80 5 0.016 200 abc"),
                "ingress-nginx",
            ),
            (
                r#"[2026-11-23T11:02:31.250Z] "GET /a HTTP/1.1" 200 - 0 5 17 16 "-" "curl" "x" "a" "10.0.0.1:80""#,
                "Envoy, default",
            ),
            (
                r#"[2026-11-23T11:02:31.250Z] "GET /a HTTP/1.1" 200 - via_upstream - "-" 0 5 17 16 "-" "curl" "x" "a" "10.0.0.1:80" outbound|80||a 10.0.0.2:4 10.0.0.1:80 10.0.0.3:6 - default"#,
                "Envoy, as Istio has it",
            ),
            (
                r#"{"start_time":"2026-11-23T11:02:31.250Z","duration":17,"response_code":200}"#,
                "JSON",
            ),
            ("start,duration,status\n5,0.1,200", "CSV"),
        ] {
            let text = format!("{line}\n\n# a remark\n");
            assert_eq!(of(&text).unwrap_or_else(|it| panic!("{line}: {it}")), name);
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_what_helps() {
        for (text, part) in [
            (COMBINED, "$msec,$request_time"),
            (&format!("{COMBINED} \"-\""), "$msec,$request_time"),
            ("hello\nworld", "--log-format"),
            ("5,0.1,200", "the header start,duration,status"),
            ("", "has no requests"),
            ("\n# a remark\n", "has no requests"),
            ("\u{1f}", "is of no format"),
            (
                r#"{"@timestamp":"2026-11-23T11:02:31Z","request_time":0.1}"#,
                "no status is found in it by a usual name",
            ),
            (
                "start,duration,status\n1795431751250,17,200\n1795431751260,17,200",
                "line 2: it says no moment: seconds since 1970, RFC 3339 or the common log format; a column in another unit",
            ),
            ("{}", "no moment and no duration and no status is found"),
            (
                "[{\"a\":1},\n{\"a\":2}]",
                "jq -c '.[]' a.log | becalm fit -",
            ),
            ("[\n  {\n \"a\":1}]", "jq -c '.[]' a.log | becalm fit -"),
            ("{\n  \"a\": 1\n}\n{\n", "jq -c . a.log | becalm fit -"),
        ] {
            let sentence = of(text).unwrap_err().to_string();
            assert!(
                sentence.contains(part) && sentence.starts_with("a.log"),
                "{sentence}"
            );
        }
        for (bytes, command) in [
            (&[0x1f, 0x8b, 8][..], "zcat"),
            (&[0x28, 0xb5, 0x2f, 0xfd], "zstdcat"),
            (b"\xff\xfe5\0", "iconv -f UTF-16 -t UTF-8"),
        ] {
            let packed = Format::of("a", bytes, true, &Said::Nothing).unwrap_err();
            let packed = packed.to_string();
            assert!(
                packed.contains(&format!("{command} a | becalm fit -")),
                "{packed}"
            );
        }
        let piped = Format::of(
            super::super::STANDARD_INPUT,
            &[0x1f, 0x8b, 8],
            true,
            &Said::Nothing,
        );
        let piped = piped.unwrap_err().to_string();
        assert!(piped.ends_with(": .. | zcat | becalm fit -"), "{piped}");
        let half = Format::written("$status").unwrap_err().to_string();
        assert!(
            half.starts_with("--log-format: it says no duration"),
            "{half}"
        );
    }

    #[test]
    fn a_format_is_not_found_by_what_was_not_read_whole() {
        let text = "5.1,0.1,200,a,-,b,0.1\n5.2,0.1,200,a,-,b,0.1\n5.3,0.";
        assert_eq!(lines(text.as_bytes(), false).len(), 2);
        assert_eq!(lines(text.as_bytes(), true).len(), 3);
    }
}
