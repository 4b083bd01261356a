//! What does a server ask for: a delay, a retry, or none?
#![cfg(feature = "http")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use becalm::http::{hint, should_retry, verdict};
use becalm::{Class, Failure, Hint, classify::Cause, classify::Verdict};

use super::answers::{FIRST, failure, headers, status, wall};

fn at_least(lines: &[(&'static str, &str)]) -> Option<Duration> {
    match hint(&headers(lines), wall) {
        Some(Hint::AtLeast(delay)) => Some(delay),
        None => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_form_of_a_servers_delay_is_a_floor() {
    for (name, value, millis) in [
        ("retry-after", "120", 120_000),
        ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", 7_000),
        ("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT", 7_000),
        ("retry-after", "Sun Nov  6 08:49:37 1994", 7_000),
        ("retry-after", "Sun, 06 Nov 1994 08:49:29 GMT", 0),
        ("retry-after-ms", "1500", 1_500),
        ("retry-after-ms", "20.0", 20),
        ("x-ms-retry-after-ms", "250", 250),
        ("x-amz-retry-after", "1500", 1_500),
    ] {
        let delay = Duration::from_millis(millis);
        assert_eq!(at_least(&[(name, value)]), Some(delay), "{name}: {value}");
        for code in [429, 500, 503] {
            let hint = failure(code, &[(name, value)]).hint;
            assert_eq!(hint, Some(Hint::AtLeast(delay)), "{code} {name}: {value}");
        }
    }
}

#[test]
fn garbage_is_ignored_and_a_huge_number_saturates() {
    for value in ["1.5", "-1", "soon", "", "+5", "1e3", "5, 10", "\u{e9}"] {
        assert_eq!(at_least(&[("retry-after", value)]), None, "{value:?}");
    }
    let huge = "1000000000000000000000000000000";
    for name in [
        "retry-after",
        "retry-after-ms",
        "x-ms-retry-after-ms",
        "x-amz-retry-after",
    ] {
        assert_eq!(at_least(&[(name, huge)]), Some(Duration::MAX), "{name}");
    }
}

#[test]
fn a_pushback_of_0_is_an_exact_delay_of_nothing() {
    let trailers = headers(&[("grpc-retry-pushback-ms", "0")]);
    let hint = becalm::hint::pushback(trailers.get_all("grpc-retry-pushback-ms"));
    assert_eq!(hint, Some(Hint::Exactly(Duration::ZERO)));
}

#[test]
fn a_date_is_counted_from_the_responses_own_date() {
    let slow_clock = ("date", "Sun, 06 Nov 1994 08:40:00 GMT");
    let until = ("retry-after", "Sun, 06 Nov 1994 08:40:05 GMT");
    assert_eq!(at_least(&[until, slow_clock]), Some(Duration::from_secs(5)));
    let by_wall_clock = at_least(&[until]);
    assert_eq!(by_wall_clock, Some(Duration::ZERO));
    let unreadable = at_least(&[until, ("date", "yesterday")]);
    assert_eq!(unreadable, by_wall_clock);
    let ambiguous = at_least(&[until, slow_clock, slow_clock]);
    assert_eq!(ambiguous, by_wall_clock);
    let seconds = at_least(&[("retry-after", "9"), slow_clock]);
    assert_eq!(seconds, Some(Duration::from_secs(9)));
}

#[test]
fn the_finest_header_that_can_be_read_wins() {
    let all = [
        ("retry-after", "4"),
        ("x-amz-retry-after", "3000"),
        ("x-ms-retry-after-ms", "2000.5"),
        ("retry-after-ms", "1000.25"),
    ];
    for (coarsest, micros) in [
        (4, 1_000_250),
        (3, 2_000_500),
        (2, 3_000_000),
        (1, 4_000_000),
    ] {
        let delay = at_least(&all[..coarsest]);
        assert_eq!(delay, Some(Duration::from_micros(micros)));
    }
    let coarse = at_least(&[("retry-after-ms", "soon"), ("retry-after", "4")]);
    assert_eq!(coarse, Some(Duration::from_secs(4)));
}

#[test]
fn of_several_lines_the_longest_counts() {
    for lines in [["3", "soon", "7"], ["7", "", "3"]] {
        let lines = lines.map(|value| ("retry-after", value));
        assert_eq!(at_least(&lines), Some(Duration::from_secs(7)));
    }
    let not_ascii = at_least(&[("retry-after-ms", "\u{e9}"), ("retry-after-ms", "40.5")]);
    assert_eq!(not_ascii, Some(Duration::from_micros(40_500)));
}

#[test]
fn the_server_may_forbid_a_retry_that_its_status_allows() {
    for name in ["x-should-retry", "stripe-should-retry"] {
        let forbidden = failure(503, &[(name, "false"), ("retry-after", "1")]);
        let stop = Failure::transient().hint(Hint::Stop);
        assert_eq!(forbidden, stop.because(Cause::Status(503)), "{name}");
    }
    let disagreeing = [("x-should-retry", "true"), ("stripe-should-retry", "false")];
    assert_eq!(should_retry(&headers(&disagreeing)), Some(false));
}

#[test]
fn the_server_may_ask_for_a_retry_that_its_status_forbids() {
    for name in ["x-should-retry", "stripe-should-retry"] {
        for code in [400, 409, 501] {
            let class = failure(code, &[(name, "true")]).class;
            assert_eq!(class, Class::Transient, "{code} {name}");
        }
        let throttled = failure(429, &[(name, "true")]).class;
        assert_eq!(throttled, Class::Throttled);
    }
    for unclear in ["", "yes", "1", "true, false"] {
        let unchanged = failure(400, &[("x-should-retry", unclear)]);
        assert_eq!(unchanged.class, Class::Permanent, "{unclear:?}");
    }
    let insisting = failure(400, &[("x-should-retry", "True"), ("retry-after", "2")]);
    let in_two_seconds = Failure::transient().retry_after(Duration::from_secs(2));
    assert_eq!(insisting, in_two_seconds.because(Cause::Status(400)));
}

#[test]
fn the_clock_is_read_only_for_a_retry_after() {
    let no_clock = || -> SystemTime { panic!("the clock was read") };
    let contrary = headers(&[("x-should-retry", "true"), ("retry-after", "5")]);
    for code in [100, 200, 204, 301, 304] {
        let answer = verdict(status(code), &contrary, FIRST, no_clock);
        assert_eq!(answer, Verdict::Success, "{code}");
    }
    let in_millis = headers(&[("retry-after-ms", "5")]);
    let answer = verdict(status(503), &in_millis, FIRST, no_clock);
    let expected = Failure::transient().retry_after(Duration::from_millis(5));
    assert_eq!(answer, expected.because(Cause::Status(503)).into());
}

#[test]
fn a_wall_clock_before_1970_is_1970() {
    let until = headers(&[("retry-after", "Thu, 01 Jan 1970 00:00:09 GMT")]);
    let hint = hint(&until, || UNIX_EPOCH - Duration::from_secs(5));
    assert_eq!(hint, Some(Hint::AtLeast(Duration::from_secs(9))));
}

#[test]
fn c13_all_lines_of_becalm_retry_are_one_field() {
    let name = "becalm-retry";
    let forbids = |lines: &[&str]| {
        let lines: Vec<_> = lines.iter().map(|line| (name, *line)).collect();
        should_retry(&headers(&lines)) == Some(false)
    };
    assert!(forbids(&["do-not-retry=budget_exhausted"]));
    assert!(forbids(&["since=5", "do-not-retry"]));
    assert!(forbids(&[
        "who=(a b)",
        "do-not-retry=breaker_open",
        "since=7"
    ]));
    assert!(
        !forbids(&["who=\"a", "b\", do-not-retry=?0"]),
        "a string over two lines"
    );
    assert!(
        !forbids(&["do-not-retry", "do-not-retry=?0"]),
        "the last of a key counts"
    );
    assert!(
        !forbids(&["do-not-retry", "not a dictionary!"]),
        "all of it is garbage"
    );
    assert!(!forbids(&["who=%\"%c3%28\", do-not-retry"]), "no UTF-8");
    assert!(
        !forbids(&["who=:a=GVsbG8=:, do-not-retry"]),
        "padding in the middle"
    );
}

#[test]
fn c14_a_quota_is_a_hint_once_nothing_of_it_is_left() {
    let spent = ("x-ratelimit-remaining", "0");
    for (lines, expected) in [
        (vec![("ratelimit", "\"default\";r=0;t=30")], Some(30)),
        (
            vec![
                ("ratelimit", "\"a\";r=0;t=5"),
                ("ratelimit", "\"b\";r=0;t=7"),
            ],
            Some(7),
        ),
        (
            vec![("ratelimit", "\"a\";r=0;t=5"), ("ratelimit", "\"b")],
            None,
        ),
        (vec![("ratelimit", "\"default\";r=9;t=30")], None),
        (vec![spent, ("x-ratelimit-reset", "30")], Some(30)),
        (vec![("x-ratelimit-reset", "30")], None),
        (
            vec![("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", "30")],
            None,
        ),
        (
            vec![
                ("x-ratelimit-remaining", "soon"),
                ("x-ratelimit-reset", "30"),
            ],
            None,
        ),
        (vec![spent, ("ratelimit-reset", "30")], None),
        (
            vec![("ratelimit-remaining", "0"), ("ratelimit-reset", "30")],
            Some(30),
        ),
        (
            vec![
                ("x-rate-limit-remaining", "0"),
                ("x-rate-limit-reset", "30"),
            ],
            Some(30),
        ),
        (
            vec![
                spent,
                ("x-ratelimit-reset-after", "30"),
                ("x-ratelimit-reset", "99"),
            ],
            Some(30),
        ),
        (vec![("x-ratelimit-reset-after", "30")], None),
        (
            vec![spent, ("x-ratelimit-reset", "30"), ("retry-after", "3")],
            Some(3),
        ),
        (
            vec![
                spent,
                ("x-ratelimit-reset", "30"),
                ("ratelimit", "a;r=0;t=4"),
            ],
            Some(4),
        ),
    ] {
        assert_eq!(
            at_least(&lines),
            expected.map(Duration::from_secs),
            "{lines:?}"
        );
    }
}

#[test]
fn c14_the_reset_of_a_quota_is_counted_from_the_responses_own_date() {
    let now = UNIX_EPOCH + Duration::from_secs(1_795_132_800); // 2026-11-20 00:00:00 GMT
    let lines = |date: &'static str| {
        headers(&[
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1795132860"),
            ("date", date),
        ])
    };
    for (date, seconds) in [("Thu, 19 Nov 2026 23:59:00 GMT", 120), ("yesterday", 60)] {
        let expected = Hint::AtLeast(Duration::from_secs(seconds));
        assert_eq!(hint(&lines(date), || now), Some(expected), "{date}");
    }
    let untouched = headers(&[("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", "9")]);
    let no_clock = || -> SystemTime { panic!("the clock was read") };
    assert_eq!(hint(&untouched, no_clock), None);
}
