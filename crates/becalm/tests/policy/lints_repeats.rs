//! Are retries named that may do work twice, never start, or never end?

use std::time::Duration;

use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Methods, RetryOn, Statuses};
use becalm::{Jitter, Policy};

use crate::lints::{codes, listed, message, secs};

#[test]
fn what_may_be_done_twice_is_named_and_what_cannot_be_is_not() {
    use FailureKind::{Connect, RefusedStream, Reset, TimedOut};
    let both = ["repeats-non-idempotent", "repeats-what-may-be-done"];
    let post = listed(&["POST"], "500, 502, 503", &[Reset, TimedOut, Connect]);
    assert_eq!(codes(&post), both);
    let named = message(&post, both[1]);
    assert!(
        named.starts_with("500, 502, reset and timeout may come"),
        "{named}"
    );
    assert!(message(&post, both[0]).starts_with("a POST whose answer is lost"));
    // Left out, the lists are becalm's own.
    let own = Policy::default().retry_on(RetryOn::new().methods(Methods::Any));
    assert_eq!(codes(&own), both);
    assert!(message(&own, both[1]).starts_with("500, 502, 504, reset and timeout may"));
    let grpc = |numbers: &[u32]| {
        let of_these: Codes = numbers.iter().copied().collect();
        Policy::default().retry_on(RetryOn::new().methods(Methods::Any).codes(of_these))
    };
    let named = message(&grpc(&[1, 2, 4, 8, 10, 13, 14, 15]), both[1]);
    assert!(
        named.starts_with("CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL and DATA_LOSS may"),
        "{named}"
    );
    for harmless in [
        listed(&["POST"], "425, 429, 503", &[Connect, RefusedStream]),
        listed(
            &["GET", "PUT", "DELETE", "PROPFIND"],
            "5xx",
            &[Reset, TimedOut],
        ),
        grpc(&[8, 14]),
        Policy::default()
            .retry_on(RetryOn::new().statuses("5xx".parse::<Statuses>().expect("statuses"))),
        post.clone().attempts(1),
    ] {
        assert_eq!(codes(&harmless), [""; 0], "{harmless}");
    }
}

#[test]
fn attempts_that_never_start_are_counted() {
    let policy = |timeout, deadline| {
        let policy = Policy::default().attempt_timeout(secs(timeout));
        policy.deadline(secs(deadline))
    };
    let code = "attempt-timeout-fills-deadline";
    let said = message(&policy(5, 15), code);
    let expected = "3 attempts that time out after 5s leave no room for attempt 4 of 4 before the deadline of 15s";
    assert!(said.starts_with(expected), "{said}");
    let said = message(&policy(5, 10), code);
    assert!(
        said.starts_with("2 attempts that time out after 5s leave no room for attempt 3 of 4"),
        "{said}"
    );
    assert_eq!(codes(&policy(5, 16)), [""; 0], "the last one has a second");
    // The waits count as well, by what they are on average.
    let waits = policy(1, 4).base(secs(1));
    let said = message(&waits, code);
    let expected = "3 attempts that time out after 1s, with the waits between them, mostly leave no room for attempt 4 of 4";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(codes(&waits.deadline(secs(7))), [""; 0]);
    let unlimited = policy(5, 15).attempts(Policy::UNLIMITED);
    assert_eq!(codes(&unlimited), [""; 0], "it is meant to end there");
    // One reason is enough.
    let waits = Policy::default()
        .attempts(10)
        .base(secs(1))
        .jitter(Jitter::Equal);
    let waits = waits.deadline(secs(30)).attempt_timeout(secs(2));
    assert_eq!(codes(&waits), ["waits-exceed-deadline"]);
}

#[test]
fn a_call_without_a_deadline_is_told_how_long_it_may_take() {
    let said = message(
        &Policy::fixed(Duration::ZERO).attempt_timeout(secs(600)),
        "no-deadline",
    );
    assert!(
        said.contains("4 that time out after 10m take up to 40m"),
        "{said}"
    );
    for short in [
        Policy::default().attempt_timeout(secs(10)),
        Policy::default()
            .attempt_timeout(secs(60))
            .deadline(secs(300)),
        Policy::default(),
    ] {
        assert_eq!(codes(&short), [""; 0], "{short}");
    }
}
