//! What does Apache's `LogFormat` say, and the patterns of those that took it over, such as Tomcat's?
//!
//! By <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>. `%t` is when a request came, `%D` microseconds. Before version 10
//! Tomcat's `%D` are milliseconds (<https://tomcat.apache.org/tomcat-9.0-doc/config/valve.html>): its pattern is given with `%{ms}T`.

use super::field::Field;
use super::number::{MILLISECOND, SECOND};

/// The line to write into Apache's configuration: its names say the units.
pub const ADVICE: &str = "LogFormat \"start_us=%{usec}t duration_us=%D status=%>s client=%a id=%{X-Request-Id}i\" becalm";

/// Apache's own formats with `%D` behind them. A number without a point says no unit, so that somebody has to name them.
pub const KNOWN: [(&str, &str); 5] = [
    (
        "Apache, combined and %D",
        r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %D"#,
    ),
    ("Apache, common and %D", r#"%h %l %u %t "%r" %>s %b %D"#),
    (
        "Apache, vhost_combined and %D",
        r#"%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i" %D"#,
    ),
    (
        "Apache, %D and combined",
        r#"%D %h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#,
    ),
    (
        "Apache, combined and \"%D\"",
        r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" "%D""#,
    ),
];

/// The text of a directive, `LogFormat "text" name`; anything else is such a text itself.
pub fn text(written: &str) -> String {
    let written = written.trim();
    let Some(rest) = written.strip_prefix("LogFormat") else {
        return written.to_owned();
    };
    let rest = rest.trim();
    let Some(quoted) = rest.strip_prefix('"') else {
        return rest.to_owned();
    };
    let mut text = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => {}
            },
            letter => text.push(letter),
        }
    }
    text
}

/// Whether a text is one of Apache's: Envoy's commands are words of capital letters, and end with `%`.
pub fn is_its(text: &str) -> bool {
    let begins = |front: &str| text.trim_start().starts_with(front);
    let has_its_own = ["%>s", "%<s", "%{", "%h ", "%t ", "%r\"", "%s "];
    begins("LogFormat") || has_its_own.iter().any(|it| text.contains(it)) && !text.contains("%(")
}

/// A field at the front of a text, with its length: `%>s`, `%{X-Request-Id}i`.
pub fn field(text: &str) -> Option<(Field, usize)> {
    let inner = text.strip_prefix('%')?;
    let behind = inner.trim_start_matches(|it: char| "<>!,".contains(it) || it.is_ascii_digit());
    let (argument, behind) = match behind.strip_prefix('{') {
        Some(rest) => rest.split_once('}')?,
        None => ("", behind),
    };
    // `%^ti` has two letters.
    let width = if behind.starts_with('^') { 3 } else { 1 };
    let letter = behind.get(..width)?;
    let mut length = text.len() - behind.len() + width;
    let argument_low = argument.to_ascii_lowercase();
    let field = match (letter, argument_low.as_str()) {
        ("t", _) => {
            length += rest_of_moment(&text[length..]);
            moment(argument)
        }
        ("D", _) | ("T", "us") => Field::Duration(1),
        ("T", "ms") => Field::Duration(MILLISECOND),
        ("T", _) => Field::Duration(SECOND),
        ("s", "") => Field::Status,
        ("h" | "a", _) => Field::Client,
        ("r", _) => Field::RequestLine,
        ("m", _) => Field::Method,
        ("U", _) => {
            // The query has a `?` of its own, and nothing stands between.
            length += if text[length..].starts_with("%q") {
                2
            } else {
                0
            };
            Field::Target
        }
        ("i", "x-forwarded-for") => Field::Forwarded,
        ("i", "x-request-id" | "idempotency-key") => Field::Id,
        (letter, _) if letter.starts_with(|it: char| it.is_ascii_alphabetic() || it == '^') => {
            Field::Other
        }
        _ => return None,
    };
    Some((field, length))
}

/// A moment is written in several fields, `%{%d/%b/%Y:%T}t.%{usec_frac}t %{%z}t`, and read as one.
fn rest_of_moment(text: &str) -> usize {
    let is_between = |it: char| ".,: T".contains(it);
    let rest = text.trim_start_matches(is_between);
    let field = rest.strip_prefix("%{").and_then(|it| it.split_once('}'));
    match field {
        Some((_, behind)) if behind.starts_with('t') => {
            let length = text.len() - behind.len() + 1;
            length + rest_of_moment(&text[length..])
        }
        _ => 0,
    }
}

fn moment(argument: &str) -> Field {
    let (is_end, format) = match argument.split_once(':') {
        Some(("end", format)) => (true, format),
        Some(("begin", format)) => (false, format),
        _ => (argument == "end", argument),
    };
    let unit = match format {
        "msec" => MILLISECOND,
        "usec" => 1,
        _ => SECOND,
    };
    match (is_end, unit) {
        (true, SECOND) => Field::End,
        (false, SECOND) => Field::Start,
        (true, unit) => Field::EndIn(unit),
        (false, unit) => Field::StartIn(unit),
    }
}

#[cfg(test)]
mod tests {
    use super::super::written::template;
    use super::*;

    fn read(text: &str, line: &str) -> (i64, u64) {
        let template = template(text).unwrap_or_else(|it| panic!("{text}: {it:?}"));
        let parts = template.read(line.as_bytes());
        let parts = parts.unwrap_or_else(|it| panic!("{text}: {it}: {line}"));
        let seen = parts.seen(&mut super::super::names::Names::default());
        let request = seen.expect("a request").request;
        (request.start, request.duration)
    }

    #[test]
    fn formats_of_apache_have_several_moments_and_units() {
        let begin = 1_795_431_751_000_000;
        for (text, line, start) in [
            (
                r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %D"#,
                r#"10.0.0.1 - - [23/Nov/2026:11:02:31 +0000] "GET / HTTP/1.1" 200 5 "-" "curl" 17000"#,
                begin,
            ),
            (
                r#"LogFormat "%h %l %u %t \"%r\" %>s %O %{ms}T" mine"#,
                r#"10.0.0.1 - - [23/Nov/2026:11:02:31 +0000] "GET / HTTP/1.1" 200 5 17"#,
                begin,
            ),
            (
                r#"%h [%{%d/%b/%Y:%T}t.%{usec_frac}t %{%z}t] "%r" %s %{us}T"#,
                r#"10.0.0.1 [23/Nov/2026:11:02:31.250125 +0000] "GET / HTTP/1.1" 200 17000"#,
                begin + 250_125,
            ),
            (
                r"%{end:msec}t %D %>s %U%q",
                "1795431751267 17000 200 /a?b=c",
                begin + 250_000,
            ),
            (
                r#"%h %l %u %t "%r" %s %b %T"#,
                r#"10.0.0.1 - - [23/Nov/2026:11:02:31 +0000] "GET / HTTP/1.1" 200 5 0.017"#,
                begin,
            ),
            (
                ADVICE,
                "start_us=1795431751250000 duration_us=17000 status=200 client=10.0.0.1 id=-",
                begin + 250_000,
            ),
        ] {
            assert!(is_its(text), "{text}");
            assert_eq!(read(text, line), (start, 17_000), "{text}");
        }
    }

    #[test]
    fn formats_of_others_are_not_taken_for_its_own() {
        for (_, text) in super::super::written::ENVOY {
            assert!(!is_its(text), "{text}");
        }
        assert!(!is_its("%START_TIME% %RESPONSE_CODE% %DURATION%ms"));
        assert!(!is_its(r#"%(h)s %(t)s "%(r)s" %(s)s %(L)s"#));
        for (name, text) in KNOWN {
            assert!(is_its(text) && template(text).is_ok(), "{name}");
        }
    }
}
