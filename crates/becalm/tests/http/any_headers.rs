//! Whatever a peer writes into its headers: nothing panics, nothing overflows, and what is read is within its bounds.
#![cfg(feature = "http")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use becalm::Hint;
use becalm::classify::Verdict;
use becalm::http::{self as semantics, Exchange};
use becalm::support::Answered;
use becalm::time::{FakeSleeper, Instant, Sleeper};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use proptest::prelude::*;

/// All that becalm reads of requests and answers.
const NAMES: [&str; 32] = [
    "amz-sdk-request",
    "baggage",
    "becalm-retry",
    "becalm-scope",
    "content-type",
    "date",
    "finagle-http-nack",
    "finagle-http-nonretryable-nack",
    "grpc-message",
    "grpc-previous-rpc-attempts",
    "grpc-retry-pushback-ms",
    "grpc-status",
    "grpc-timeout",
    "idempotency-key",
    "ratelimit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "repeatability-first-sent",
    "repeatability-request-id",
    "retry-after",
    "retry-after-ms",
    "stripe-should-retry",
    "x-amz-retry-after",
    "x-envoy-attempt-count",
    "x-envoy-expected-rq-timeout-ms",
    "x-envoy-is-timeout-retry",
    "x-envoy-overloaded",
    "x-ms-retry-after-ms",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-stainless-retry-count",
];

/// Numbers at the ends of their types, with signs, units and garbage around them; or anything.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let numbers = prop::sample::select(vec![
        "0",
        "-0",
        "1",
        "-1",
        "127",
        "255",
        "256",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "99999999",
        "100000000",
        "1e400",
        "-1e400",
        "0.999999999999",
        "1.7976931348623157e308",
        "NaN",
        "inf",
        "340282366920938463463374607431768211456",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Mon, 01 Jan 0001 00:00:00 GMT",
        "application/grpc",
        "true",
        "false",
    ]);
    let around = prop::sample::select(vec![
        ("", ""),
        ("", "n"),
        ("", "S"),
        ("", "H"),
        ("+", ""),
        (" ", " "),
        ("r=0;t=", ""),
        ("\"a\";r=0;t=", ""),
        ("attempt=", "; max=3"),
        ("attempt=", ", remaining=9223372036854775807"),
        ("remaining=", ""),
        ("gave-up=", ""),
        ("%", "%ff%0"),
        ("\"", "\""),
    ]);
    let known = (numbers, around)
        .prop_map(|(number, (before, after))| format!("{before}{number}{after}").into_bytes());
    prop_oneof![4 => known, 1 => prop::collection::vec(any::<u8>(), 0..40)]
}

fn headers() -> impl Strategy<Value = HeaderMap> {
    let line = (prop::sample::select(NAMES.to_vec()), value());
    prop::collection::vec(line, 0..12).prop_map(|lines| {
        let mut map = HeaderMap::new();
        for (name, value) in lines {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                map.append(HeaderName::from_static(name), value);
            }
        }
        map
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn nothing_in_headers_panics_or_overflows(
        headers in headers(),
        status in 100..1000_u16,
        attempt in any::<u32>(),
        now in any::<u64>(),
        wall in prop::sample::select(vec![0, 784_111_770, 253_402_300_799, 1 << 40]),
    ) {
        let wall = || -> SystemTime { UNIX_EPOCH + Duration::from_secs(wall) };
        let status = StatusCode::from_u16(status).expect("a status");
        let operation = semantics::operation(&Method::POST, &headers);
        let verdict = semantics::verdict(status, &headers, Exchange::new(operation, attempt), wall);
        if let Verdict::Failure(failure) = verdict {
            if let Some(Hint::Exactly(delay)) = failure.hint {
                prop_assert!(delay <= Duration::from_millis(i32::MAX as u64));
            }
        }
        if let Some(Hint::AtLeast(delay)) = semantics::hint(&headers, wall) {
            let _ = Instant::from_nanos(now).after(delay);
        }
        let _ = semantics::grpc_verdict(&headers, wall);
        prop_assert!(semantics::grpc_code(&headers).is_none_or(|code| code <= 16));
        let told = Answered::new(status, &headers).to_string();
        prop_assert!(told.len() < 2000 && !told.contains(char::is_control));
        if let Some(limit) = semantics::grpc_timeout(&headers) {
            prop_assert!(limit <= Duration::from_secs(99_999_999 * 3600));
        }
        if let Ok(Some(key)) = semantics::idempotency_key(&headers) {
            prop_assert!(!key.is_empty());
        }
        let clock = FakeSleeper::new();
        let scope = semantics::scope(&headers, Instant::from_nanos(now), clock.clock());
        let mut written = headers.clone();
        semantics::write_scope(&mut written, scope, Instant::from_nanos(now), clock.clock());
        let _ = semantics::scope(&written, Instant::ZERO, clock.clock());
        if let Some(reason) = semantics::told(&headers) {
            semantics::write_told(&mut written, reason);
        }
    }
}
