//! What travels between layers: any text is a scope, read as another reader of RFC 9651 reads it,
//! written as it was read; an answer forbids or says nothing; no header earns anything.
#![no_main]

use std::time::Duration;

use becalm::time::ClockId;
use becalm::{Scope, StopReason, scope::Told, time::Instant};
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

const CLOCK: ClockId = ClockId::PROCESS;
const NOW: Instant = Instant::from_nanos(1 << 40);
const OF_OTHERS: [&str; 7] = [
    "x-envoy-attempt-count",
    "x-envoy-is-timeout-retry",
    "x-envoy-expected-rq-timeout-ms",
    "grpc-previous-rpc-attempts",
    "grpc-timeout",
    "x-stainless-retry-count",
    "amz-sdk-request",
];

fuzz_target!(|text: &[u8]| {
    let scope = Scope::decode(text, NOW, CLOCK);
    let answer = Told::decode(text);
    assert!(!scope.is_retry_forbidden());
    is_read_by_the_book(scope, answer, text);
    if let Some(answer) = answer {
        assert!(answer.reason().is_told_above());
        assert_eq!(Told::decode(answer.to_string()), Some(answer));
    }

    let written = scope.encode(NOW, CLOCK).map(|header| header.to_string());
    let written = written.unwrap_or_default();
    assert_eq!(Scope::decode(&written, NOW, CLOCK), scope);
    assert!(Parser::new(&written).parse::<Dictionary>().is_ok());

    // Whatever else is there, it only takes.
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(text) {
        headers.insert("becalm-scope", value.clone());
        assert_eq!(becalm::http::scope(&headers, NOW, CLOCK), scope);
        for name in OF_OTHERS {
            headers.insert(HeaderName::from_static(name), value.clone());
        }
        let all = becalm::http::scope(&headers, NOW, CLOCK);
        let end = |scope: Scope| scope.deadline(CLOCK).unwrap_or(Instant::NEVER);
        assert!(all.attempt() >= scope.attempt() && end(all) <= end(scope));
        assert!(scope.is_first_try() || !all.is_first_try());
        assert!(all.is_repeated_above() || !scope.is_repeated_above());
    }
});

fn is_read_by_the_book(scope: Scope, answer: Option<Told>, text: &[u8]) {
    let Ok(members) = Parser::new(text).parse::<Dictionary>() else {
        // Whether the last bits of a byte sequence are zero is not looked at here.
        if !text.contains(&b':') {
            assert_eq!(scope, Scope::decode("", NOW, CLOCK));
            assert_eq!(answer, None);
        }
        return;
    };
    let item = |key: &str| match members.get(key) {
        Some(ListEntry::Item(item)) => Some(&item.bare_item),
        _ => None,
    };
    let number = |key| {
        let number = item(key).and_then(BareItem::as_integer);
        u64::try_from(number.map_or(-1, i64::from)).ok()
    };
    let is_true = |key| item(key).and_then(BareItem::as_boolean) == Some(true);
    let attempt = number("attempt").unwrap_or(0);
    assert_eq!(u64::from(scope.attempt()), attempt.min(255));
    assert_eq!(scope.is_first_try(), attempt <= 1 && !is_true("retry"));
    assert_eq!(scope.is_repeated_above(), is_true("repeated"));
    // What came with no time left has none on whichever clock it is read.
    let deadline = number("remaining").map(|millis| match millis {
        0 => Instant::ZERO,
        millis => NOW.after(Duration::from_millis(millis)),
    });
    let deadline = deadline.filter(|at| *at != Instant::NEVER);
    assert_eq!(scope.deadline(CLOCK), deadline);
    let denied = item("do-not-retry").and_then(BareItem::as_boolean) == Some(false);
    let forbids = members.contains_key("do-not-retry") && !denied;
    let gave_up = item("gave-up").and_then(BareItem::as_token);
    let told = match gave_up.map(|token| token.as_str()) {
        _ if forbids => Some(StopReason::DoNotRetry),
        Some("budget_exhausted") => Some(StopReason::BudgetExhausted),
        Some("breaker_open") => Some(StopReason::BreakerOpen),
        _ => None,
    };
    assert_eq!(answer.map(Told::reason), told);
}
