//! Is a policy read from a file what was written, and is everything else refused with a sentence?
#![cfg(feature = "serde")]

use std::time::Duration;

use becalm::breaker::{Breaker, Span};
use becalm::budget::WhenSpent;
use becalm::bulkhead::{Bulkhead, Order};
use becalm::policy::Mode;
use becalm::{
    Budget, Hedge, Jitter, Policy, Throttle, hint::HintMode, preset::Preset, rate::AdaptiveRate,
    scope::Nested,
};

fn read(text: &str) -> Policy {
    toml::from_str(text).unwrap()
}

/// The sentence with which a file is refused.
fn refused(text: &str) -> String {
    toml::from_str::<Policy>(text)
        .unwrap_err()
        .message()
        .to_owned()
}

#[test]
fn an_empty_file_is_the_default_policy() {
    assert_eq!(read(""), Policy::default());
}

#[test]
fn every_key_is_read() {
    let policy = read(
        r#"
        backoff = "linear"
        base = "250ms"
        throttled_base = "1.5s"
        multiplier = 3
        cap = "2m"
        floor = "300us"
        jitter = "proportional:0.25"
        attempts = 7
        deadline = "1m30s"
        attempt_timeout = "5s"
        hint = "clamp"
        max_hint = "10m"
        budget = "ratio:0.2,burst:20,floor:1"
        when_spent = "wait"
        max_waiting = 50
        nested = "share-budget"
        throttle = "accepts:1.5,within:30s,max:0.8"
        rate = "cubic,max-wait:5s"
        hedge = "p99,min:5ms,max:1s,samples:600,window:1m,copies:2"
        bulkhead = "calls:50,waiting:10,max-wait:1s,order:lifo"
        breaker = "share:0.25,calls:100,min:30,slow:2s,open:1s,open-max:2m,jitter:1,probes:3,successes:4"
        mode = "observe"
        "#,
    );
    let expected = Policy::linear(Duration::from_millis(250))
        .throttled_base(Duration::from_millis(1500))
        .multiplier(3.0)
        .cap(Duration::from_secs(120))
        .floor(Duration::from_micros(300))
        .jitter(Jitter::Proportional(0.25))
        .attempts(7)
        .deadline(Duration::from_secs(90))
        .attempt_timeout(Duration::from_secs(5))
        .hint(HintMode::Clamp)
        .max_hint(Duration::from_secs(600))
        .budget(Budget::ratio(0.2).burst(20.0).floor_per_second(1.0))
        .when_spent(WhenSpent::Wait)
        .max_waiting(50)
        .nested(Nested::ShareBudget)
        .throttle(
            Throttle::accepts(1.5)
                .within(Duration::from_secs(30))
                .max(0.8),
        )
        .rate(AdaptiveRate::cubic().max_wait(Duration::from_secs(5)))
        .hedge(
            Hedge::at_quantile(0.99)
                .min(Duration::from_millis(5))
                .max(Duration::from_secs(1))
                .min_samples(600)
                .window(Duration::from_secs(60))
                .copies(2),
        )
        .bulkhead(
            Bulkhead::calls(50)
                .waiting(10)
                .max_wait(Duration::from_secs(1))
                .order(Order::Lifo),
        )
        .breaker(
            Breaker::share(0.25, Span::Calls(100))
                .min_calls(30)
                .slow(Duration::from_secs(2))
                .open(Duration::from_secs(1))
                .open_max(Duration::from_secs(120))
                .jitter(1.0)
                .probes(3)
                .successes(4),
        )
        .mode(Mode::Observe);
    assert_eq!(policy, expected);
}

#[test]
fn the_mode_is_written_where_it_is_not_the_default() {
    let written = |policy: Policy| toml::to_string(&policy).expect("it can be written");
    assert!(!written(Policy::default()).contains("mode"));
    let observing = written(Policy::default().mode(Mode::Observe));
    assert!(observing.contains("\nmode = \"observe\"\n"), "{observing}");
    assert_eq!(read("mode = \"enforce\""), Policy::default());
    let slip = toml::from_str::<Policy>("mode = \"observ\"").unwrap_err();
    assert!(slip.message().contains("did you mean `observe`?"), "{slip}");
}

#[test]
fn a_preset_is_where_the_other_keys_start_wherever_it_stands() {
    let grpc = Preset::by_name("grpc").unwrap().policy();
    assert_eq!(read("preset = \"grpc\""), grpc);
    for text in [
        "preset = \"grpc\"\nattempts = 2",
        "attempts = 2\npreset = \"grpc\"",
    ] {
        assert_eq!(read(text), grpc.clone().attempts(2), "{text}");
    }
    let polly = read(
        r#"
        preset = "polly-http-standard"
        deadline = "none"
        attempt_timeout = "none"
        "#,
    );
    assert_eq!((polly.deadline, polly.attempt_timeout), (None, None));
}

/// Of a preset, or of nothing.
#[test]
fn none_switches_a_protection_off() {
    let all = [
        ("google-sre", "throttle"),
        ("aws-adaptive-2026-11", "rate"),
        ("grpc-hedging", "hedge"),
        ("polly-http-standard", "bulkhead"),
        ("polly-http-standard", "breaker"),
    ];
    for (preset, key) in all {
        let base = Preset::by_name(preset).unwrap().policy();
        let without = read(&format!("preset = \"{preset}\"\n{key} = \"none\""));
        assert_ne!(without, base, "{preset}: {key}");
        let written = toml::Table::try_from(&without).unwrap();
        assert!(!written.contains_key(key), "{preset}: {key}");
        let rest = toml::Table::try_from(&base).unwrap();
        assert_eq!(written.len() + 1, rest.len(), "{preset}: {key} alone");

        let policy = read(&format!("{key} = \"none\""));
        assert_eq!(policy, Policy::default(), "{key}");
    }
}

#[test]
fn attempts_may_be_unlimited() {
    assert_eq!(read("attempts = \"unlimited\"").attempts, Policy::UNLIMITED);
    let text = toml::to_string(&Policy::default().attempts(Policy::UNLIMITED)).unwrap();
    assert!(text.contains("attempts = \"unlimited\""), "{text}");
}

#[test]
fn what_is_written_is_what_a_human_would_write() {
    assert_eq!(
        toml::to_string(&Policy::default()).unwrap(),
        r#"backoff = "exponential"
base = "100ms"
multiplier = 2.0
cap = "20s"
floor = "0s"
jitter = "full"
attempts = 4
hint = "honor"
max_hint = "1m"
budget = "ratio:0.1,burst:5s,min:10,floor:10/h"
nested = "nearest"
"#
    );
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest() {
    for (key, meant) in [
        ("atempts", "attempts"),
        ("attempt-timeout", "attempt_timeout"),
        ("jiter", "jitter"),
        ("Base", "base"),
        ("max_hints", "max_hint"),
        ("braker", "breaker"),
        ("bulkheads", "bulkhead"),
        ("hegde", "hedge"),
        ("throtle", "throttle"),
        ("rates", "rate"),
    ] {
        assert_eq!(
            refused(&format!("{key} = 1")),
            format!("unknown key `{key}`; did you mean `{meant}`?")
        );
    }
    let list = refused("colour = { red = 1 }");
    assert!(
        list.starts_with("unknown key `colour`; the keys are preset, backoff, base,"),
        "{list}"
    );
}

#[test]
fn a_value_that_cannot_be_read_is_refused_by_key_and_with_a_remedy() {
    let attempts = "attempts: write a whole number from 1 to 4294967294, or \"unlimited\"";
    for (text, sentence) in [
        (
            "base = 250",
            "base: write a duration in quotes, such as \"250ms\"",
        ),
        (
            "base = \"250\"",
            "base: the duration has no unit; write 250ms, 1.5s or 2m",
        ),
        (
            "deadline = \"soon\"",
            "deadline: the duration does not start with a number; write 250ms, 1.5s or 2m",
        ),
        ("attempts = -1", attempts),
        ("attempts = 4.5", attempts),
        ("attempts = 4294967296", attempts),
        ("attempts = \"4\"", attempts),
        (
            "multiplier = \"2\"",
            "multiplier: write a number without quotes",
        ),
        (
            "max_waiting = -3",
            "max_waiting: write a whole number from 1 to 4294967295, or \"none\"",
        ),
        (
            "backoff = \"custom\"",
            "backoff: there is no backoff `custom`; write fixed, linear, exponential or fibonacci",
        ),
        (
            "jitter = \"proportional\"",
            "jitter.proportional: the jitter's proportional has no value: write proportional:0.25",
        ),
        (
            "jitter = 0.25",
            "jitter: write it in quotes, such as \"proportional:0.25\", or as a table",
        ),
        (
            "budget = \"10%\"",
            "budget: there is no budget `10%`; write ratio:0.1, first-tries:0.1, tokens:500, grpc:10, \
             concurrency:0.2, per-minute:60 or window:0.2",
        ),
        (
            "hint = \"honour\"",
            "hint: there is no hint mode `honour`; did you mean `honor`?",
        ),
        (
            "nested = \"yes\"",
            "nested: there is no way with nested retries `yes`; write nearest, outermost, allow or share-budget",
        ),
        (
            "preset = \"grcp\"",
            "preset: there is no preset `grcp`; did you mean `grpc`?",
        ),
    ] {
        assert_eq!(refused(text), sentence, "{text}");
    }
    let boolean = refused("jitter = true");
    assert!(
        boolean.contains("expected a text, a number or a table for `jitter`"),
        "{boolean}"
    );
}

#[test]
fn a_protection_that_cannot_be_read_is_refused_by_key_and_with_a_remedy() {
    for (text, sentence) in [
        (
            "throttle = \"2\"",
            "throttle: there is no throttle `2`; write accepts:2",
        ),
        (
            "throttle = \"accepts:2,within:2\"",
            "throttle.within: the throttle's within is `2`: the duration has no unit; write 250ms, 1.5s or \
             2m",
        ),
        (
            "throttle = 2",
            "throttle: write it in quotes, such as \"accepts:2\", or as a table",
        ),
        (
            "rate = \"fast\"",
            "rate: there is no adaptive rate `fast`; write cubic",
        ),
        (
            "rate = \"cubic,wait:5s\"",
            "rate.wait: the adaptive rate `cubic` has no parameter `wait`; it has max-wait",
        ),
        (
            "hedge = \"50ms\"",
            "hedge: there is no hedge `50ms`; write after:50ms or p95",
        ),
        (
            "hedge = \"p95,copies:9\"",
            "hedge: the hedge's copies must be from 1 to 4 beside the first attempt",
        ),
        (
            "bulkhead = 50",
            "bulkhead: write it in quotes, such as \"calls:50\", or as a table",
        ),
        (
            "bulkhead = \"50\"",
            "bulkhead: there is no bulkhead `50`; write calls:50, gradient:20 or aimd:20",
        ),
        (
            "bulkhead = \"calls:5,max-wait:1s\"",
            "bulkhead: the bulkhead has a max-wait but no place to wait in; add waiting, or leave \
             out max-wait",
        ),
        (
            "breaker = \"open:5s\"",
            "breaker: there is no breaker `open`; write consecutive:5 or share:0.5",
        ),
        (
            "breaker = \"consecutive:x\"",
            "breaker.consecutive: the breaker's consecutive is `x`: write a whole number",
        ),
        (
            "breaker = \"consecutive:0\"",
            "breaker: the breaker's consecutive failures must be from 1 to 1000000; leave the \
             breaker out for none",
        ),
        (
            "breaker = \"share:0.5,calls:10,min:11\"",
            "breaker: the breaker's min is above its window of calls, so it would never open; lower \
             min or raise calls",
        ),
    ] {
        assert_eq!(refused(text), sentence, "{text}");
    }
}

#[test]
fn a_policy_that_does_not_validate_is_refused() {
    for (text, field) in [
        ("attempts = 0", "attempts"),
        ("base = \"30s\"", "base"),
        ("multiplier = nan", "multiplier"),
        ("multiplier = 0.5", "multiplier"),
        ("floor = \"20s\"", "floor"),
        ("jitter = \"proportional:1.5\"", "jitter"),
        ("jitter = \"additive:21s\"", "jitter"),
        ("deadline = \"0s\"", "deadline"),
        ("when_spent = \"wait\"", "when_spent"),
        ("when_spent = \"sleep\"", "when_spent"),
        ("max_waiting = 0", "max_waiting"),
        ("preset = \"grpc\"\nbase = \"2s\"", "base"),
    ] {
        let sentence = refused(text);
        assert!(sentence.contains(field), "{text}: {sentence}");
    }
}

#[test]
fn a_key_given_twice_is_refused() {
    // The TOML parser itself refuses this; JSON parsers do not.
    let error = serde_json::from_str::<Policy>(r#"{"base": "1s", "base": "2s"}"#).unwrap_err();
    let sentence = error.to_string();
    assert!(
        sentence.starts_with("key `base` is given twice; keep one of them"),
        "{sentence}"
    );
}

#[test]
fn what_could_not_be_read_back_is_not_written() {
    let custom = Policy::custom(|_| Duration::from_secs(1));
    let error = toml::to_string(&custom).unwrap_err();
    assert!(
        error.to_string().contains("a custom backoff is code"),
        "{error}"
    );
    let error = serde_json::to_string(&Policy::default().multiplier(f64::NAN)).unwrap_err();
    assert!(error.to_string().contains("multiplier"), "{error}");
}

#[test]
fn a_duration_beyond_the_clock_is_written_as_the_longest_that_counts() {
    let text = toml::to_string(&Policy::default().max_hint(Duration::MAX)).unwrap();
    assert_eq!(read(&text).max_hint, Duration::from_nanos(u64::MAX));
}

#[test]
fn every_preset_survives_the_way_to_a_file_and_back() {
    for preset in Preset::all() {
        let policy = preset.policy();
        assert_eq!(
            read(&toml::to_string(&policy).unwrap()),
            policy,
            "{}",
            preset.name()
        );
    }
}
