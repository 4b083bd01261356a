//! Responses: whatever their headers hold, the verdict is the status's but for the server's own
//! advice, and another header line never makes the retry earlier.
#![no_main]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use becalm::http::{Exchange, hint, operation, should_retry, verdict};
use becalm::{Class, Effect, Hint, Operation, classify::Verdict};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use libfuzzer_sys::fuzz_target;

/// From the finest to the coarsest.
const DELAYS: [&str; 4] = [
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-amz-retry-after",
    "retry-after",
];
const OTHERS: [&str; 12] = [
    "date",
    "x-should-retry",
    "stripe-should-retry",
    "idempotency-key",
    "repeatability-request-id",
    "repeatability-first-sent",
    "becalm-retry",
    "finagle-http-nonretryable-nack",
    "ratelimit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after",
];

fn wall() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(784_111_770)
}

/// Lines that start with a header's number in the lists above.
fn headers<'a>(lines: impl Iterator<Item = &'a [u8]>) -> HeaderMap {
    let names = DELAYS.iter().chain(&OTHERS).copied();
    let names: Vec<_> = names.map(HeaderName::from_static).collect();
    let mut map = HeaderMap::new();
    for line in lines.take(16) {
        if let Some((number, value)) = line.split_first() {
            let number = usize::from(number.wrapping_sub(b'0')) % names.len();
            if let Ok(value) = HeaderValue::from_bytes(value) {
                map.append(&names[number], value);
            }
        }
    }
    map
}

// The status on the first line, then the attempt, then the headers.
fuzz_target!(|input: &[u8]| {
    let mut lines = input.split(|byte| *byte == b'\n');
    let status = StatusCode::from_bytes(lines.next().unwrap_or_default());
    let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    let attempt = lines
        .next()
        .map_or(0, |line| u32::try_from(line.len()).unwrap_or(0));
    let headers = headers(lines);
    let operation = operation(&Method::POST, &headers);
    assert!(matches!(
        operation,
        Operation::KeyedByCaller | Operation::NotIdempotent
    ));

    match verdict(status, &headers, Exchange::new(operation, attempt), wall) {
        Verdict::Failure(failure) => {
            assert!(status.as_u16() >= 400);
            assert_eq!(failure.effect == Effect::Unsent, status.as_u16() == 425);
            assert_eq!(failure.hint, hint(&headers, wall));
            if should_retry(&headers) == Some(true) {
                assert_ne!(failure.class, Class::Permanent);
            }
        }
        _ => assert!(status.as_u16() < 400),
    }

    let before = hint(&headers, wall);
    assert_eq!(
        before == Some(Hint::Stop),
        should_retry(&headers) == Some(false)
    );
    if before != Some(Hint::Stop) {
        another_line_is_never_earlier(&headers, before);
    }
});

fn another_line_is_never_earlier(headers: &HeaderMap, before: Option<Hint>) {
    for name in DELAYS {
        let mut more = headers.clone();
        more.append(name, HeaderValue::from_static("soon"));
        assert_eq!(hint(&more, wall), before, "garbage changes nothing");
    }
    let mut more = headers.clone();
    more.append(DELAYS[0], HeaderValue::from_static("5000"));
    let Some(Hint::AtLeast(delay)) = hint(&more, wall) else {
        panic!("a delay of five seconds went unseen");
    };
    assert!(delay >= Duration::from_secs(5));
    let finest_before = headers.contains_key(DELAYS[0]).then_some(before).flatten();
    if let Some(Hint::AtLeast(before)) = finest_before {
        let readable = headers.get_all(DELAYS[0]).iter().any(|value| {
            let text = value.to_str().ok();
            text.and_then(becalm::hint::retry_after_ms).is_some()
        });
        assert!(!readable || delay >= before);
    }
}
