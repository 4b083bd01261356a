//! How does a line of JSON say a request? By the names of its members.
//!
//! They are those that Envoy Gateway and Istio give to Envoy's operators, and that people give to nginx's variables; letter
//! case and `-` for `_` make no difference.

use serde_json::{Map, Value};

use super::field::flags_say_left;
use super::members;
use super::names::Names;
use super::number::{SECOND, micros, status, whole_number};
use super::parts::{Line, Parts, Why, without_port, without_version};
use super::stamp::Stamp;
use super::unit::{Unit, has_point, with_units};
use super::upstreams::{self, duration, last_of, of_upstreams};

/// What this line is.
pub fn line(line: &[u8], names: &mut Names) -> Result<Line, Why> {
    let members = Members::of(members::object(line).map_err(|_| Why::Shape)?);
    let moment = |names: &[&str]| match members.get(names) {
        b"-" => Ok(None),
        value => Stamp::read(value).map(Some).ok_or(Why::Moment),
    };
    let millis = |names: &[&str]| match members.get(names) {
        b"-" => Ok(None),
        value => Unit::Millis.micros(value).map(Some).ok_or(Why::Duration),
    };
    let start = moment(&["start_time", "start"])?;
    // nginx's have a decimal point: others may be another unit.
    let seconds = match members.get(&["request_time"]) {
        b"-" => None,
        value => {
            let seconds = micros(value, SECOND).ok_or(Why::Duration)?;
            let says_unit = has_point(value);
            Some(says_unit.then_some(seconds).ok_or(Why::Unit)?)
        }
    };
    let ends = [
        "msec",
        "time_iso8601",
        "time_local",
        "end",
        "@timestamp",
        "timestamp",
        "time",
    ];
    // Whoever has nginx's time has nginx's moment, which is the end; of others nobody knows whether it is the start.
    let end = moment(if seconds.is_some() { &ends } else { &ends[..4] })?;
    let others = match members.named_unit("duration")? {
        None => members.whole_millis(start.is_none() && end.is_none())?,
        others => others,
    };
    let (tried_before, at_nginx) =
        of_upstreams(members.get(&["upstream_response_time"]), duration(SECOND))?;
    let at_envoy = millis(&["x_envoy_upstream_service_time", "upstream_service_time"])?;
    let attempts = whole_number(members.get(&["upstream_request_attempt_count"])).unwrap_or(1);
    let retries = u32::try_from(attempts).map_or(0, |it| it.saturating_sub(1));
    let upstream = members.get(&["upstream_host", "upstream_addr"]);
    let id = ["x_request_id", "http_x_request_id", "req_id", "request_id"];
    // Envoy hands on what the client sent; nginx's own variable is drawn anew for each request.
    let ids = if start.is_some() { 4 } else { 3 };
    let parts = Parts {
        start,
        end,
        duration: seconds.or(others),
        upstream_duration: at_nginx.or(at_envoy),
        tried_before,
        sent_after: millis(&["request_duration"])?,
        status: match members.get(&["response_code", "status"]) {
            b"-" => None,
            value => Some(status(value).ok_or(Why::Status)?),
        },
        client_left: flags_say_left(members.get(&["response_flags"])),
        client: without_port(members.get(&["downstream_remote_address", "remote_addr"])),
        forwarded: members.get(&["x_forwarded_for", "http_x_forwarded_for"]),
        method: members.get(&["method", "request_method"]),
        target: without_version(members.get(&[
            "path",
            "request_uri",
            "request",
            "x_envoy_origin_path",
        ])),
        id: members.get(&id[..ids]),
        upstream: last_of(upstream),
        retries: retries.max(upstreams::retries(upstream)),
        ..Parts::default()
    };
    parts.line(names)
}

/// The members of a line, as text.
struct Members(Vec<(String, String)>);

impl Members {
    fn of(members: Map<String, Value>) -> Self {
        let members = members.into_iter().filter_map(|(name, value)| {
            let value = members::text(&value)?.into_owned();
            Some((name.to_ascii_lowercase().replace('-', "_"), value))
        });
        Self(members.collect())
    }

    /// Envoy's duration: whole milliseconds, beside Envoy's own names for the start and the status.
    fn whole_millis(&self, has_no_moment: bool) -> Result<Option<u64>, Why> {
        let value = self.get(&["duration"]);
        let text = std::str::from_utf8(value).unwrap_or_default();
        if value == b"-" || self.get(&["request_time"]) != b"-" {
            return Ok(None);
        }
        if let Some(micros) = with_units(text) {
            return Ok(Some(micros));
        }
        let micros = Unit::Millis.micros(value).ok_or(Why::Duration)?;
        let is_envoy = self.get(&["start_time"]) != b"-"
            && self.get(&["response_code"]) != b"-"
            && !value.contains(&b'.');
        let is_known = is_envoy || has_no_moment;
        is_known.then_some(Some(micros)).ok_or(Why::Unit)
    }

    /// A duration whose name says its unit: `duration_ms`, `duration_us`.
    fn named_unit(&self, name: &str) -> Result<Option<u64>, Why> {
        for unit in ["s", "ms", "us", "ns"] {
            let value = self.get(&[&format!("{name}_{unit}")]);
            if value != b"-" {
                let micros = Unit::named(unit).and_then(|it| it.micros(value));
                return micros.map(Some).ok_or(Why::Duration);
            }
        }
        Ok(None)
    }

    /// What the first of these names says; a dash where none says anything.
    fn get(&self, names: &[&str]) -> &[u8] {
        let said = |wanted: &&str| {
            let found = self.0.iter().find(|(name, _)| name == wanted)?;
            let says_nothing = matches!(found.1.as_str(), "" | "-");
            (!says_nothing).then_some(found.1.as_bytes())
        };
        names.iter().find_map(said).unwrap_or(b"-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ended;

    fn read(text: &str) -> Result<Line, Why> {
        line(text.as_bytes(), &mut Names::default())
    }

    #[test]
    fn names_of_envoy_and_of_nginx_are_known() {
        for text in [
            r#"{"start_time":"1970-01-01T00:00:05.250Z","duration":17,"response_code":200,"response_flags":"-","request_id":"x","x-envoy-upstream-service-time":"16","upstream_host":"a:1","x-forwarded-for":null,"more":{"a":[1]}}"#,
            r#"{"msec":"5.267","request_time":"0.017","status":"200","upstream_response_time":"0.001, 0.011","upstream_addr":"a:1","http_x_request_id":"x"}"#,
            r#"{"msec":5.267,"request_time":0.017,"status":200,"upstream_addr":"a:1","X-Request-Id":"x"}"#,
            r#"{"@timestamp":"1970-01-01T00:00:05.267Z","request_time":0.017,"status":200,"upstream_addr":"a:1","req_id":"x"}"#,
            r#"{"time":"5.267","request_time":"0.017","status":200,"upstream_addr":"a:1","req_id":"x"}"#,
        ] {
            let Ok(Line::Request(seen)) = read(text) else {
                panic!("{text}: {:?}", read(text))
            };
            let request = seen.request;
            assert_eq!(
                (request.start, request.duration),
                (5_250_000, 17_000),
                "{text}"
            );
            assert_eq!(request.ended, Ended::Answered(200));
            assert!(request.id != 0 && request.upstream == 1, "{text}");
            let at_upstream = request.at_upstream.map(|it| (it.duration, it.earliest));
            let names = [
                ("upstream_response_time", (11_000, 1_000)),
                ("service-time", (16_000, 0)),
            ];
            let expected = names.iter().find(|it| text.contains(it.0)).map(|it| it.1);
            assert_eq!(at_upstream, expected, "{text}");
        }
    }

    #[test]
    fn an_id_that_nginx_draws_is_none() {
        let text = r#"{"msec":5.267,"request_time":0.017,"status":200,"request_id":"x"}"#;
        assert!(matches!(read(text), Ok(Line::Request(seen)) if seen.request.id == 0));
    }

    #[test]
    fn of_several_upstreams_the_last_one_answered() {
        let mut names = Names::default();
        let mut upstream = |list: &str| {
            let text = format!(
                r#"{{"msec":5.267,"request_time":0.017,"status":200,"upstream_addr":"{list}"}}"#
            );
            match line(text.as_bytes(), &mut names) {
                Ok(Line::Request(seen)) => (seen.request.upstream, seen.retries),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(upstream("a:1"), (1, 0));
        assert_eq!(upstream("b:1, a:1"), (1, 1));
        assert_eq!(upstream("a:1 : b:1"), (2, 0));
    }

    #[test]
    fn a_duration_that_may_be_seconds_is_not_read_as_milliseconds() {
        for (member, expected) in [
            (r#""duration":0.017"#, Err(Why::Unit)),
            (
                r#""start":"5","start_time":"-","duration":17"#,
                Err(Why::Unit),
            ),
            (r#""request_time":17"#, Err(Why::Unit)),
            (r#""request_time":0"#, Ok(0)),
            (r#""duration":"17ms""#, Ok(17_000)),
            (r#""duration_us":"17000""#, Ok(17_000)),
            (r#""duration":17"#, Err(Why::Unit)),
            (r#""duration":17,"response_code":200"#, Ok(17_000)),
            (r#""duration_ms":17.5"#, Ok(17_500)),
            (r#""duration":0.017,"request_time":0.017"#, Ok(17_000)),
        ] {
            let text = format!(r#"{{"start_time":"5",{member},"status":200}}"#);
            let duration = read(&text).map(|line| match line {
                Line::Request(seen) => seen.request.duration,
                Line::Other => 0,
            });
            assert_eq!(duration, expected, "{member}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_make_no_line_unreadable() {
        for agent in [&b"caf\xe9"[..], b"caf\\xE9", b"caf\\xE9 \xe9"] {
            let mut text = br#"{"msec":5.5,"request_time":0.5,"status":200,"agent":""#.to_vec();
            text.extend_from_slice(agent);
            text.extend_from_slice(b"\"}");
            let read = line(&text, &mut Names::default());
            assert!(matches!(read, Ok(Line::Request(_))), "{read:?}");
        }
    }

    #[test]
    fn who_left_has_a_flag_and_what_is_missing_is_told() {
        let left = r#"{"start_time":"5","duration":500,"response_code":0,"response_flags":"DC"}"#;
        assert!(
            matches!(read(left), Ok(Line::Request(seen)) if seen.request.ended == Ended::Abandoned)
        );
        for (text, why) in [
            ("{", Why::Shape),
            ("[]", Why::Shape),
            ("{} {}", Why::Shape),
            ("{}", Why::Duration),
            (r#"{"duration":5,"status":200}"#, Why::Moment),
            (
                r#"{"timestamp":"5","duration":5,"status":200}"#,
                Why::Moment,
            ),
            (
                r#"{"start_time":"then","duration":5,"response_code":200}"#,
                Why::Moment,
            ),
            (
                r#"{"start_time":"5","duration":-5,"status":200}"#,
                Why::Duration,
            ),
            (
                r#"{"start_time":"5","duration":5,"response_code":"OK"}"#,
                Why::Status,
            ),
        ] {
            assert_eq!(read(text), Err(why), "{text}");
        }
    }
}
