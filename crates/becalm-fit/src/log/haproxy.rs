//! How does HAProxy write a request?
//!
//! By `option httplog` (<https://docs.haproxy.org/2.6/configuration.html#8.2.3>), with or without the front of a line of syslog. Its
//! moments are of its own zone and name none: they are read as UTC, which shifts all of them alike.

use memchr::{memchr, memchr_iter, memrchr};

use super::names::Names;
use super::number::{MILLISECOND, micros, status, whole_number};
use super::parts::{Line, NO_ANSWER, Parts, Server, Why, without_port, without_version};
use super::stamp::Stamp;

/// What this line is.
pub fn line(line: &[u8], names: &mut Names) -> Result<Line, Why> {
    let Some((client, moment, rest)) = front(line) else {
        return if is_remark(line) {
            Ok(Line::Other)
        } else {
            Err(Why::Shape)
        };
    };
    let mut fields = rest.split(|byte| *byte == b' ');
    let mut next = || fields.next().ok_or(Why::Shape);
    let (_frontend, server, timers, answered, _bytes) =
        (next()?, next()?, next()?, next()?, next()?);
    let (_cookie, _set_cookie, flags, counts, queues) =
        (next()?, next()?, next()?, next()?, next()?);
    if flags.len() != 4 {
        return Err(Why::Shape);
    }
    let (reason, phase) = (flags[0], flags[1]);
    // No whole request came: a connection opened ahead, or a probe.
    if phase == b'R' {
        return Ok(Line::Other);
    }
    let client_left = reason == b'C' && matches!(phase, b'Q' | b'C' | b'H');
    let total = timers
        .split(|byte| *byte == b'/')
        .nth(4)
        .ok_or(Why::Shape)?;
    let total = total.strip_prefix(b"+").unwrap_or(total);
    let at_server = served(timers);
    let parts = Parts {
        start: Some(Stamp::read(moment).ok_or(Why::Moment)?),
        duration: Some(micros(total, MILLISECOND).ok_or(Why::Duration)?),
        upstream_duration: at_server.map(|it| it.1),
        sent_after: at_server.map(|it| it.0),
        status: match answered {
            _ if client_left => None,
            b"-1" => Some(NO_ANSWER),
            answered => Some(status(answered).ok_or(Why::Status)?),
        },
        client_left,
        client: without_port(client),
        target: target(rest),
        // `backend/<NOSRV>`: none was reached.
        upstream: if server.ends_with(b"<NOSRV>") {
            b"-"
        } else {
            server
        },
        retries: retries(counts),
        server: seen_by_server(counts, queues),
        ..Parts::default()
    };
    parts.line(names)
}

/// Of `TR/Tw/Tc/Tr/Ta`: when the request was there, and how long it took from then to the head of its answer, a wait for a place at the
/// server included. None of it, where the server gave no answer.
fn served(timers: &[u8]) -> Option<(u64, u64)> {
    let mut each = timers.split(|byte| *byte == b'/');
    let mut next = || micros(each.next()?, MILLISECOND);
    let (request, waited, connected, answered) = (next()?, next()?, next()?, next()?);
    Some((request, waited + connected + answered))
}

/// Client, moment, and what stands behind them: `10.0.0.1:5000 [23/Nov/2026:11:02:31.655] `.
fn front(line: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    memchr_iter(b'[', line).find_map(|at| {
        let behind = &line[at + 1..];
        if behind.get(2) != Some(&b'/') {
            return None;
        }
        let (moment, rest) = behind.split_at(memchr(b']', behind)?);
        let before = line[..at].strip_suffix(b" ")?;
        let from = memrchr(b' ', before).map_or(0, |at| at + 1);
        Some((&before[from..], moment, rest.strip_prefix(b"] ")?))
    })
}

/// HAProxy writes what happens to its servers among its requests: `Server app/a is DOWN`, `Proxy web started.`
fn is_remark(line: &[u8]) -> bool {
    let words = [
        &b"Server "[..],
        b"Proxy ",
        b"backend ",
        b"Health check ",
        b"Stopping ",
        b"[NOTICE]",
        b"[WARNING]",
    ];
    words
        .iter()
        .any(|word| memchr_iter(word[0], line).any(|at| line[at..].starts_with(word)))
}

/// The request at the end of a line, without its version; `<BADREQ>` is none.
fn target(rest: &[u8]) -> &[u8] {
    let quoted = memchr(b'"', rest).map(|at| &rest[at + 1..]);
    let quoted = quoted.map(|it| it.strip_suffix(b"\"").unwrap_or(it));
    match quoted.map(without_version) {
        None | Some(b"<BADREQ>") => b"-",
        Some(target) => target,
    }
}

/// The last of `actconn/feconn/beconn/srv_conn/retries`; a `+` before it says that another server was tried at last.
fn retries(counts: &[u8]) -> u32 {
    let last = counts
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default();
    number(last.strip_prefix(b"+").unwrap_or(last)).unwrap_or(0)
}

fn seen_by_server(counts: &[u8], queues: &[u8]) -> Option<Server> {
    let found = number(counts.split(|byte| *byte == b'/').nth(3)?)?;
    let each = queues.split(|byte| *byte == b'/').filter_map(number);
    Some(Server {
        found,
        queued: each.fold(0, u32::saturating_add),
    })
}

fn number(text: &[u8]) -> Option<u32> {
    whole_number(text).and_then(|it| u32::try_from(it).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtUpstream, Ended};

    /// The example of HAProxy's manual.
    const LINE: &str = r#"Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/4/2 3/2 {1wt.eu} {} "GET /index.html HTTP/1.1""#;

    fn read(text: &str) -> Result<Line, Why> {
        line(text.as_bytes(), &mut Names::default())
    }

    #[test]
    fn a_line_is_read_with_and_without_syslog() {
        let bare = &LINE[LINE.find("10.0.1.2").unwrap()..];
        for text in [LINE, bare, &LINE.replace("69/109", "69/+109")] {
            let Ok(Line::Request(seen)) = read(text) else {
                panic!("{text}")
            };
            let request = seen.request;
            assert_eq!(request.start, 1_233_922_454_655_000);
            assert_eq!(
                (request.duration, request.ended),
                (109_000, Ended::Answered(200))
            );
            assert!(request.client != 0 && request.target != 0 && request.upstream == 1);
            let told = AtUpstream {
                duration: 99_000,
                earliest: 10_000,
                latest: 10_000,
            };
            assert_eq!(request.at_upstream, Some(told));
            let server = Some(Server {
                found: 4,
                queued: 5,
            });
            assert_eq!((seen.retries, seen.server), (2, server));
        }
    }

    #[test]
    fn flags_say_who_left_and_when() {
        for (status, flags, expected) in [
            ("-1", "CH--", Some(Ended::Abandoned)),
            ("400", "CQ--", Some(Ended::Abandoned)),
            ("200", "CD--", Some(Ended::Answered(200))),
            ("503", "sQ--", Some(Ended::Answered(503))),
            ("504", "sH--", Some(Ended::Answered(504))),
            ("-1", "SH--", Some(Ended::Abandoned)),
            ("400", "CR--", None),
            ("408", "cR--", None),
        ] {
            let text = LINE
                .replace(" 200 ", &format!(" {status} "))
                .replace("----", flags);
            let ended = match read(&text) {
                Ok(Line::Request(seen)) => Some(seen.request.ended),
                Ok(Line::Other) => None,
                Err(why) => panic!("{why}: {text}"),
            };
            assert_eq!(ended, expected, "{flags}");
        }
    }

    #[test]
    fn remarks_are_no_requests_and_the_rest_is_told() {
        let remark =
            "Nov 23 11:02:31 localhost haproxy[1]: Server app/a is DOWN, reason: Layer4 timeout";
        assert_eq!(read(remark), Ok(Line::Other));
        assert_eq!(read("hello"), Err(Why::Shape));
        assert_eq!(read(&LINE.replace("655", "x")), Err(Why::Moment));
        assert_eq!(read(&LINE.replace("/109", "/-1")), Err(Why::Duration));
        let unserved = LINE.replace("static/srv1", "static/<NOSRV>");
        assert!(matches!(read(&unserved), Ok(Line::Request(seen)) if seen.request.upstream == 0));
    }
}
