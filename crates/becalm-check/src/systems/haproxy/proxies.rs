//! What holds in a section, after its `defaults`?

use std::time::Duration;

use becalm::retry_on::Methods;

use super::lines::{Line, Section};
use super::retry_on::{self, Listed};
use crate::code;
use crate::document::Span;
use crate::reading::{Reading, Told};

/// A value with its place.
#[derive(Debug, Clone)]
pub struct Said<T> {
    pub value: T,
    pub span: Span,
}

/// What a section says about retrying, its defaults included.
#[derive(Debug, Clone, Default)]
pub struct Proxy {
    pub is_http: bool,
    pub retries: Option<Said<u32>>,
    pub retry_on: Option<Said<Listed>>,
    pub redispatch: Option<Span>,
    pub connect: Option<Said<Duration>>,
    pub server: Option<Said<Duration>>,
    /// `http-request disable-l7-retry` without a condition.
    pub l7_is_off: bool,
    /// Of such rules, the conditions that are no methods.
    pub conditions: Vec<(String, Span)>,
    /// Whether it has servers to repeat to.
    pub has_servers: bool,
    unrepeated: Vec<&'static str>,
    repeated: Option<Vec<&'static str>>,
}

/// The methods that HAProxy knows and that people use.
const METHODS: [&str; 8] = [
    "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "POST", "PATCH",
];

impl Proxy {
    /// What holds in this section, of which self is the defaults.
    pub fn with(mut self, reading: &mut Reading<'_>, section: &Section) -> Self {
        for line in &section.lines {
            self.take(reading, line);
        }
        self
    }

    fn take(&mut self, reading: &mut Reading<'_>, line: &Line) {
        match (line.word(0), line.word(1)) {
            ("mode", mode) => self.is_http = mode == "http",
            ("retries", _) => self.retries = retries(reading, line).or(self.retries.take()),
            ("retry-on", _) => {
                // The last one holds.
                let value = retry_on::read(reading, line);
                self.retry_on = Some(Said {
                    value,
                    span: line.span(),
                });
            }
            ("server" | "server-template", _) => self.has_servers = true,
            ("option", "redispatch") => self.redispatch = Some(line.span()),
            ("no", "option") if line.word(2) == "redispatch" => self.redispatch = None,
            ("timeout", "connect") => self.connect = time(reading, line).or(self.connect.take()),
            ("timeout", "server") => self.server = time(reading, line).or(self.server.take()),
            ("http-request", "disable-l7-retry") => self.disable(line),
            _ => {}
        }
    }

    fn disable(&mut self, line: &Line) {
        let condition = line.rest(2);
        match (line.word(2), line.word(3), line.word(4)) {
            ("", ..) => self.l7_is_off = true,
            ("if", method, "") if named(method).is_some() => {
                self.unrepeated.extend(named(method).unwrap_or_default());
            }
            ("unless", method, "") if named(method).is_some() => {
                self.repeated = named(method).map(<[_]>::to_vec);
            }
            _ => self
                .conditions
                .push((format!("disable-l7-retry {condition}"), line.span())),
        }
    }

    /// Which methods are repeated: all, but for those that a rule takes out.
    pub fn methods(&self) -> Methods {
        match &self.repeated {
            None if self.unrepeated.is_empty() => Methods::Any,
            None => Methods::of(
                METHODS
                    .into_iter()
                    .filter(|it| !self.unrepeated.contains(it)),
            ),
            Some(repeated) => {
                let left = repeated.iter().copied();
                Methods::of(left.filter(|it| !self.unrepeated.contains(it)))
            }
        }
    }

    pub fn listed(&self) -> Listed {
        self.retry_on
            .as_ref()
            .map_or_else(Listed::connections_alone, |it| it.value)
    }
}

/// HAProxy's own names for methods (doc/configuration.txt 7.4).
fn named(acl: &str) -> Option<&'static [&'static str]> {
    Some(match acl {
        "METH_POST" => &["POST"],
        "METH_PUT" => &["PUT"],
        "METH_DELETE" => &["DELETE"],
        "METH_OPTIONS" => &["OPTIONS"],
        "METH_TRACE" => &["TRACE"],
        "METH_GET" => &["GET", "HEAD"],
        "METH_HEAD" => &["HEAD"],
        _ => return None,
    })
}

/// A frontend does not retry.
pub fn frontend(reading: &mut Reading<'_>, section: &Section) {
    for line in &section.lines {
        let (code, does) = match line.word(0) {
            "retries" => (code::KEY_NOT_READ, "ignores"),
            "retry-on" => (code::REFUSED, "refuses"),
            _ => continue,
        };
        let sentence = format!("HAProxy {does} `{}` in a frontend", line.word(0));
        reading.find(
            line.span(),
            code,
            sentence,
            "move it to the backend, or to `defaults`",
        );
    }
}

/// As `atol` reads it into an `int`: what is no number is 0, and what is too large keeps its lower 32 bits.
fn retries(reading: &mut Reading<'_>, line: &Line) -> Option<Said<u32>> {
    let span = line.span();
    if line.words.len() != 2 {
        reading.find(
            span,
            code::REFUSED,
            "HAProxy refuses `retries` without one number",
            "write `retries 3`",
        );
        return None;
    }
    let (text, at) = (line.word(1), line.words[1].span);
    let told = reading.told_text(Some(text), at, "a number of retries", |text| {
        text.bytes()
            .all(|it| it.is_ascii_digit())
            .then(|| text.parse().ok().filter(|it| i32::try_from(*it).is_ok()))?
    });
    let value = match told {
        Told::Is(value, _) => value,
        _ if crate::template::is_placeholder(text) => return None,
        _ => as_int(text),
    };
    Some(Said { value, span })
}

/// Below 0 nothing is repeated.
fn as_int(text: &str) -> u32 {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits]
        .parse()
        .unwrap_or(i64::MAX * i64::from(digits > 0));
    let lower = u32::try_from(number & 0xffff_ffff).unwrap_or(0);
    if i32::try_from(lower).is_ok() {
        lower
    } else {
        0
    }
}

fn time(reading: &mut Reading<'_>, line: &Line) -> Option<Said<Duration>> {
    let before = std::mem::replace(&mut reading.misread, code::REFUSED);
    let text = Some(line.word(2)).filter(|it| !it.is_empty());
    let told = reading.told_text(
        text,
        line.span(),
        "a time as HAProxy writes it, such as 5s or 300",
        millis,
    );
    reading.misread = before;
    told.known().map(|value| Said {
        value,
        span: line.span(),
    })
}

/// Milliseconds, or with a unit; a part of a millisecond is one more.
fn millis(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    let nanos: u64 = match unit {
        "us" => 1000,
        "" | "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.checked_mul(nanos).map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_retries_is_read_as_haproxy_reads_it() {
        for (text, number) in [
            ("3x", 3),
            ("-1", 0),
            ("x", 0),
            ("4294967298", 2),
            ("4294967295", 0),
            ("99999999999999999999", 0),
        ] {
            assert_eq!(as_int(text), number, "{text}");
        }
    }
}
