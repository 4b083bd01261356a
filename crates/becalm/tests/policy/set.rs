//! Is one key of a policy set from a text as a policy file sets it?
#![cfg(feature = "serde")]

use std::time::Duration;

use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};
use becalm::{Policy, preset::Preset};
use serde_json::Value;

use crate::any_file::policy;
use proptest::prelude::*;

/// What stands in the file, as it would be typed behind a flag.
fn typed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(typed).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Each key of any policy, in its own text, makes that policy of any other.
    #[test]
    fn key_by_key_any_policy_becomes_any_other(from in policy(), to in policy()) {
        let file = serde_json::to_value(&to).unwrap();
        let mut set = from;
        for key in ["throttled_base", "deadline", "attempt_timeout", "max_waiting", "retry_on", "throttle",
            "rate", "hedge", "bulkhead", "breaker"] {
            set.set(key, "none").unwrap();
        }
        for (key, word) in [("when_spent", "stop"), ("mode", "enforce")] {
            set.set(key, word).unwrap(); // not in the file where it is this
        }
        for (key, value) in file.as_object().unwrap() {
            match value {
                Value::Object(lists) => for (list, value) in lists {
                    set.set(&format!("{key}.{list}"), &typed(value)).unwrap();
                },
                value => set.set(key, &typed(value)).unwrap(),
            }
        }
        prop_assert_eq!(set, to);
    }
}

#[test]
fn every_key_of_a_policy_file_is_a_key_here() {
    let unknown = Policy::default().set("", "").unwrap_err().to_string();
    let (_, keys) = unknown.split_once("the keys are ").expect("all keys");
    assert!(keys.split(", ").count() > 20);
    for key in keys.split(", ") {
        let refused = Policy::default().set(key, "?!").unwrap_err().to_string();
        assert!(!refused.contains("unknown key"), "{refused}");
        assert!(refused.contains(key), "{key}: {refused}");
    }
}

#[test]
fn a_preset_sets_all_keys_and_later_keys_come_on_top() {
    let mut set = Policy::default().attempts(9);
    set.set("preset", "grpc").unwrap();
    let grpc = Preset::by_name("grpc").unwrap().policy();
    assert_eq!(set, grpc);
    set.set("cap", " 90s ").unwrap();
    assert_eq!(set, grpc.cap(Duration::from_secs(90)));
}

#[test]
fn one_list_is_set_and_the_others_stay() {
    let mut set = Policy::default();
    for (key, text) in [
        ("retry_on.methods", "GET,PUT"),
        ("retry_on.statuses", "429"),
        ("retry_on.codes", "14, aborted"),
        ("retry_on.failures", "connect"),
        ("retry_on.statuses", "503, 507-509"),
        ("retry_on.failures", ""),
    ] {
        set.set(key, text).unwrap();
    }
    let expected = RetryOn::new()
        .methods(Methods::of(["GET", "PUT"]))
        .statuses("503, 507-509".parse::<Statuses>().unwrap())
        .codes(Codes::from_iter([14, 10]))
        .failures(Failures::from_iter([] as [FailureKind; 0]));
    assert_eq!(set.retry_on.as_deref(), Some(&expected));
    set.set("retry_on.methods", "any").unwrap();
    assert_eq!(set.retry_on.as_ref().unwrap().methods, Some(Methods::Any));
}

#[test]
fn a_refusal_names_key_and_remedy_and_changes_nothing() {
    for (key, text, sentence) in [
        (
            "atempts",
            "5",
            "unknown key `atempts`; did you mean `attempts`?",
        ),
        (
            "attempts",
            "0.5",
            "attempts: write a whole number from 1 to 4294967294, or \"unlimited\"",
        ),
        (
            "deadline",
            "30",
            "deadline: the duration has no unit; write 250ms, 1.5s or 2m",
        ),
        ("multiplier", "two", "multiplier: write a number"),
        (
            "jitter",
            "ful",
            "jitter: there is no jitter `ful`; did you mean `full`?",
        ),
        (
            "budget",
            "ratio:0.1,brust:3",
            "budget.brust: the budget `ratio` has no parameter `brust`; did you mean `burst`?",
        ),
        ("preset", "gprc", "preset: "),
        (
            "retry_on",
            "503",
            "retry_on: set one of its lists, such as `retry_on.statuses`, or write none",
        ),
        (
            "retry_on.status",
            "503",
            "retry_on.status: there is no list `status`; did you mean `statuses`?",
        ),
        (
            "retry_on.statuses",
            "200",
            "retry_on.statuses: `200` names no status",
        ),
    ] {
        let mut set = Policy::default();
        let refused = set.set(key, text).unwrap_err().to_string();
        assert!(refused.starts_with(sentence), "{refused}");
        assert_eq!(set, Policy::default());
    }
}
