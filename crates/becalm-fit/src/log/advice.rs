//! What is to be written into a server's configuration, so that its log says what a fit needs?

use super::{apache, written};

/// Servers, and what each is told.
///
/// ingress-nginx by <https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/configmap/#log-format-upstream>,
/// Istio by <https://istio.io/latest/docs/tasks/observability/logs/access-log/>, gunicorn by
/// <https://docs.gunicorn.org/en/stable/settings.html#access-log-format>, Kong by
/// <https://docs.konghq.com/gateway/latest/reference/configuration/#nginx_http_log_format>.
pub const SERVERS: [(&str, &str); 13] = [
    ("nginx", written::ADVICE),
    ("ingress-nginx", INGRESS),
    ("Apache", apache::ADVICE),
    (
        "gunicorn",
        "--access-logformat 'duration_us=%(D)s status=%(s)s client=%(h)s id=%({x-request-id}i)s', and in the formatter of \
         --log-config format=end=%(created).6f %(message)s",
    ),
    (
        "Envoy, Istio",
        "accessLogFile: /dev/stdout with accessLogFormat: \"\" in meshConfig: the default format has what is needed",
    ),
    ("HAProxy", "option httplog"),
    (
        "Caddy",
        "log { format json } with its default time_format and duration_format",
    ),
    ("Traefik", "accessLog: {format: json}"),
    (
        "Kong",
        "the plugin file-log; or KONG_NGINX_HTTP_LOG_FORMAT=\"becalm '$msec,$request_time,$status,$remote_addr,\
         $http_x_request_id,$upstream_addr,$upstream_response_time'\" and KONG_PROXY_ACCESS_LOG=\"/dev/stdout becalm\"",
    ),
    (
        "Tomcat",
        r#"pattern="start_ms=%{begin:msec}t duration_ms=%D status=%s client=%a id=%{X-Request-Id}i" (duration_us=%D from version 10 on)"#,
    ),
    (
        "morgan",
        "morgan((it, q, s) => JSON.stringify({end: new Date(), duration_ms: it['total-time'](q, s), status: s.statusCode}))",
    ),
    (
        "lograge",
        "config.lograge.custom_options = ->(_) { {end: Time.now.utc.iso8601(6)} }, and for becalm --json-fields \
         end=end,duration=duration:ms,status=status",
    ),
    (
        "uvicorn",
        "none: it writes neither a moment nor a duration, and no option makes it; log in a proxy before it, or in a middleware \
         that writes JSON with end, duration_ms and status",
    ),
];

/// What the `ConfigMap` of ingress-nginx is told.
const INGRESS: &str = "log-format-upstream: '$msec,$request_time,$status,$remote_addr,$http_x_request_id,$upstream_addr,\
                       $upstream_response_time'";

/// What this server is told.
pub fn of(server: &str) -> &'static str {
    let found = SERVERS.iter().find(|(name, _)| *name == server);
    found.map_or(written::ADVICE, |(_, line)| line)
}

/// The server that writes a format of this name, and what makes it write all that a fit needs.
pub fn of_format(format: &str) -> Option<(&'static str, &'static str)> {
    let server = server_of(format)?;
    Some((server, of(server)))
}

fn server_of(format: &str) -> Option<&'static str> {
    let begins = |(name, _): &&(&str, &str)| {
        let front = name.split(',').next().unwrap_or(name);
        format.starts_with(front) || format.strip_prefix("JSON, ").is_some_and(|it| it == *name)
    };
    SERVERS.iter().find(begins).map(|(name, _)| *name)
}

/// Programs that write no moment or no duration, how their lines begin and go on, and why they say too little.
pub fn of_lines(line: &[u8]) -> Option<(&'static str, &'static str)> {
    let text = std::str::from_utf8(line).ok()?;
    let has = |part: &str| text.contains(part);
    let is_method = [
        "GET ", "POST ", "PUT ", "DELETE ", "HEAD ", "PATCH ", "OPTIONS ",
    ]
    .iter()
    .any(|it| text.starts_with(it));
    if text.starts_with("INFO: ") && has(" - \"") && has("HTTP/") {
        Some((
            "uvicorn",
            "has neither a moment nor a duration in its lines",
        ))
    } else if has("kong_request_id: ") {
        Some(("Kong", "has no duration in its lines"))
    } else if is_method && has(" ms") {
        Some(("morgan", "has no moment in its lines"))
    } else if text.starts_with("method=") && has(" controller=") && !has(" end=") {
        Some(("lograge", "has no moment in its lines"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_told_something_of_its_own() {
        for (server, line) in SERVERS {
            assert_eq!(of(server), line);
        }
        for (format, server) in [
            ("ingress-nginx", Some("ingress-nginx")),
            (
                "ingress-nginx, with $proxy_protocol_addr",
                Some("ingress-nginx"),
            ),
            ("nginx, combined and $request_time", Some("nginx")),
            ("Apache, combined and %D", Some("Apache")),
            ("JSON, Caddy", Some("Caddy")),
            ("CSV", None),
        ] {
            assert_eq!(server_of(format), server, "{format}");
        }
    }

    #[test]
    fn lines_that_say_too_little_are_known_by_their_program() {
        for (line, server) in [
            (
                r#"INFO:     10.0.0.1:41290 - "GET /a HTTP/1.1" 200 OK"#,
                Some("uvicorn"),
            ),
            ("GET /a 200 1.234 ms - 512", Some("morgan")),
            (
                r#"10.0.0.1 - - [23/Nov/2026:11:02:31 +0000] "GET / HTTP/1.1" 200 5 "-" "-" kong_request_id: "a""#,
                Some("Kong"),
            ),
            (
                "method=GET path=/a controller=A action=b status=200 duration=1.2",
                Some("lograge"),
            ),
            ("hello", None),
        ] {
            assert_eq!(of_lines(line.as_bytes()).map(|it| it.0), server, "{line}");
        }
    }
}
