//! What does one line say, and which request is that?

use std::fmt;

use super::names::Names;
use super::role::Role;
use super::stamp::Stamp;
use crate::{AtUpstream, Ended, Request};

/// The parts of a line, as they stand in it. Each format fills in what it has.
#[derive(Debug, Default)]
pub struct Parts<'a> {
    pub start: Option<Stamp>,
    pub end: Option<Stamp>,
    /// Microseconds.
    pub duration: Option<u64>,
    /// Microseconds that the upstream took that was tried last.
    pub upstream_duration: Option<u64>,
    /// Those that others took before it.
    pub tried_before: u64,
    /// Microseconds until the request was sent on, where that is told.
    pub sent_after: Option<u64>,
    pub status: Option<u16>,
    /// The log says that the client left.
    pub client_left: bool,
    pub client: &'a [u8],
    /// The client as a proxy before this one tells it.
    pub forwarded: &'a [u8],
    pub method: &'a [u8],
    pub target: &'a [u8],
    pub id: &'a [u8],
    pub upstream: &'a [u8],
    /// Retries by the very proxy that wrote the line.
    pub retries: u32,
    pub server: Option<Server>,
}

/// What a proxy says of the server to which it sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// Requests at the server when this one ended.
    pub found: u32,
    /// Requests that waited in the proxy before this one.
    pub queued: u32,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// A request.
    Request(Seen),
    /// Something else that may stand in such a log: a remark, a header, a connection without a request.
    Other,
}

/// A request, with what is known of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub request: Request,
    /// Retries by the very proxy that wrote the line.
    pub retries: u32,
    pub server: Option<Server>,
}

/// Why a line cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// It does not have the shape of the format.
    Shape,
    /// It is longer than any line of an access log.
    TooLong,
    /// There is no moment where one belongs.
    Moment,
    /// There is no duration where one belongs.
    Duration,
    /// There is no status where one belongs.
    Status,
    /// Its duration is a number, and nothing says in which unit.
    Unit,
    /// It does not have the member that says this.
    Lacks(Role),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shape => "it does not have the shape of this format",
            Self::TooLong => "it is longer than 64 KiB",
            Self::Moment => {
                "it says no moment: seconds since 1970, RFC 3339 or the common log format"
            }
            Self::Duration => "it says no duration",
            Self::Status => "it says no status",
            Self::Unit => {
                "its duration is a number that may be seconds, milliseconds or microseconds"
            }
            Self::Lacks(role) => return write!(f, "it does not have the member for {role}"),
        })
    }
}

impl Parts<'_> {
    /// The line that the parts make: a request, or a connection that became one of another protocol (101, RFC 9110 section
    /// 15.2.2), which lasts as long as somebody talks, or one on which none was sent.
    pub fn line(&self, names: &mut Names) -> Result<Line, Why> {
        if self.status == Some(101) || self.target.ends_with(UNSENT) {
            return Ok(Line::Other);
        }
        self.seen(names).map(Line::Request)
    }

    /// The request that the parts make.
    ///
    /// A client that left before there was an answer has abandoned it: nginx says 499, AWS's load balancer 460, others a status 0
    /// or none. One that left in the middle of the answer was answered.
    pub fn seen(&self, names: &mut Names) -> Result<Seen, Why> {
        let duration = match (self.duration, self.start, self.end) {
            (Some(duration), _, _) => duration,
            (None, Some(start), Some(end)) => {
                u64::try_from(end.micros - start.micros).map_err(|_| Why::Duration)?
            }
            _ => {
                let last = self.upstream_duration.ok_or(Why::Duration)?;
                last.saturating_add(self.tried_before)
            }
        };
        let start = match (self.start, self.end) {
            (Some(start), _) => start.micros,
            (None, Some(end)) => {
                let duration = i64::try_from(duration).map_err(|_| Why::Duration)?;
                end.micros.checked_sub(duration).ok_or(Why::Duration)?
            }
            (None, None) => return Err(Why::Moment),
        };
        if duration > LONGEST {
            return Err(Why::Duration);
        }
        let ended = match self.status {
            Some(NO_ANSWER | 499 | 460) => Ended::Abandoned,
            None if self.client_left => Ended::Abandoned,
            // What is above those of HTTP is as one of 5xx (RFC 9110, section 15).
            Some(status) if status >= 100 => Ended::Answered(status),
            _ => return Err(Why::Status),
        };
        let target = names.number(&[self.method, self.target]);
        let client = match first_address(self.forwarded) {
            b"" | b"-" => self.client,
            forwarded => forwarded,
        };
        Ok(Seen {
            request: Request {
                start,
                duration,
                ended,
                client: names.number(&[client]),
                target,
                // One id may go along through several requests of one operation: only those for the same are retries.
                id: names.within(target, self.id),
                upstream: names.upstream(self.upstream),
                at_upstream: self.at_upstream(duration),
            },
            retries: self.retries,
            server: self.server,
        })
    }
}

impl Parts<'_> {
    /// When the upstream had a request that took so long.
    fn at_upstream(&self, whole: u64) -> Option<AtUpstream> {
        let duration = self.upstream_duration?;
        let room = whole.saturating_sub(duration);
        let earliest = self.sent_after.unwrap_or(self.tried_before).min(room);
        let is_told = self.sent_after.is_some() || self.has_no_body();
        Some(AtUpstream {
            duration,
            earliest,
            latest: if is_told { earliest } else { room },
        })
    }

    /// Whether it is a request of a kind that brings nothing that its client could send slowly.
    fn has_no_body(&self) -> bool {
        let method = match self.method {
            b"" | b"-" => self.target.split(|byte| *byte == b' ').next(),
            method => Some(method),
        };
        matches!(
            method,
            Some(b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"DELETE")
        )
    }
}

/// The status of what was never answered: `000` of Squid and curl, `0` of Envoy, `-` of Apache, `-1` of HAProxy.
pub const NO_ANSWER: u16 = 0;

/// What Squid writes in place of an address for a connection that ended before it brought a request.
const UNSENT: &[u8] = b"error:transaction-end-before-headers";

/// A week in microseconds: what lasts longer is no request.
const LONGEST: u64 = 7 * 86_400 * 1_000_000;

/// The first of `client, proxy1, proxy2`.
fn first_address(forwarded: &[u8]) -> &[u8] {
    let end = forwarded.iter().position(|byte| *byte == b',');
    forwarded[..end.unwrap_or(forwarded.len())].trim_ascii()
}

/// An address without its port: `10.0.0.1:5000`, `[::1]:5000`.
pub fn without_port(address: &[u8]) -> &[u8] {
    match address.iter().rposition(|byte| *byte == b':') {
        Some(at) if address[at + 1..].iter().all(u8::is_ascii_digit) => &address[..at],
        _ => address,
    }
}

/// What was asked for in `GET /path HTTP/1.1`, without the version.
pub fn without_version(line: &[u8]) -> &[u8] {
    match line.iter().rposition(|byte| *byte == b' ') {
        Some(at) if line[at + 1..].starts_with(b"HTTP/") => &line[..at],
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(micros: i64) -> Stamp {
        Stamp { micros }
    }

    fn full() -> Parts<'static> {
        Parts {
            end: Some(stamp(5_000)),
            duration: Some(2_000),
            status: Some(200),
            ..Parts::default()
        }
    }

    #[test]
    fn the_start_is_the_end_less_the_duration_unless_it_is_told() {
        let mut names = Names::default();
        let request = full().seen(&mut names).unwrap().request;
        assert_eq!((request.start, request.duration), (3_000, 2_000));
        assert_eq!((request.client, request.target, request.id), (0, 0, 0));
        let told = Parts {
            start: Some(stamp(1_000)),
            duration: None,
            ..full()
        };
        let request = told.seen(&mut names).unwrap().request;
        assert_eq!((request.start, request.duration), (1_000, 4_000));
        let backwards = Parts {
            start: Some(stamp(9_000)),
            duration: None,
            ..full()
        };
        assert_eq!(backwards.seen(&mut names), Err(Why::Duration));
    }

    #[test]
    fn who_leaves_before_an_answer_abandons() {
        let mut names = Names::default();
        for (status, client_left, expected) in [
            (Some(200), false, Ok(Ended::Answered(200))),
            (Some(200), true, Ok(Ended::Answered(200))),
            (Some(499), false, Ok(Ended::Abandoned)),
            (Some(460), false, Ok(Ended::Abandoned)),
            (Some(0), true, Ok(Ended::Abandoned)),
            (None, true, Ok(Ended::Abandoned)),
            (Some(0), false, Ok(Ended::Abandoned)),
            (None, false, Err(Why::Status)),
            (Some(99), false, Err(Why::Status)),
            (Some(999), false, Ok(Ended::Answered(999))),
        ] {
            let parts = Parts {
                status,
                client_left,
                ..full()
            };
            let ended = parts.seen(&mut names).map(|it| it.request.ended);
            assert_eq!(ended, expected, "{status:?} {client_left}");
        }
    }

    #[test]
    fn an_upstream_had_a_request_for_a_part_of_its_time() {
        let at_upstream = |parts: Parts<'_>| parts.seen(&mut Names::default()).unwrap().request;
        let told = |duration, earliest, latest| {
            Some(AtUpstream {
                duration,
                earliest,
                latest,
            })
        };
        let parts = || Parts {
            upstream_duration: Some(500),
            tried_before: 200,
            ..full()
        };
        // A body may have come first.
        assert_eq!(at_upstream(parts()).at_upstream, told(500, 200, 1_500));
        let get = Parts {
            target: b"GET /a",
            ..parts()
        };
        assert_eq!(at_upstream(get).at_upstream, told(500, 200, 200));
        let sent = Parts {
            sent_after: Some(700),
            ..parts()
        };
        assert_eq!(at_upstream(sent).at_upstream, told(500, 700, 700));
        // Each is cut to steps of its own.
        let longer = Parts {
            upstream_duration: Some(2_001),
            tried_before: 0,
            ..full()
        };
        assert_eq!(at_upstream(longer).at_upstream, told(2_001, 0, 0));
        let alone = Parts {
            duration: None,
            ..parts()
        };
        let alone = at_upstream(alone);
        assert_eq!((alone.duration, alone.start), (700, 4_300));
        assert_eq!(at_upstream(full()).at_upstream, None);
    }

    #[test]
    fn a_conversation_of_another_protocol_is_no_request() {
        let parts = Parts {
            status: Some(101),
            ..full()
        };
        assert_eq!(parts.line(&mut Names::default()), Ok(Line::Other));
    }

    #[test]
    fn a_connection_on_which_nothing_was_sent_is_no_request() {
        let parts = Parts {
            status: Some(NO_ANSWER),
            target: b"error:transaction-end-before-headers",
            ..full()
        };
        assert_eq!(parts.line(&mut Names::default()), Ok(Line::Other));
    }

    #[test]
    fn the_client_is_the_one_before_the_proxies_and_an_id_counts_for_its_target() {
        let mut names = Names::default();
        let parts = |forwarded, target, id| Parts {
            client: b"10.0.0.9",
            forwarded,
            target,
            id,
            ..full()
        };
        let mut seen = |forwarded: &'static [u8], target: &'static [u8], id: &'static [u8]| {
            parts(forwarded, target, id)
                .seen(&mut names)
                .unwrap()
                .request
        };
        let (one, other) = (seen(b"a, b", b"/x", b"7"), seen(b"a", b"/y", b"7"));
        assert_eq!(one.client, other.client);
        assert_ne!(one.id, other.id);
        assert_eq!(one.id, seen(b"-", b"/x", b"7").id);
        assert_ne!(one.client, seen(b"-", b"/x", b"7").client);
        assert_eq!(seen(b"a", b"/x", b"-").id, 0);
    }

    #[test]
    fn addresses_and_request_lines_are_cut() {
        assert_eq!(without_port(b"10.0.0.1:80"), b"10.0.0.1");
        assert_eq!(without_port(b"[::1]:80"), b"[::1]");
        assert_eq!(without_port(b"unix:/run/app"), b"unix:/run/app");
        assert_eq!(without_version(b"GET /a b HTTP/1.1"), b"GET /a b");
        assert_eq!(without_version(b"garbage"), b"garbage");
    }
}
