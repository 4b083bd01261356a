//! Does a scope survive the way to another process, and does nothing else get in with it?

use core::time::Duration;

use becalm::call::{Call, CallOptions, Decision};
use becalm::rng::SplitMix64;
use becalm::scope::Told;
use becalm::shared::Shared;
use becalm::time::{ClockId, Instant};
use becalm::{Failure, Hint, Policy, Scope, StopReason};
use proptest::prelude::*;

const HERE: ClockId = ClockId::PROCESS;
const MS: u64 = 1_000_000;

/// Far from zero, so that a point in time is not mistaken for a length.
const NOW: Instant = Instant::from_nanos(86_400_000 * MS);

/// What a scope says, by its public words: attempt, first try, repeated, milliseconds left.
type Said = (u32, bool, bool, Option<u64>);

fn said(scope: Scope, now: Instant) -> Said {
    let deadline = scope.deadline(HERE);
    let left = deadline.map(|at| u64::try_from(at.since(now).as_millis()).unwrap());
    let (first, repeated) = (scope.is_first_try(), scope.is_repeated_above());
    (scope.attempt(), first, repeated, left)
}

fn read(text: &str) -> Said {
    said(Scope::decode(text, NOW, HERE), NOW)
}

const NOTHING: Said = (0, true, false, None);

/// Whether or not the two agree on a clock: what is over is over on each.
#[test]
fn c15_a_call_that_came_with_no_time_left_does_not_run() {
    for clock in [HERE, ClockId::UNKNOWN] {
        let orders = Shared::new(Policy::default(), Duration::ZERO).expect("a valid policy");
        let above = Scope::decode("attempt=1, remaining=0", NOW, clock);
        let mut call = Call::begin(&orders, CallOptions::new(), above, NOW);
        let started = call.start(NOW, &mut SplitMix64::new(7));
        assert_eq!(started, Err(StopReason::DeadlineExceeded), "{clock:?}");
        let passed_on = above.encode(NOW, clock).expect("there is something to say");
        assert!(passed_on.to_string().contains("remaining=0"), "{passed_on}");
    }
}

#[test]
fn every_member_is_read() {
    for (text, expected) in [
        ("", NOTHING),
        ("attempt=1", (1, true, false, None)),
        ("attempt=2", (2, false, false, None)),
        ("attempt=1, retry", (1, false, false, None)),
        ("repeated", (0, true, true, None)),
        ("remaining=1200", (0, true, false, Some(1200))),
        ("remaining=0", (0, true, false, Some(0))),
        (
            "attempt=2, repeated, remaining=1200",
            (2, false, true, Some(1200)),
        ),
        (
            "remaining=5,repeated,retry,attempt=1",
            (1, false, true, Some(5)),
        ),
        ("repeated=?1, retry=?0", (0, true, true, None)),
        ("attempt=254", (254, false, false, None)),
        ("attempt=255", (255, false, false, None)),
        ("attempt=256", (255, false, false, None)),
        ("attempt=999999999999999", (255, false, false, None)),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

/// Unknown members, parameters and types; values out of range; of two the last.
#[test]
fn what_is_not_understood_is_skipped() {
    let plain = (2, false, true, Some(7));
    for text in [
        "attempt=2, repeated, remaining=7, later=1, x;y=\"z\"",
        "a=(1 2;q=\"),(\" \"attempt=9\");r, attempt=2, repeated, remaining=7",
        "attempt=2;by=\"proxy\", repeated;q;r=?0, remaining=7;unit=ms",
        "attempt=9, attempt=2, repeated=?0, repeated, remaining=1, remaining=7",
        "s=\"\\\"attempt=9, \\\\\", attempt=2, repeated, remaining=7",
        "b=:YXR0ZW1wdD05:, d=@1659578233, n=-1.5, u=%\"f%c3%bc\", attempt=2, repeated, remaining=7",
        "  attempt=2 \t,\t repeated,remaining=7 \t ",
    ] {
        assert_eq!(read(text), plain, "{text:?}");
    }
    for text in [
        "attempt=0",
        "attempt=-1",
        "attempt=2.0",
        "attempt=\"2\"",
        "attempt=two",
        "attempt",
        "attempt=(2)",
        "attempt=2, attempt=?1",
        "retry=1",
        "retry=yes",
        "repeated=1",
        "repeated=\"?1\"",
        "repeated, repeated=(a)",
        "remaining=-1",
        "remaining=1.5",
        "remaining",
        "remaining=5, remaining=soon",
    ] {
        assert_eq!(read(text), NOTHING, "{text:?}");
    }
}

#[test]
fn a_text_that_breaks_the_grammar_anywhere_says_nothing() {
    for broken in [
        "attempt=2,",
        "attempt=2,,repeated",
        ",attempt=2",
        "attempt=2 repeated",
        "attempt = 2",
        "attempt=",
        "attempt=2;",
        "attempt=2; =1",
        "attempt=02x",
        "Attempt=2",
        "attempt=2, remaining=12s",
        "attempt=2, remaining=1000000000000000",
        "attempt=2, remaining=-",
        "attempt=2, remaining=1.",
        "attempt=2, remaining=.5",
        "attempt=2, remaining=1.2345",
        "attempt=2, x=\"unended",
        "attempt=2, x=\"\\n\"",
        "attempt=2, x=(1 2",
        "attempt=2, x=(1,2)",
        "attempt=2, x=(\"a\"\"b\")",
        "attempt=2, x=?2",
        "attempt=2, x=:unended",
        "attempt=2, x=:*:",
        "attempt=2, x=@1.5",
        "attempt=2, x=%\"%C3\"",
        "attempt=2, x=%\"%c\"",
        "attempt=2, x=\u{e9}",
        "attempt=2, x=\"\u{e9}\"",
        "attempt=2\n",
        "\tattempt=2",
        "attempt=2\0",
    ] {
        assert_eq!(read(broken), NOTHING, "{broken:?}");
    }
    assert_eq!(
        said(Scope::decode([0xff_u8, 0xfe], NOW, HERE), NOW),
        NOTHING
    );
}

/// A clock of one's own and a limit beyond it.
#[test]
fn the_remaining_time_becomes_a_deadline_on_the_readers_clock() {
    let scope = Scope::decode("remaining=1500", NOW, HERE);
    assert_eq!(
        scope.deadline(HERE),
        Some(NOW.after(Duration::from_millis(1500)))
    );
    assert_eq!(scope.deadline(ClockId::UNKNOWN), None);
    let scope = Scope::decode("remaining=999999999999999", NOW, HERE);
    assert_eq!(scope.deadline(HERE), None, "the end of time is no deadline");
    let scope = Scope::decode("remaining=1", Instant::NEVER, HERE);
    assert_eq!(scope.deadline(HERE), None);
    let scope = Scope::decode("remaining=5", NOW, ClockId::UNKNOWN);
    assert_eq!(scope.deadline(ClockId::UNKNOWN), None);
}

#[test]
fn a_deadline_that_has_passed_is_told_as_no_time_and_refuses_the_call() {
    let scope = Scope::decode("attempt=1, remaining=20", NOW, HERE);
    let later = NOW.after(Duration::from_millis(21));
    let header = scope.encode(later, HERE).unwrap();
    assert_eq!(header.to_string(), "attempt=1, remaining=0");
    let below = Scope::decode(header.to_string(), NOW, HERE);
    let shared = Shared::new(Policy::default(), Duration::ZERO).unwrap();
    let shared = shared.on_clock(HERE);
    let mut call = Call::begin(&shared, CallOptions::new(), below, NOW);
    assert_eq!(
        call.start(NOW, &mut || 0),
        Err(StopReason::DeadlineExceeded)
    );
}

#[test]
fn nothing_above_is_nothing_to_write() {
    assert_eq!(Scope::NONE.encode(NOW, HERE), None);
    assert_eq!(Scope::decode("", NOW, HERE).encode(NOW, HERE), None);
    let forbidden = Scope::decode("", NOW, HERE).telling(StopReason::DoNotRetry);
    assert_eq!(
        forbidden.encode(NOW, HERE),
        None,
        "that travels the other way"
    );
}

#[test]
fn a_deadline_on_another_clock_is_not_written() {
    let scope = Scope::decode("attempt=1, remaining=20", NOW, HERE);
    let header = scope.encode(NOW, ClockId::UNKNOWN).unwrap();
    assert_eq!(header.to_string(), "attempt=1");
}

/// The scope in the given attempt of a call.
fn at_attempt(policy: Policy, above: Scope, attempt: u32) -> Scope {
    let shared = Shared::new(policy, Duration::ZERO).unwrap().on_clock(HERE);
    let mut call = Call::begin(&shared, CallOptions::new(), above, NOW);
    let mut random = SplitMix64::new(7);
    let _ = call.start(NOW, &mut || 0).unwrap();
    for _ in 1..attempt {
        let decision = call.on_outcome(NOW, Failure::transient().into(), &mut random);
        assert!(matches!(decision, Decision::RetryIn(_)), "{decision:?}");
        let _ = call.start(NOW, &mut || 0).unwrap();
    }
    call.scope()
}

fn often() -> Policy {
    Policy::fixed(Duration::ZERO)
        .attempts(Policy::UNLIMITED)
        .budget(becalm::Budget::None)
}

#[test]
fn the_attempt_right_above_is_counted_up_to_255() {
    for (attempt, told) in [
        (1, 1),
        (2, 2),
        (254, 254),
        (255, 255),
        (256, 255),
        (700, 255),
    ] {
        let scope = at_attempt(often(), Scope::NONE, attempt);
        assert_eq!(scope.attempt(), told);
        let header = scope.encode(NOW, HERE).unwrap();
        assert_eq!(header.to_string(), format!("attempt={told}, repeated"));
    }
    assert_eq!(Scope::NONE.attempt(), 0);
}

/// A first attempt inside somebody's second one is part of a retry, and says so.
#[test]
fn an_ancestor_past_its_first_attempt_is_told() {
    let once = Policy::default().attempts(1);
    let grandchild = at_attempt(once.clone(), at_attempt(often(), Scope::NONE, 2), 1);
    let header = grandchild.encode(NOW, HERE).unwrap();
    assert_eq!(header.to_string(), "attempt=1, retry, repeated");
    let below = Scope::decode(header.to_string(), NOW, HERE);
    assert_eq!(said(below, NOW), said(grandchild, NOW));
    let alone = at_attempt(once, Scope::NONE, 1);
    assert_eq!(alone.encode(NOW, HERE).unwrap().to_string(), "attempt=1");
}

#[test]
fn the_reasons_that_are_told_travel_and_the_others_do_not() {
    for reason in StopReason::ALL.iter().copied() {
        let Some(answer) = Told::because(reason) else {
            assert!(!reason.is_told_above());
            let named = format!("gave-up={}", reason.as_str());
            assert_eq!(Told::decode(named), None, "{reason:?}");
            assert_eq!(Scope::NONE.telling(reason), Scope::NONE);
            continue;
        };
        assert!(reason.is_told_above());
        assert_eq!(Told::decode(answer.to_string()), Some(answer));
        let hint = match reason {
            StopReason::DoNotRetry => Hint::Stop,
            _ => Hint::Below(reason),
        };
        assert_eq!((answer.reason(), answer.hint()), (reason, hint));
        let scope = Scope::NONE.telling(reason);
        assert_eq!(scope.told_below(), Some(reason));
        let later = scope.telling(StopReason::BreakerOpen);
        assert_eq!(later.told_below(), Some(reason), "the first stays");
        let later = scope.telling(StopReason::DoNotRetry);
        assert_eq!(later.told_below(), Some(StopReason::DoNotRetry));
        assert_eq!(scope.is_retry_forbidden(), reason == StopReason::DoNotRetry);
    }
    assert_eq!(Scope::NONE.told_below(), None);
}

#[test]
fn do_not_retry_is_heard_in_every_form_and_nothing_else_is() {
    for text in [
        "do-not-retry",
        "do-not-retry=?1",
        "do-not-retry=because",
        "do-not-retry=\"the shop is closed\"",
        "do-not-retry=1",
        "do-not-retry=(a b)",
        "x=1, do-not-retry;at=2, y",
        "do-not-retry=?0, do-not-retry",
    ] {
        let read = Told::decode(text).map(Told::reason);
        assert_eq!(read, Some(StopReason::DoNotRetry), "{text:?}");
    }
    for text in [
        "",
        "do-not-retry=?0",
        "do-not-retry, do-not-retry=?0",
        "do-not-retry,",
        "do-not-retry=",
        "Do-Not-Retry",
        "retry",
        "no",
        "do-not-retry\u{e9}",
    ] {
        assert_eq!(Told::decode(text), None, "{text:?}");
    }
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (-3_i64..400).prop_map(|number| number.to_string()),
        "-?[0-9]{0,17}",
        "-?[0-9]{1,13}\\.[0-9]{0,4}",
    ]
}

fn bare_item() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => number(),
        2 => Just("?1".to_owned()),
        1 => "\\?[01x]",
        1 => "[*a-zA-Z][a-z:/!~]{0,4}",
        1 => "\"([ -~&&[^\"\\\\]]|\\\\[\"\\\\]){0,6}\"",
        1 => "\"[ -~]{0,4}\"?",
        1 => Just(":YWJj:".to_owned()),
        1 => number().prop_map(|number| format!("@{number}")),
        1 => Just("%\"f%c3%bc\"".to_owned()),
    ]
}

fn parameters() -> impl Strategy<Value = String> {
    let parameter = (
        " {0,1}[*a-z][a-z0-9_.*-]{0,2}",
        proptest::option::of(bare_item()),
    );
    let text = parameter.prop_map(|(key, value)| match value {
        Some(value) => format!(";{key}={value}"),
        None => format!(";{key}"),
    });
    proptest::collection::vec(text, 0..2).prop_map(|all| all.concat())
}

fn member() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("attempt".to_owned()),
        Just("retry".to_owned()),
        Just("repeated".to_owned()),
        Just("remaining".to_owned()),
        "[*a-z][a-z0-9_.*-]{0,3}",
    ];
    let list = (proptest::collection::vec((bare_item(), parameters()), 0..3)).prop_map(|items| {
        let items: Vec<_> = items
            .iter()
            .map(|(item, rest)| format!("{item}{rest}"))
            .collect();
        format!("({})", items.join(" "))
    });
    let value = prop_oneof![6 => bare_item(), 1 => list];
    (key, proptest::option::weighted(0.7, value), parameters()).prop_map(|(key, value, rest)| {
        match value {
            Some(value) => format!("{key}={value}{rest}"),
            None => format!("{key}{rest}"),
        }
    })
}

/// Dictionaries, most of them well formed.
fn text() -> impl Strategy<Value = String> {
    let separator =
        prop_oneof![4 => Just(", "), 1 => Just(","), 1 => Just(" \t,\t"), 1 => Just(" ")];
    let members = proptest::collection::vec((member(), separator), 1..5);
    members.prop_map(|members| {
        let mut text = String::new();
        for (at, (member, separator)) in members.iter().enumerate() {
            text.push_str(if at > 0 { separator } else { "" });
            text.push_str(member);
        }
        text
    })
}

/// What another reader of RFC 9651 makes of it, member by member.
fn by_the_book(text: &[u8]) -> Said {
    let Ok(members) = sfv::Parser::new(text).parse::<sfv::Dictionary>() else {
        return NOTHING;
    };
    let item = |key: &str| match members.get(key) {
        Some(sfv::ListEntry::Item(item)) => Some(&item.bare_item),
        _ => None,
    };
    let number = |key| {
        let number = item(key)?.as_integer()?;
        u64::try_from(i64::from(number)).ok()
    };
    let flag = |key| item(key).and_then(sfv::BareItem::as_boolean) == Some(true);
    let attempt = number("attempt").map_or(0, |number| number.min(255));
    let remaining = number("remaining")
        .filter(|millis| millis.saturating_mul(MS).saturating_add(NOW.as_nanos()) != u64::MAX);
    let first_try = attempt <= 1 && !flag("retry");
    let attempt = u32::try_from(attempt).unwrap();
    (attempt, first_try, flag("repeated"), remaining)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn what_is_written_is_read(
        attempt in 0_u64..400, retry: bool, repeated: bool,
        remaining in proptest::option::of(0_u64..1_000_000_000_000),
        passed in 0_u64..5_000_000_000,
    ) {
        let mut members = Vec::new();
        members.extend((attempt > 0).then(|| format!("attempt={attempt}")));
        members.extend(retry.then(|| "retry".to_owned()));
        members.extend(repeated.then(|| "repeated".to_owned()));
        members.extend(remaining.map(|millis| format!("remaining={millis}")));
        let scope = Scope::decode(members.join(", "), NOW, HERE);
        let expected = (
            u32::try_from(attempt.min(255)).unwrap(), attempt <= 1 && !retry, repeated, remaining,
        );
        prop_assert_eq!(said(scope, NOW), expected);

        // Some time later, on the way to the next process, whose clock shows something else.
        let later = Instant::from_nanos(NOW.as_nanos() + passed);
        let there = Instant::from_nanos(17);
        let written = scope.encode(later, HERE).map_or_else(String::new, |header| header.to_string());
        let left = remaining.map(|millis| (millis * MS).saturating_sub(passed) / MS);
        let arrived = Scope::decode(&written, there, HERE);
        prop_assert_eq!(said(arrived, there), (expected.0, expected.1, expected.2, left));
        let again = arrived.encode(there, HERE).map_or_else(String::new, |header| header.to_string());
        prop_assert_eq!(again, written);
    }

    #[test]
    fn it_reads_what_another_reader_of_the_grammar_reads(text in text()) {
        prop_assert_eq!(read(&text), by_the_book(text.as_bytes()), "{:?}", text);
    }

    #[test]
    fn no_bytes_panic(text: Vec<u8>) {
        let scope = Scope::decode(&text, NOW, HERE);
        let _ = Told::decode(&text);
        prop_assert!(!scope.is_retry_forbidden());
    }

    /// A field can only take: whatever it says, the call makes no more attempts, has no more time and
    /// earns no more than without it.
    #[test]
    fn a_stranger_can_only_make_the_callee_do_less(
        text in text(), limit in proptest::option::of(1_u64..100_000),
    ) {
        let mut policy = Policy::default();
        policy.deadline = limit.map(Duration::from_millis);
        let shared = Shared::new(policy, Duration::ZERO).unwrap().on_clock(HERE);
        let runs = |scope| {
            let mut call = Call::begin(&shared, CallOptions::new(), scope, NOW);
            let mut random = SplitMix64::new(7);
            let mut now = NOW;
            while call.start(now, &mut || 0).is_ok() {
                let failed = Failure::transient().into();
                let Decision::RetryIn(delay) = call.on_outcome(now, failed, &mut random) else {
                    break;
                };
                now = now.after(delay);
            }
            (call.attempt_number(), call.deadline().unwrap_or(Instant::NEVER))
        };
        let (attempts, deadline) = runs(Scope::decode(&text, NOW, HERE));
        let (alone, own) = runs(Scope::NONE);
        prop_assert!(attempts <= alone && deadline <= own, "{:?}", text);
    }
}

/// 10 MB of what nests, repeats and does not end, in the time of one pass.
#[test]
fn a_very_long_text_is_read_once() {
    let times = |text: &str| text.repeat(1_000_000);
    for (text, said) in [
        (times("attempt=2, ") + "repeated", (2, false, true, None)),
        (format!("x=({})", times("a ")), NOTHING),
        (times("x=("), NOTHING),
        (format!("x{}, repeated", times(";p")), (0, true, true, None)),
        (format!("attempt={}", times("9")), NOTHING),
        (format!("x=\"{}", times("\\\"")), NOTHING),
    ] {
        assert_eq!(read(&text), said);
    }
}
