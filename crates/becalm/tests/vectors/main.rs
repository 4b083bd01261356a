//! Do the vectors of `docs/vectors.md` say what the documents say? A second reader, which shares nothing
//! with becalm but those documents, replays them.
#![cfg(all(feature = "serde", feature = "std"))]
#![allow(
    clippy::pedantic,
    reason = "the second reader is to look like the documents: it casts, and has a row for each row of a table"
)]

use std::collections::BTreeSet;

use becalm::Budget;
use serde_json::Value;

mod reader;
#[path = "../../examples/vectors/written/mod.rs"]
mod written;

const FIXED: &str = include_str!("../../../../docs/vectors.jsonl");

/// A number from the environment; `scripts/prove vectors` gives others than the default.
fn given(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

/// The same on every run unless told otherwise, as every property test here.
#[test]
fn fresh_histories_are_replayed_without_a_difference() {
    let seed = given("PROPTEST_RNG_SEED", 7);
    let count = given("BECALM_HISTORIES", 2000);
    let mut replayed = 0;
    for line in written::lines(seed, count).skip(1) {
        if let Err(difference) = reader::replay(&line.to_string()) {
            panic!("seed {seed}: {difference}\nin {line}");
        }
        replayed += 1;
    }
    assert_eq!(replayed, count);
    println!("{replayed} histories of seed {seed} replayed without a difference");
}

fn fixed() -> impl Iterator<Item = Value> {
    let value = |line| serde_json::from_str(line).expect("a line of JSON");
    FIXED.lines().map(value)
}

#[test]
fn the_fixed_file_is_what_the_program_writes_and_the_second_reader_agrees() {
    let first = fixed().next().expect("a first line");
    let number = |key: &str| first[key].as_u64().expect("a number");
    let written: Vec<_> = written::lines(number("seed"), number("histories")).collect();
    let fixed: Vec<_> = fixed().collect();
    assert_eq!(fixed.len(), written.len());
    for (fixed, written) in fixed.iter().zip(&written).skip(1) {
        let again = "write it again by the command in docs/vectors.md if the decision has changed on purpose";
        assert_eq!(fixed, written, "{again}");
        reader::replay(&fixed.to_string()).expect("the second reader agrees");
    }
}

/// All that a value holds, by its path, such as `then.stop=permanent`.
fn collect(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, &format!("{path}.{name}"), into);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, path, into);
            }
        }
        Value::String(text) => _ = into.insert(format!("{path}={text}")),
        _ => _ = into.insert(path.to_owned()),
    }
}

/// A file that lacks a case proves nothing about it.
#[test]
fn the_fixed_file_has_every_kind_of_case() {
    let mut seen = BTreeSet::new();
    fixed().for_each(|line| collect(&line, "", &mut seen));
    for case in [
        ".kind=calls",
        ".kind=schedule",
        ".kind=field",
        ".kind=pushback",
        ".kind=close",
        ".kind=status",
        ".kind=scope",
        ".kind=told",
        ".then.stop=deadline_exceeded",
        ".then=do_not_retry",
        ".then=budget_exhausted",
        ".events.then.wait",
        ".events.then.attempt",
        ".events.then.stop=permanent",
        ".events.then.stop=do_not_retry",
        ".events.then.stop=not_idempotent",
        ".events.then.stop=body_not_replayable",
        ".events.then.stop=nested_retry",
        ".events.then.stop=attempts_exhausted",
        ".events.then.stop=hint_too_long",
        ".events.then.stop=deadline_exceeded",
        ".events.then.stop=too_many_waiting",
        ".events.then.stop=budget_exhausted",
        ".events.do=drop",
        ".events.do=succeed",
        ".events.do=enable_retries",
        ".events.failure.hint.at_least",
        ".events.failure.hint.exactly",
        ".events.failure.hint.over",
        ".events.failure.hint=stop",
        ".events.left.ratio",
        ".events.left.first-tries",
        ".events.left.tokens",
        ".events.left.grpc",
        ".events.left.concurrency",
        ".events.left.per-minute",
        ".events.left.window",
        ".events.do=traffic",
        ".events.do=reload",
        ".events.do=set_mode",
        ".events.policy.budget=ratio:0.1,burst:5s,min:10,floor:10/h",
        ".events.then.token",
        ".events.then.asks_in",
        ".events.would.retry",
        ".events.would.cut",
        ".events.would.stop=budget_exhausted",
        ".events.would.refuse=deadline_exceeded",
        ".events.would=fail",
        ".policy.jitter=decorrelated",
        ".policy.jitter=decorrelated-clamped",
        ".policy.hint=clamp",
        ".policy.nested=outermost",
        ".dialect=discord",
        ".name=x-ratelimit-reset",
    ] {
        assert!(seen.contains(case), "no case of {case}");
    }
}

/// The burst of the default policy follows the traffic: somewhere it holds more than its ten tokens.
#[test]
fn the_fixed_file_has_a_default_budget_above_its_least() {
    let is_default = |line: &Value| line["policy"]["budget"] == Budget::default().to_string();
    let is_above = |event: &Value| event["left"]["ratio"].as_u64() > Some(10_000_000);
    let events = |line: Value| line["events"].as_array().cloned().unwrap_or_default();
    let mut events = fixed().filter(is_default).flat_map(events);
    assert!(events.any(|event| is_above(&event)));
}

/// A reader that agrees with everything would prove nothing.
#[test]
fn the_second_reader_notices_a_nanosecond_and_a_millionth() {
    let mut changed = 0;
    for line in written::lines(7, 200)
        .skip(1)
        .filter(|line| line["kind"] == "calls")
    {
        let events = line["events"].as_array().expect("events").len();
        for at in 0..events {
            for path in [
                "/then/wait",
                "/then/remaining",
                "/then/asks_in",
                "/would/0/retry",
                "/left/ratio",
                "/left/window",
                "/waiting",
            ] {
                let mut line = line.clone();
                let Some(value) = line["events"][at].pointer_mut(path) else {
                    continue;
                };
                let Some(number) = value.as_u64() else {
                    continue;
                };
                *value = (number + 1).into();
                changed += 1;
                assert!(
                    reader::replay(&line.to_string()).is_err(),
                    "{path} of event {at}"
                );
            }
        }
    }
    assert!(changed > 1000, "{changed}");
}
