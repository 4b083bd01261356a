//! Which format did somebody write down? nginx's `log_format`, Apache's, Envoy's, or gunicorn's.

use super::field::Field;
use super::number::{MILLISECOND, SECOND};
use super::template::{Template, Token, Unusable};
use super::{apache, directive};

/// The line to write into nginx's configuration.
///
/// `$http_x_request_id` and not `$request_id`: the latter is drawn for each request
/// (<https://nginx.org/en/docs/http/ngx_http_core_module.html#var_request_id>), so that no retry shares it.
pub const ADVICE: &str = "log_format becalm '$msec,$request_time,$status,$remote_addr,$http_x_request_id,\
                          $upstream_addr,$upstream_response_time';";

/// The fields of [`ADVICE`].
pub const ADVISED: &str = "$msec,$request_time,$status,$remote_addr,$http_x_request_id,$upstream_addr,\
                           $upstream_response_time";

/// nginx's own format and Apache's, with these behind it.
macro_rules! combined {
    ($($behind:literal),*) => {
        concat!(
            r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#,
            $($behind),*
        )
    };
}

/// The format of nginx's packages, with this behind it.
macro_rules! main {
    ($behind:literal) => {
        combined!(r#" "$http_x_forwarded_for""#, $behind)
    };
}

/// Formats of nginx that many use, by name: nginx's own and those of its packages with a time added, as its own articles and
/// ingress-nginx have them (<https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/log-format/>). Times in quotes
/// look like an address that was forwarded, and stand before the formats that have one.
pub const NGINX: [(&str, &str); 12] = [
    ("nginx, as becalm asks for", ADVISED),
    (
        "nginx, combined and $request_time",
        combined!(" $request_time"),
    ),
    (
        "nginx, combined and both times",
        combined!(" $request_time $upstream_response_time"),
    ),
    (
        "nginx, combined and \"$request_time\"",
        combined!(r#" "$request_time""#),
    ),
    (
        "nginx, combined and both times in quotes",
        combined!(r#" "$request_time" "$upstream_response_time""#),
    ),
    ("nginx, main and $request_time", main!(" $request_time")),
    (
        "nginx, main and both times",
        main!(" $request_time $upstream_response_time"),
    ),
    (
        "nginx, main and \"$request_time\"",
        main!(r#" "$request_time""#),
    ),
    (
        "nginx, main and both times in quotes",
        main!(r#" "$request_time" "$upstream_response_time""#),
    ),
    (
        "nginx, upstream_time",
        combined!(
            r#" rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" urt="$upstream_response_time""#
        ),
    ),
    (
        "ingress-nginx",
        combined!(
            " $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr \
             $upstream_response_length $upstream_response_time $upstream_status $req_id"
        ),
    ),
    (
        "ingress-nginx, with $proxy_protocol_addr",
        r#"[$proxy_protocol_addr] - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time $upstream_status $req_id"#,
    ),
];

/// Formats that nginx, Apache and gunicorn write when nobody asks for another. They have no duration.
pub const WITHOUT_TIMES: [&str; 2] = [combined!(), main!("")];

/// Envoy's default
/// (<https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage#default-format-string>), and
/// Istio's, which has more in it (<https://istio.io/latest/docs/tasks/observability/logs/access-log/>).
pub const ENVOY: [(&str, &str); 2] = [
    (
        "Envoy, default",
        r#"[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%""#,
    ),
    (
        "Envoy, as Istio has it",
        r#"[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%"#,
    ),
];

/// Traefik's `common` (<https://doc.traefik.io/traefik/observability/access-logs/>): what Apache writes, and behind it the request's
/// number, the names of router and server, and whole milliseconds.
pub const TRAEFIK: [(&str, &str); 1] = [(
    "Traefik, common",
    r#"%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% - %USER% [%START_TIME%] "%REQUEST%" %RESPONSE_CODE% %BYTES_SENT% "%REQ(REFERER)%" "%REQ(USER-AGENT)%" %COUNT% "%ROUTE_NAME%" "%UPSTREAM_HOST%" %DURATION%ms"#,
)];

/// The format of this text, or of a directive with it: gunicorn's where it has a `%(`, Apache's where it has one of its letters,
/// nginx's where it has a `$`, else Envoy's.
pub fn template(text: &str) -> Result<Template, Unusable> {
    if apache::is_its(text) {
        return Template::new(tokens(&apache::text(text), apache::field));
    }
    Template::new(parse(&directive::text(text)?))
}

/// What lines of this text look like, whether there are requests in them or not.
pub fn shape(text: &str) -> Result<Template, Unusable> {
    if apache::is_its(text) {
        return Template::shape(tokens(text, apache::field));
    }
    Template::shape(parse(text))
}

fn parse(text: &str) -> Vec<Token> {
    let text = text.trim_end_matches("\\n").trim_end_matches('\n');
    let text = &text.replace("\\t", "\t");
    if text.contains("%(") {
        tokens(text, gunicorn)
    } else if text.contains('$') {
        tokens(text, nginx)
    } else {
        tokens(text, envoy)
    }
}

/// The parts of the text; `field` takes one off its front, with its length.
pub fn tokens(text: &str, field: fn(&str) -> Option<(Field, usize)>) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut between = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let Some((found, length)) = field(rest) else {
            between.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[letter.len_utf8()..];
            continue;
        };
        if !between.is_empty() {
            tokens.push(Token::Text(std::mem::take(&mut between)));
        }
        tokens.push(Token::Field(found));
        rest = &rest[length..];
    }
    if !between.is_empty() {
        tokens.push(Token::Text(between));
    }
    tokens
}

/// `$name` or `${name}` (<https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format>).
fn nginx(text: &str) -> Option<(Field, usize)> {
    let text = text.strip_prefix('$')?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let (name, length) = if let Some(text) = text.strip_prefix('{') {
        let (name, _) = text.split_once('}')?;
        (name, name.len() + 3)
    } else {
        let end = text.find(|letter| !is_name(letter)).unwrap_or(text.len());
        (&text[..end], end + 1)
    };
    if name.is_empty() {
        return None;
    }
    let field = match name {
        "msec" | "time_local" | "time_iso8601" => Field::End,
        "request_time" => Field::Duration(SECOND),
        "upstream_response_time" => Field::UpstreamDuration(SECOND),
        "status" => Field::Status,
        "remote_addr" | "binary_remote_addr" | "proxy_protocol_addr" => Field::Client,
        "http_x_forwarded_for" => Field::Forwarded,
        "request" => Field::RequestLine,
        "request_method" => Field::Method,
        "request_uri" => Field::Target,
        "http_x_request_id" | "req_id" | "http_idempotency_key" => Field::Id,
        "upstream_addr" => Field::Upstream,
        name if name.starts_with("upstream_") => Field::OtherOfUpstreams,
        _ => Field::Other,
    };
    Some((field, length))
}

/// `%NAME(arguments):length%`.
fn envoy(text: &str) -> Option<(Field, usize)> {
    let inner = text.strip_prefix('%')?;
    let name_ends = inner.find(|letter: char| !letter.is_ascii_uppercase() && letter != '_')?;
    let (name, rest) = inner.split_at(name_ends);
    if name.is_empty() {
        return None;
    }
    let (arguments, rest) = match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?,
        None => ("", rest),
    };
    let closing = rest.find('%')?;
    let length = text.len() - rest.len() + closing + 1;
    let field = match name {
        "START_TIME" => Field::Start,
        "REQUEST" => Field::RequestLine,
        "DURATION" => Field::Duration(MILLISECOND),
        "REQUEST_DURATION" => Field::SentAfter(MILLISECOND),
        "RESPONSE_CODE" => Field::Status,
        "RESPONSE_FLAGS" => Field::Flags,
        "DOWNSTREAM_REMOTE_ADDRESS" => Field::ClientWithPort,
        "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT" => Field::Client,
        "UPSTREAM_HOST" => Field::Upstream,
        "UPSTREAM_REQUEST_ATTEMPT_COUNT" => Field::Attempts,
        "RESP" if arguments.eq_ignore_ascii_case("x-envoy-upstream-service-time") => {
            Field::UpstreamDuration(MILLISECOND)
        }
        "REQ" => match arguments.to_ascii_lowercase().as_str() {
            ":method" => Field::Method,
            ":path" | "x-envoy-original-path?:path" | "x-envoy-original-path" => Field::Target,
            "x-forwarded-for" => Field::Forwarded,
            "x-request-id" | "idempotency-key" => Field::Id,
            _ => Field::Other,
        },
        _ => Field::Other,
    };
    Some((field, length))
}

/// `%(name)s` (<https://docs.gunicorn.org/en/stable/settings.html#access-log-format>), and `%(created)f` of a formatter of
/// Python's logging, as gunicorn's own moment is a whole second.
fn gunicorn(text: &str) -> Option<(Field, usize)> {
    let inner = text.strip_prefix("%(")?;
    let (name, rest) = inner.split_once(')')?;
    let conversion = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
    let length = text.len() - rest.len() + conversion + 1;
    let field = match name {
        "created" | "asctime" | "t" => Field::End,
        "L" | "T" => Field::Duration(SECOND),
        "M" => Field::Duration(MILLISECOND),
        "D" => Field::Duration(1),
        "s" => Field::Status,
        "h" => Field::Client,
        "r" => Field::RequestLine,
        "m" => Field::Method,
        "U" => Field::Target,
        "{x-forwarded-for}i" => Field::Forwarded,
        "{x-request-id}i" | "{idempotency-key}i" => Field::Id,
        _ => Field::Other,
    };
    Some((field, length))
}

#[cfg(test)]
mod tests {
    use super::super::names::Names;
    use super::*;
    use crate::Ended;

    #[test]
    fn every_format_that_many_use_can_be_read_but_those_without_times() {
        for (name, format) in NGINX.iter().chain(&ENVOY) {
            assert!(template(format).is_ok(), "{name}");
        }
        for format in WITHOUT_TIMES {
            assert_eq!(template(format).unwrap_err(), Unusable::NoDuration);
        }
        assert!(ADVICE.contains(ADVISED));
    }

    #[test]
    fn nginx_says_names_with_braces_and_without() {
        let template = template("${msec}s $request_time|$status $request_id").unwrap();
        let parts = template.read(b"5.250s 0.250|204 abc").unwrap();
        let seen = parts.seen(&mut Names::default()).unwrap();
        assert_eq!(
            (seen.request.start, seen.request.duration),
            (5_000_000, 250_000)
        );
        assert_eq!(seen.request.id, 0, "nginx draws it anew for each request");
    }

    #[test]
    fn what_was_never_answered_was_abandoned() {
        let template = template("$msec $request_time x/$status").unwrap();
        for status in ["000", "0", "-", "499"] {
            let line = format!("5.250 0.250 x/{status}");
            let parts = template.read(line.as_bytes()).unwrap();
            let request = parts.seen(&mut Names::default()).unwrap().request;
            assert_eq!(request.ended, Ended::Abandoned, "{status}");
        }
    }

    #[test]
    fn whatever_is_said_of_several_upstreams_is_a_list() {
        let ingress = NGINX
            .iter()
            .find(|(name, _)| *name == "ingress-nginx")
            .unwrap()
            .1;
        let line = |tried: [&str; 4]| {
            let [address, length, time, status] = tried;
            format!(
                "10.0.0.1 - - [23/Nov/2026:11:02:31 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"curl\" 417 0.017 [app-80] [] \
                 {address} {length} {time} {status} abc"
            )
        };
        let template = template(ingress).unwrap();
        for tried in [
            ["10.0.0.1:80", "5", "0.016", "200"],
            [
                "10.0.0.2:80, 10.0.0.1:80",
                "0, 5",
                "0.001, 0.015",
                "502, 200",
            ],
        ] {
            let line = line(tried);
            let parts = template.read(line.as_bytes()).unwrap();
            assert_eq!(
                (parts.upstream, parts.id),
                (&b"10.0.0.1:80"[..], &b"abc"[..]),
                "{line}"
            );
        }
    }

    #[test]
    fn envoy_has_arguments_and_lengths() {
        let template = template(
            "%START_TIME(%s.%3f)% %RESPONSE_CODE% %RESPONSE_FLAGS% %DURATION% %REQ(:PATH):20% \
             %UPSTREAM_REQUEST_ATTEMPT_COUNT%\n",
        )
        .unwrap();
        let parts = template.read(b"5.250 200 - 17 /a 3").unwrap();
        assert_eq!((parts.duration, parts.retries), (Some(17_000), 2));
        assert_eq!(parts.target, b"/a");
    }

    #[test]
    fn gunicorn_has_several_units() {
        for (format, line) in [
            ("%(created).6f %(L)s %(s)s", "5.25 0.017000 200"),
            ("%(t)s %(M)s %(s)s", "23/Nov/2026:11:02:31 +0000 17 200"),
            (
                "%(asctime)s %(D)s %(s)s %(r)s",
                "2026-11-23 11:02:31,123 17000 200 GET / HTTP/1.1",
            ),
        ] {
            let template = template(format).unwrap();
            assert_eq!(
                template.read(line.as_bytes()).unwrap().duration,
                Some(17_000)
            );
        }
    }
}
