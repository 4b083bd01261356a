//! What becalm makes of HTTP requests and responses: statuses, methods, headers, and all of them
//! together.
#![cfg(feature = "http")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use becalm::http::{Exchange, classify_status, idempotency_key, operation, verdict};
use becalm::idempotency::InvalidKey;
use becalm::{
    Class, Classify, Effect, Failure, Hint, IdempotencyKey, Operation, classify::Cause,
    classify::Verdict,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

pub const FIRST: Exchange = Exchange::new(Operation::Idempotent, 1);
/// Sun, 06 Nov 1994 08:49:30 GMT.
const WALL: Duration = Duration::from_secs(784_111_770);

pub fn wall() -> SystemTime {
    UNIX_EPOCH + WALL
}

pub fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in lines {
        let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
        map.append(HeaderName::from_static(name), value);
    }
    map
}

pub fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap()
}

pub fn failure(code: u16, lines: &[(&'static str, &str)]) -> Failure {
    match verdict(status(code), &headers(lines), FIRST, wall) {
        Verdict::Failure(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_status_from_100_to_999_has_its_verdict() {
    let throttled = [429];
    let unsent = [425];
    let transient_4xx = [408, 425];
    let permanent_5xx = [501, 505, 506, 507, 508, 510, 511];
    for code in 100..=999 {
        let expected = if code < 400 {
            Verdict::Success
        } else {
            let permanent = match code {
                400..=499 => !transient_4xx.contains(&code) && !throttled.contains(&code),
                _ => permanent_5xx.contains(&code),
            };
            let class = if permanent {
                Class::Permanent
            } else if throttled.contains(&code) {
                Class::Throttled
            } else {
                Class::Transient
            };
            let failure = Failure::new(class).because(Cause::Status(code));
            let sent = !unsent.contains(&code);
            Verdict::Failure(if sent {
                failure
            } else {
                failure.unsent().healthy()
            })
        };
        assert_eq!(classify_status(status(code), FIRST), expected, "{code}");
    }
}

#[test]
fn the_words_of_proxies_without_room_throttle_what_may_pass() {
    for name in [
        "x-envoy-overloaded",
        "x-envoy-local-overloaded",
        "x-envoy-ratelimited",
        "finagle-http-nack",
    ] {
        for (value, code, class) in [
            ("true", 503, Class::Throttled),
            ("", 500, Class::Throttled),
            ("true", 408, Class::Throttled),
            (" False", 503, Class::Transient),
            ("true", 404, Class::Permanent),
            ("true", 501, Class::Permanent),
        ] {
            let judged = failure(code, &[(name, value)]);
            let expected = Failure::new(class).because(Cause::Status(code));
            assert_eq!(judged, expected, "{name}: {value}, {code}");
        }
        let answered = verdict(status(200), &headers(&[(name, "true")]), FIRST, wall);
        assert_eq!(answered, Verdict::Success);
        let of_grpc = [
            ("content-type", "application/grpc"),
            ("grpc-status", "14"),
            (name, "true"),
        ];
        assert_eq!(failure(200, &of_grpc).class, Class::Throttled);
    }
}

#[test]
fn a_status_returned_as_an_error_classifies_itself() {
    for code in [408, 425, 429, 500, 502, 503, 504] {
        assert_ne!(status(code).classify().class, Class::Permanent, "{code}");
    }
    for code in [
        200, 304, 400, 401, 403, 404, 409, 410, 422, 451, 499, 501, 505,
    ] {
        assert_eq!(status(code).classify().class, Class::Permanent, "{code}");
    }
    assert_eq!(status(425).classify().effect, Effect::Unsent);
}

#[test]
fn a_conflict_is_transient_only_for_a_keyed_operation_from_the_second_attempt_on() {
    let keyed = Operation::Keyed(IdempotencyKey::from_u128(7));
    for (operation, attempt, class) in [
        (keyed, 2, Class::Transient),
        (Operation::KeyedByCaller, 3, Class::Transient),
        (keyed, 1, Class::Permanent),
        (Operation::Idempotent, 2, Class::Permanent),
        (Operation::NotIdempotent, 2, Class::Permanent),
    ] {
        let exchange = Exchange::new(operation, attempt);
        let conflict = classify_status(status(409), exchange);
        let mut expected = Failure::new(class).because(Cause::Status(409));
        // It does the request: nothing is wrong with it.
        expected.healthy = class == Class::Transient;
        assert_eq!(conflict, expected.into(), "{exchange:?}");
        let key_reused = classify_status(status(422), exchange);
        let expected = Failure::permanent().because(Cause::Status(422));
        assert_eq!(key_reused, expected.into(), "{exchange:?}");
    }
}

#[test]
fn methods_are_idempotent_as_rfc_9110_says() {
    let none = HeaderMap::new();
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
        let method = method.parse().unwrap();
        assert_eq!(operation(&method, &none), Operation::Idempotent, "{method}");
    }
    for method in ["POST", "PATCH", "CONNECT", "MKCOL", "get", "GETS"] {
        let method = method.parse().unwrap();
        let found = operation(&method, &none);
        assert_eq!(found, Operation::NotIdempotent, "{method}");
    }
}

#[test]
fn a_key_from_the_caller_makes_any_method_repeatable() {
    for method in [Method::POST, Method::PATCH, Method::PUT] {
        for value in ["\"8e03978e-40d5-43dd-bc93-6894a57f9324\"", "order-17"] {
            let keyed = headers(&[("idempotency-key", value)]);
            assert_eq!(operation(&method, &keyed), Operation::KeyedByCaller);
        }
        let repeatable = headers(&[
            ("repeatability-request-id", "9d1b0a2c"),
            ("repeatability-first-sent", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ]);
        assert_eq!(operation(&method, &repeatable), Operation::KeyedByCaller);
    }
}

#[test]
fn half_a_key_or_a_doubtful_one_is_none() {
    for lines in [
        [("idempotency-key", ""), ("host", "x")],
        [("idempotency-key", "\"\""), ("host", "x")],
        [("idempotency-key", "a"), ("idempotency-key", "b")],
        [("repeatability-request-id", "9d1b0a2c"), ("host", "x")],
        [("repeatability-first-sent", "now"), ("host", "x")],
    ] {
        let found = operation(&Method::POST, &headers(&lines));
        assert_eq!(found, Operation::NotIdempotent, "{lines:?}");
    }
}

/// Garbage is no hint; what no clock can hold is a hint that no policy accepts.
/// The status allows a retry, the method does not, and no header can change that.
#[test]
fn a_post_is_not_repeatable_after_a_503() {
    let post = operation(&Method::POST, &HeaderMap::new());
    assert!(!post.is_repeatable());
    let insisting = headers(&[("x-should-retry", "true"), ("retry-after", "1")]);
    for lines in [HeaderMap::new(), insisting] {
        let answer = verdict(status(503), &lines, Exchange::new(post, 1), wall);
        let Verdict::Failure(failure) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(failure.class, Class::Transient);
        assert_eq!(failure.effect, Effect::Unknown);
    }
}

/// A line that is whole by itself may be broken as a part of the field, and the other way round.
/// The dates of quotas are counted like those of `retry-after`.
#[test]
fn a_grpc_answer_without_a_body_fails_by_its_own_status() {
    let judged =
        |lines: &[(&'static str, &str)]| verdict(status(200), &headers(lines), FIRST, wall);
    let kind = ("content-type", "application/grpc+proto");
    let code = |code| judged(&[kind, ("grpc-status", code)]);
    assert_eq!(code("0"), Verdict::Success);
    let because = |failure: Failure, code| failure.because(Cause::Code(code)).into();
    assert_eq!(code("14"), because(Failure::transient(), 14));
    assert_eq!(code("8"), because(Failure::throttled(), 8));
    assert_eq!(code("3"), because(Failure::permanent(), 3));
    assert_eq!(code("soon"), because(Failure::permanent(), 2));
    assert_eq!(judged(&[kind]), Verdict::Success);
    assert_eq!(judged(&[("grpc-status", "14")]), Verdict::Success);

    let pushed = |value| {
        judged(&[
            kind,
            ("grpc-status", "14"),
            ("grpc-retry-pushback-ms", value),
        ])
    };
    let exactly = Hint::Exactly(Duration::from_millis(250));
    assert_eq!(
        pushed("250"),
        because(Failure::transient().hint(exactly), 14)
    );
    let stop = because(Failure::transient().hint(Hint::Stop), 14);
    assert_eq!(pushed("-1"), stop);
    let told = judged(&[
        kind,
        ("grpc-status", "14"),
        ("becalm-retry", "do-not-retry"),
    ]);
    assert_eq!(told, stop);
}

#[test]
fn a_server_reads_one_quoted_key_and_takes_nothing_else_for_one() {
    let read = |lines: &[&str]| {
        let lines: Vec<_> = lines
            .iter()
            .map(|line| ("idempotency-key", *line))
            .collect();
        idempotency_key(&headers(&lines)).map(|key| key.map(str::to_owned))
    };
    assert_eq!(read(&[]), Ok(None));
    for (line, key) in [("\"8e03978e\"", "8e03978e"), (" \"a b\";p", "a b")] {
        assert_eq!(read(&[line]), Ok(Some(key.to_owned())), "{line}");
    }
    for lines in [
        &["8e03978e"][..],
        &[""],
        &["\"\""],
        &["\"a\", \"b\""],
        &["\"a\"", "\"a\""],
    ] {
        assert_eq!(read(lines), Err(InvalidKey::Quotes), "{lines:?}");
    }
}
