//! How does an Application Load Balancer of AWS write a request?
//!
//! By the fields of <https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-access-logs.html>: the time
//! is when the answer was made, and the request's creation stands behind it since 2018. Its trace id names an operation and
//! not a request, so that it tells nothing of retries.

use super::field::Field;
use super::names::Names;
use super::number::SECOND;
use super::parts::{Line, Why};
use super::template::Template;

/// The fields of a line, with one space between them; a quoted one has `true`.
pub const FIELDS: [(Field, bool); 23] = [
    (Field::Other, false), // type
    (Field::End, false),
    (Field::Other, false), // the load balancer
    (Field::ClientWithPort, false),
    (Field::Upstream, false),
    (Field::SentAfter(SECOND), false),
    (Field::UpstreamDuration(SECOND), false),
    (Field::Other, false), // time of the answer
    (Field::Status, false),
    (Field::Other, false), // the target's status
    (Field::Other, false), // bytes received
    (Field::Other, false), // bytes sent
    (Field::RequestLine, true),
    (Field::Other, true),  // user agent
    (Field::Other, false), // cipher
    (Field::Other, false), // protocol
    (Field::Other, false), // target group
    (Field::Other, true),  // trace
    (Field::Other, true),  // domain
    (Field::Other, true),  // certificate
    (Field::Other, false), // rule
    (Field::Start, false),
    (Field::Other, false), // all behind it
];

/// The format.
pub fn template() -> Template {
    Template::spaced(&FIELDS)
}

/// What this line is.
pub fn line(template: &Template, line: &[u8], names: &mut Names) -> Result<Line, Why> {
    let kind = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let parts = match kind {
        b"http" | b"https" | b"h2" | b"grpcs" => template.read(line)?,
        // A connection, not a request.
        b"ws" | b"wss" => return Ok(Line::Other),
        _ => return Err(Why::Shape),
    };
    parts.line(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtUpstream, Ended, Request};

    /// Shaped as the examples of AWS's page.
    const LINE: &str = r#"https 2026-11-23T11:02:31.364000Z app/my-lb/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/a?b=c HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678" 1 2026-11-23T11:02:31.186641Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-""#;

    fn read(text: &str) -> Result<Line, Why> {
        line(&template(), text.as_bytes(), &mut Names::default())
    }

    #[test]
    fn a_request_lasts_from_its_creation_to_its_answer() {
        let Ok(Line::Request(seen)) = read(LINE) else {
            panic!("it is a request")
        };
        let Request {
            start,
            duration,
            ended,
            client,
            target,
            id,
            upstream,
            at_upstream,
        } = seen.request;
        assert_eq!(start, 1_795_431_751_186_641);
        assert_eq!((duration, ended), (177_359, Ended::Answered(200)));
        assert!(client != 0 && target != 0 && id == 0 && upstream == 1);
        let told = AtUpstream {
            duration: 48_000,
            earliest: 86_000,
            latest: 86_000,
        };
        assert_eq!(at_upstream, Some(told));
    }

    #[test]
    fn who_left_has_460_and_web_sockets_are_no_requests() {
        let left = LINE
            .replace(" 200 200 0 57 ", " 460 - 0 0 ")
            .replace(" 10.0.0.1:80 0.086 0.048 0.037", " - -1 -1 -1");
        let Ok(Line::Request(seen)) = read(&left) else {
            panic!("{left}")
        };
        assert_eq!(
            (seen.request.ended, seen.request.upstream),
            (Ended::Abandoned, 0)
        );
        assert_eq!(seen.request.at_upstream, None);
        assert_eq!(
            read(&LINE.replace("https 2026", "wss 2026")),
            Ok(Line::Other)
        );
        assert_eq!(
            read(&LINE.replace("https 2026", "tls 2026")),
            Err(Why::Shape)
        );
        let quoted = LINE.replace("curl/7.46.0", r#"a \" b"#);
        assert!(matches!(read(&quoted), Ok(Line::Request(_))));
    }
}
