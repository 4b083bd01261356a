//! Which programs are known by the names in their lines? And what might the names of another mean?

use super::fields::Fields;
use super::members::Members;
use super::role::Role;
use super::whole;

/// Paths, and what their values begin with.
type Marks = &'static [(&'static str, &'static str)];

/// Programs by name, what their fields are called, and what tells their lines from those of others.
///
/// Caddy and pino write at the end of a request. A load balancer of Google has the moment at which its first layer receives
/// it (<https://cloud.google.com/load-balancing/docs/https/https-logging-monitoring>, *Log fields*); no page says so of
/// Cloud Run, which is therefore not here. Kong says it by name (<https://docs.konghq.com/hub/kong-inc/file-log/>).
const PROGRAMS: [(&str, &str, Marks); 5] = [
    (
        "JSON, Caddy",
        "end=ts,duration=duration:decimal,status=status,client=request.client_ip,client=request.remote_ip,\
         method=request.method,target=request.uri,id=request.headers.X-Request-Id,id=request.headers.Idempotency-Key",
        &[("logger", "http.log.access"), ("duration", "")],
    ),
    (
        "JSON, Traefik",
        "start=StartUTC,start=StartLocal,duration=Duration:ns,status=DownstreamStatus,client=ClientHost,\
         method=RequestMethod,target=RequestPath,id=request_X-Request-Id,upstream=ServiceAddr,\
         upstream-time=OriginDuration:ns,retries=RetryAttempts",
        &[("DownstreamStatus", ""), ("Duration", "")],
    ),
    (
        "JSON, load balancer of Google Cloud",
        "start=timestamp,duration=httpRequest.latency,status=httpRequest.status,client=httpRequest.remoteIp,\
         method=httpRequest.requestMethod,target=httpRequest.requestUrl,upstream=httpRequest.serverIp,\
         left=jsonPayload.statusDetails",
        &[
            ("resource.type", "http_load_balancer"),
            ("httpRequest.requestMethod", ""),
        ],
    ),
    (
        "JSON, Kong",
        "start=started_at,duration=latencies.request:ms,status=response.status,client=client_ip,\
         method=request.method,target=request.uri,id=request.headers.x-request-id,upstream=tries.-1.ip,\
         upstream-time=latencies.proxy:ms",
        &[("latencies.request", ""), ("started_at", "")],
    ),
    (
        "JSON, pino",
        "end=time,duration=responseTime:ms,status=res.statusCode,client=req.remoteAddress,method=req.method,\
         target=req.url,id=req.headers.x-request-id",
        &[("responseTime", ""), ("res.statusCode", ""), ("pid", "")],
    ),
];

/// Pairs whose names say the units, as becalm asks for where a server writes what it is told to.
const PAIRS: (&str, &str) = (
    "name=value",
    "start=start,start=start_ms:ms,start=start_us:us,end=end,end=end_ms:ms,end=end_us:us,duration=duration,\
     duration=duration_s:s,duration=duration_ms:ms,duration=duration_us:us,duration=duration_ns:ns,status=status,\
     client=client,id=id,target=target,upstream=upstream",
);

/// Those of JSON.
pub fn programs() -> impl Iterator<Item = (&'static str, Fields)> {
    PROGRAMS
        .into_iter()
        .map(|(name, text, marks)| (name, Fields::known(text, marks)))
}

/// Those of pairs.
pub fn pairs() -> (&'static str, Fields) {
    (PAIRS.0, Fields::known(PAIRS.1, &[]))
}

/// Names that moments have elsewhere.
const MOMENTS: [(&str, &str); 17] = [
    ("start", "start_time"),
    ("start", "started_at"),
    ("start", "event.start"),
    ("start", "start"),
    ("end", "event.end"),
    ("end", "end_time"),
    ("end", "end"),
    ("end", "@timestamp"),
    ("end", "timestamp"),
    ("end", "ts"),
    ("end", "msec"),
    ("end", "time"),
    ("end", "datetime"),
    ("end", "time_iso8601"),
    ("end", "time_local"),
    ("end", "date"),
    ("end", "t"),
];

/// Names that durations have, with their unit where the name or its specification says it: `event.duration` is of ECS
/// (<https://www.elastic.co/guide/en/ecs/current/ecs-event.html>), `reqtime` of LTSV (<http://ltsv.org>).
const DURATIONS: [(&str, &str); 27] = [
    ("event.duration", "ns"),
    ("httpRequest.latency", ""),
    ("duration_ms", "ms"),
    ("duration_us", "us"),
    ("duration_ns", "ns"),
    ("duration_s", "s"),
    ("latency_ms", "ms"),
    ("elapsed_ms", "ms"),
    ("response_time_ms", "ms"),
    ("request_time_ms", "ms"),
    ("took_ms", "ms"),
    ("reqtime", "s"),
    ("reqtime_microsec", "us"),
    ("request_time", "?"),
    ("duration", "?"),
    ("latency", "?"),
    ("elapsed", "?"),
    ("elapsed_time", "?"),
    ("response_time", "?"),
    ("responseTime", "?"),
    ("took", "?"),
    ("time_taken", "?"),
    ("process_time", "?"),
    ("processing_time", "?"),
    ("http.duration", "?"),
    ("dur", "?"),
    ("d", "?"),
];

/// Names that statuses have.
const STATUSES: [&str; 14] = [
    "http.response.status_code",
    "http.status_code",
    "response_code",
    "status",
    "status_code",
    "statusCode",
    "res.statusCode",
    "response.status",
    "httpRequest.status",
    "http_status",
    "code",
    "DownstreamStatus",
    "res.status",
    "s",
];

/// Which names of these lines may mean what: of the first that has most. Nothing of the line is in it but names that are in this file.
/// `whole` are the lines with what stands in front of them, which may be a moment.
/// `None` of lines that are no JSON and have neither a duration nor a status by a usual name.
pub fn suggestion(lines: &[&[u8]], whole: &[&[u8]]) -> Option<String> {
    let find = |line: &&[u8]| {
        let members = Members::of(line)?;
        let has = |path: &str| members.at(path).is_some();
        let found = (
            MOMENTS.into_iter().find(|(_, path)| has(path)),
            DURATIONS.into_iter().find(|(path, _)| has(path)),
            STATUSES.into_iter().find(|path| has(path)),
        );
        let rest = (found.1.is_some(), found.2.is_some());
        let is_its = matches!(members, Members::Json(_)) || rest.0 || rest.1;
        let count = [found.0.is_some(), rest.0, rest.1];
        let count = count.iter().filter(|it| **it).count();
        is_its.then_some((count, members, found))
    };
    // Of equals the first.
    let best = lines.iter().rev().filter_map(find).max_by_key(|it| it.0)?;
    let (_, members, (moment, duration, status)) = best;
    let (Some((at, moment)), Some((duration, unit)), Some(status)) = (moment, duration, status)
    else {
        if let Some(format) = whole.iter().find_map(|line| by_front(line)) {
            return Some(format!(
                "their moment stands at the front, without a name: --log-format '{format}' reads such lines"
            ));
        }
        let lacks = [
            (moment.is_none(), "moment"),
            (duration.is_none(), "duration"),
            (status.is_none(), "status"),
        ];
        let lacks: Vec<_> = lacks.into_iter().filter(|it| it.0).map(|it| it.1).collect();
        return Some(format!(
            "no {} is found in it by a usual name; name what it has: --json-fields end=NAME,duration=NAME:UNIT,status=NAME",
            lacks.join(" and no ")
        ));
    };
    let says_unit = members
        .at(duration)
        .is_some_and(|it| super::unit::with_units(&it).is_some());
    let unit = match unit {
        _ if says_unit => "",
        "" => "",
        "?" => ":UNIT",
        unit => &format!(":{unit}"),
    };
    let mut text = format!(
        "say what they mean: --json-fields {at}={moment},duration={duration}{unit},status={status}"
    );
    if unit == ":UNIT" {
        text.push_str(", with s, ms, us or ns for UNIT, which becalm does not guess");
    }
    if at == "end" && moment != "end" && moment != "event.end" {
        text.push_str("; start= in place of end= if its moment is the beginning of a request");
    }
    Some(text)
}

/// The format that reads a line with a moment at its front, by usual names.
fn by_front(line: &[u8]) -> Option<String> {
    // Heroku's router; elsewhere that names a service.
    let durations = DURATIONS.into_iter().chain([("service", "")]);
    let pairs = durations.flat_map(|it| STATUSES.map(|status| (it, status)));
    let mut formats =
        pairs.filter_map(|((name, unit), status)| whole::format(line, name, unit, status));
    formats.next()
}

impl Fields {
    /// The fields as somebody said them, for a sentence: `duration=took`.
    pub(super) fn as_said(&self, role: Role) -> String {
        format!("{role}={}", self.path(role).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::Names;
    use super::super::parts::Line;
    use super::*;

    #[test]
    fn programs_are_read_and_not_taken_for_each_other() {
        let lines = [
            (
                "JSON, Caddy",
                r#"{"logger":"http.log.access.log0","ts":1795431751.267,"duration":0.017,"status":200,"request":{"remote_ip":"a","uri":"/"}}"#,
            ),
            (
                "JSON, Traefik",
                r#"{"StartUTC":"2026-11-23T11:02:31.25Z","Duration":17000000,"DownstreamStatus":200,"ServiceAddr":"a:1","RetryAttempts":0}"#,
            ),
            (
                "JSON, load balancer of Google Cloud",
                r#"{"timestamp":"2026-11-23T11:02:31.25Z","httpRequest":{"requestMethod":"GET","latency":"0.017s","status":200},"resource":{"type":"http_load_balancer"}}"#,
            ),
            (
                "JSON, Kong",
                r#"{"started_at":1795431751250,"latencies":{"request":17},"response":{"status":200},"tries":[{"ip":"a"}]}"#,
            ),
            (
                "JSON, Kong",
                r#"{"started_at":1795431751.25,"latencies":{"request":17},"response":{"status":200}}"#,
            ),
            (
                "JSON, pino",
                r#"{"pid":1,"time":"2026-11-23T11:02:31.267Z","responseTime":17,"res":{"statusCode":200},"req":{"url":"/"}}"#,
            ),
        ];
        for (name, line) in lines {
            for (of, fields) in programs() {
                let read = fields.line(line.as_bytes(), &mut Names::default());
                match read {
                    Ok(Line::Request(seen)) if of == name => {
                        let request = seen.request;
                        assert_eq!(
                            (request.start, request.duration),
                            (1_795_431_751_250_000, 17_000),
                            "{of}"
                        );
                    }
                    read => assert!(of != name && read.is_err(), "{name} as {of}: {read:?}"),
                }
            }
        }
        let pairs = pairs().1.line(
            b"start_us=5250000 duration_us=17000 status=200 client=10.0.0.1 id=-",
            &mut Names::default(),
        );
        assert!(matches!(pairs, Ok(Line::Request(seen)) if seen.request.duration == 17_000));
    }

    #[test]
    fn caddy_without_a_decimal_point_was_told_another_unit() {
        let line =
            r#"{"logger":"http.log.access","ts":1795431751.267,"duration":17000000,"status":200}"#;
        let (_, caddy) = programs().next().expect("the first");
        let read = caddy.line(line.as_bytes(), &mut Names::default());
        assert_eq!(read, Err(super::super::parts::Why::Unit));
    }

    #[test]
    fn names_of_others_are_suggested_and_nothing_else_of_the_line() {
        for (line, part) in [
            (
                r#"{"ts":5.2,"latency":0.017,"status":200}"#,
                "--json-fields end=ts,duration=latency:UNIT,status=status, with s, ms",
            ),
            (
                r#"{"ts":5.2,"latency":"17ms","status":200}"#,
                "--json-fields end=ts,duration=latency,status=status; start=",
            ),
            (
                r#"{"@timestamp":"x","event.duration":17,"http":{"response":{"status_code":200}}}"#,
                "end=@timestamp,duration=event.duration:ns,status=http.response.status_code;",
            ),
            (
                "method=GET path=/secret status=200 duration=17.2",
                "no moment is found in it",
            ),
        ] {
            let sentence = suggestion(&[line.as_bytes()], &[]).expect(line);
            assert!(
                sentence.contains(part) && !sentence.contains("secret"),
                "{sentence}"
            );
        }
        // A first line that lacks something says nothing of the others.
        let lines: [&[u8]; 3] = [
            br#"{"ts":5.2,"latency":"17ms"}"#,
            br#"{"ts":5.2,"latency":"17ms","code":200}"#,
            br#"{"ts":5.2,"code":200}"#,
        ];
        let sentence = suggestion(&lines, &[]).expect("names");
        assert!(
            sentence.contains("end=ts,duration=latency,status=code;"),
            "{sentence}"
        );
        let nginx = br#"{"msec":"5.2","request_time":"17","status":"200"}"#;
        let sentence = suggestion(&[nginx], &[]).expect("names");
        assert!(
            sentence.contains("end=msec,duration=request_time:UNIT,status=status,"),
            "{sentence}"
        );
        assert_eq!(suggestion(&[b"hello"], &[]), None);
        assert_eq!(suggestion(&[b"a=b c=d"], &[]), None);
    }
}
