//! Is every danger named, and only where there is one?

use std::time::Duration;

use becalm::budget::{Ratio, WhenSpent};
use becalm::classify::FailureKind;
use becalm::retry_on::{Codes, Failures, Methods, RetryOn, Statuses};
use becalm::{
    Backoff, Budget, Jitter, Policy, hint::HintMode, lint::Lint, preset::Preset, scope::Nested,
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub fn codes(policy: &Policy) -> Vec<&'static str> {
    policy.lints().iter().map(|lint| lint.code).collect()
}

/// The message of this lint.
pub fn message(policy: &Policy, code: &str) -> String {
    let lints = policy.lints();
    let found = lints.iter().find(|lint| lint.code == code);
    found
        .unwrap_or_else(|| panic!("no {code} among {lints:?}"))
        .message
        .clone()
}

#[test]
fn the_default_and_every_constructor_have_no_lints() {
    let none: Vec<Lint> = Vec::new();
    assert_eq!(Policy::default().lints(), none);
    assert_eq!(Policy::default().deadline(secs(30)).lints(), none);
    for base in [ms(10), ms(100), secs(1), secs(5)] {
        assert_eq!(Policy::exponential(base).lints(), none, "{base:?}");
        assert_eq!(Policy::fixed(base).lints(), none, "{base:?}");
        assert_eq!(Policy::linear(base).lints(), none, "{base:?}");
        assert_eq!(Policy::fibonacci(base).lints(), none, "{base:?}");
    }
    assert_eq!(Policy::custom(|n| ms(100) * (n + 1)).lints(), none);
    for jitter in Jitter::SAMPLES {
        let is_linted = matches!(jitter, Jitter::None | Jitter::DecorrelatedClamped);
        let lints = Policy::default().jitter(*jitter).lints();
        assert_eq!(lints.is_empty(), !is_linted, "{jitter}: {lints:?}");
    }
}

#[test]
fn a_policy_without_retries_has_no_lints() {
    let policy = Policy::default()
        .attempts(1)
        .budget(Budget::None)
        .jitter(Jitter::None);
    assert!(policy.lints().is_empty());
}

/// Repeats these methods, statuses and failures alone.
pub fn listed(methods: &[&'static str], statuses: &str, failures: &[FailureKind]) -> Policy {
    let lists = RetryOn::new()
        .methods(Methods::of(methods.iter().copied()))
        .statuses(statuses.parse::<Statuses>().expect("statuses"))
        .failures(failures.iter().copied().collect::<Failures>());
    Policy::default().retry_on(lists)
}

fn with_budget(budget: &str) -> Policy {
    Policy::default().budget(budget.parse::<Budget>().expect("a valid budget"))
}

/// Each kind as its system has it, and a large one beside a small one.
#[test]
fn a_budget_that_bounds_enough_has_no_lint() {
    for budget in [
        "tokens:500",
        "tokens:500,cost:5",
        "tokens:500,clean:1,refund:none",
        "grpc:3",
        "grpc:10",
        "window:0,ttl:10s,floor:0.1",
        "window:0,ttl:6s,floor:0.16666665",
        "window:0.2",
        "per-minute:60",
        "concurrency:0.2,floor:0",
        "ratio:0.1 + concurrency:0.2",
        "ratio:2 + per-minute:60",
    ] {
        assert_eq!(codes(&with_budget(budget)), [""; 0], "{budget}");
    }
}

fn patient() -> Policy {
    let policy = Policy::default().deadline(secs(30));
    policy.when_spent(WhenSpent::Wait)
}

/// One policy for each code, which has this lint and no other.
fn specimens() -> Vec<(&'static str, Policy)> {
    let policy = Policy::default;
    vec![
        ("no-bound", policy().attempts(Policy::UNLIMITED)),
        ("no-budget", policy().budget(Budget::None)),
        ("retries-at-once", policy().base(Duration::ZERO)),
        (
            "retries-at-once",
            policy().base(Duration::ZERO).jitter(Jitter::None),
        ),
        ("retries-at-once", policy().base(Duration::from_micros(100))),
        ("no-jitter", policy().jitter(Jitter::None)),
        (
            "jitter-after-cap",
            policy().jitter(Jitter::DecorrelatedClamped),
        ),
        ("narrow-jitter", policy().jitter(Jitter::Proportional(0.05))),
        ("narrow-jitter", policy().jitter(Jitter::Additive(ms(10)))),
        ("narrow-jitter", policy().floor(secs(19))),
        (
            "narrow-jitter",
            policy()
                .base(secs(15))
                .jitter(Jitter::Decorrelated)
                .cap(secs(16)),
        ),
        ("no-growth", policy().multiplier(1.0)),
        ("no-growth", policy().base(secs(20))),
        ("no-growth", Policy::fixed(secs(1)).attempts(100)),
        ("large-budget", policy().budget(Budget::ratio(1.5))),
        ("large-budget", with_budget("ratio:0.1,burst:1000")),
        ("large-budget", with_budget("ratio:0.1,burst:5s,min:21")),
        ("large-budget", with_budget("ratio:0.4,burst:3s")),
        ("large-budget", with_budget("ratio:0.1,floor:50")),
        ("large-budget", with_budget("tokens:500,cost:2")),
        ("large-budget", with_budget("tokens:500,clean:8")),
        ("large-budget", with_budget("grpc:1000")),
        ("large-budget", with_budget("grpc:10,ratio:1")),
        ("large-budget", with_budget("window:0.2,ttl:60s,floor:10")),
        ("large-budget", with_budget("window:0.2,ttl:1s,floor:50")),
        ("large-budget", with_budget("per-minute:600")),
        ("large-budget", with_budget("ratio:2 + per-minute:600")),
        ("concurrency-alone", with_budget("concurrency:0.2")),
        ("concurrency-alone", with_budget("concurrency:0,floor:3")),
        ("budget-never-grants", with_budget("grpc:2")),
        (
            "budget-never-grants",
            with_budget("window:0,ttl:9s,floor:0.1"),
        ),
        ("budget-never-grants", with_budget("ratio:0.1 + grpc:1")),
        ("budget-runs-out", with_budget("tokens:500,clean:0")),
        ("wait-without-bound", patient()),
        (
            "repeats-non-idempotent",
            listed(&["GET", "POST"], "408", &[FailureKind::Connect]),
        ),
        (
            "repeats-what-may-be-done",
            policy().retry_on(
                RetryOn::new()
                    .methods(Methods::Any)
                    .codes(Codes::from_iter([2, 13, 14])),
            ),
        ),
        ("nested-retries", policy().nested(Nested::Allow)),
        ("hints-ignored", policy().hint(HintMode::Ignore)),
        ("hints-clamped", policy().hint(HintMode::Clamp)),
        (
            "hint-beyond-deadline",
            policy().max_hint(secs(600)).deadline(secs(30)),
        ),
        ("throttled-sooner", policy().throttled_base(ms(10))),
        (
            "attempt-timeout-fills-deadline",
            policy().attempt_timeout(secs(5)).deadline(secs(5)),
        ),
        (
            "attempt-timeout-fills-deadline",
            policy().attempt_timeout(secs(5)).deadline(secs(15)),
        ),
        ("no-deadline", policy().attempt_timeout(secs(60))),
        (
            "waits-exceed-deadline",
            policy().attempts(10).base(secs(1)).deadline(secs(30)),
        ),
        (
            "waits-exceed-deadline",
            policy().attempts(1_000_000).deadline(secs(3600)),
        ),
        (
            "waits-exceed-deadline",
            policy().attempts(Policy::UNLIMITED).deadline(ms(50)),
        ),
        ("long-waits", policy().base(secs(3600)).cap(secs(36_000))),
    ]
}

#[test]
fn each_danger_has_its_code_and_no_other() {
    for (code, policy) in specimens() {
        assert_eq!(
            policy.validate(),
            Ok(()),
            "{code}: a lint is for legal policies"
        );
        assert_eq!(codes(&policy), [code], "{policy:?}");
    }
}

/// What to change depends on what the burst is: a number, a time, or the least of a time.
#[test]
fn a_burst_that_is_too_large_is_mended_where_it_is_written() {
    let remedy = |text: &str| message(&with_budget(text), "large-budget");
    assert!(remedy("ratio:0.1,burst:200").ends_with("set a burst of 10 to 100"));
    assert!(remedy("ratio:0.1,burst:5s,min:200").contains("200 retries"));
    assert!(remedy("ratio:0.1,burst:5s,min:200").contains("set min to 10"));
    assert!(remedy("ratio:0.1,burst:30s").contains("repeat 3.0 s of its calls"));
    for harmless in ["ratio:0.1,burst:5s,min:20", "ratio:0.1,burst:100"] {
        assert_eq!(codes(&with_budget(harmless)), [""; 0], "{harmless}");
    }
}

#[cfg(feature = "std")]
#[test]
fn c24_unlimited_attempts_are_bounded_by_the_budget_and_the_lint_says_so() {
    let unlimited = Policy::default().attempts(Policy::UNLIMITED);
    let text = |policy: &Policy| message(policy, "no-bound");
    assert!(text(&unlimited).contains("after about 11 attempts"));
    let shop = unlimited.clone().jitter(Jitter::Full).builder();
    let shop = shop.sleeper(becalm::time::FakeSleeper::auto()).build();
    let gave_up = shop
        .unwrap()
        .retry_blocking(|_| Err::<(), _>(std::io::Error::from(std::io::ErrorKind::TimedOut)))
        .unwrap_err();
    assert_eq!(gave_up.attempts(), 11, "as the lint says");
    let tighter = unlimited.clone().budget(
        "ratio:0.1,burst:20 + per-minute:3"
            .parse::<Budget>()
            .unwrap(),
    );
    assert!(text(&tighter).contains("after about 4 attempts"));
    assert!(text(&unlimited.budget(Budget::None)).contains("for ever"));
}

#[test]
fn unlimited_attempts_without_a_budget_are_worse_than_either() {
    let policy = Policy::default()
        .attempts(Policy::UNLIMITED)
        .budget(Budget::None);
    assert_eq!(
        codes(&policy),
        ["no-bound", "unlimited-without-budget", "no-budget"]
    );
    let policy = policy.deadline(secs(60));
    assert_eq!(codes(&policy), ["unlimited-without-budget", "no-budget"]);
}

#[test]
fn every_code_is_stable_kebab_case_and_shown_by_a_specimen() {
    let shown: Vec<_> = specimens().into_iter().map(|(code, _)| code).collect();
    for code in Lint::CODES {
        assert!(
            code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
            "{code}"
        );
    }
    let (of_retries, of_protection) = Lint::CODES.split_at(25);
    for code in of_retries {
        assert!(
            shown.contains(code)
                || ["unlimited-without-budget", "wait-without-budget"].contains(code),
            "{code}"
        );
    }
    assert_eq!(
        of_retries,
        [
            "no-bound",
            "unlimited-without-budget",
            "no-budget",
            "retries-at-once",
            "no-jitter",
            "jitter-after-cap",
            "narrow-jitter",
            "no-growth",
            "large-budget",
            "concurrency-alone",
            "budget-never-grants",
            "budget-runs-out",
            "wait-without-budget",
            "wait-without-bound",
            "repeats-non-idempotent",
            "repeats-what-may-be-done",
            "nested-retries",
            "hints-ignored",
            "hints-clamped",
            "hint-beyond-deadline",
            "throttled-sooner",
            "attempt-timeout-fills-deadline",
            "waits-exceed-deadline",
            "no-deadline",
            "long-waits",
        ]
    );
    assert_eq!(
        of_protection,
        [
            "throttle-eager",
            "throttle-stops-probing",
            "rate-waits-forever",
            "hedge-without-budget",
            "hedge-eager",
            "hedge-never-starts",
            "hedge-needs-traffic",
            "bulkhead-waits-forever",
            "bulkhead-held-by-hangs",
            "bulkhead-wait-fills-deadline",
            "bulkhead-long-queue",
            "breaker-hair-trigger",
            "breaker-opened-by-one-call",
            "breaker-blind-to-hangs",
            "breaker-needs-traffic",
            "breaker-no-jitter",
            "breaker-probes-often",
            "breaker-open-long",
        ]
    );
}

#[test]
fn a_message_is_one_sentence_with_the_remedy() {
    let remedies = ["set ", "lower ", "raise ", "say "];
    for (code, policy) in specimens() {
        let message = message(&policy, code);
        assert!(
            remedies.iter().any(|remedy| message.contains(remedy)),
            "{code}: {message}"
        );
        assert!(
            !message.contains("  ") && !message.ends_with('.'),
            "{code}: {message}"
        );
    }
}

#[test]
fn the_figures_are_those_of_the_policy() {
    let policy = Policy::default().attempts(6).budget(Budget::None);
    assert!(message(&policy, "no-budget").contains("by up to 6;"));

    // Means of full jitter: 0.5, 1, 2, 4, 8, 10, 10: after six of them 25.5 s, after seven 35.5 s.
    let policy = Policy::exponential(secs(1)).attempts(10).deadline(secs(30));
    let sentence = message(&policy, "waits-exceed-deadline");
    assert!(
        sentence.contains("attempt 8") && sentence.contains("seldom"),
        "{sentence}"
    );

    // Without jitter 1 + 2 + 4 + 8 = 15 s pass for certain before attempt 5.
    let policy = policy.jitter(Jitter::None).deadline(secs(15));
    let sentence = message(&policy, "waits-exceed-deadline");
    assert!(
        sentence.contains("attempt 5") && sentence.contains("never"),
        "{sentence}"
    );

    // Far beyond what is looked at one by one: 3 600 s in steps of 1 s.
    let policy = Policy::fixed(secs(1))
        .jitter(Jitter::None)
        .attempts(4000)
        .deadline(secs(3600));
    assert!(message(&policy, "waits-exceed-deadline").contains("attempt 3601 "));
    let policy = policy.attempts(3600);
    assert!(!codes(&policy).contains(&"waits-exceed-deadline"));

    let policy = Policy::default().budget(Budget::ratio(0.75));
    assert!(message(&policy, "large-budget").contains("75 %"));
}

#[test]
fn hints_of_any_length_may_be_stopped_by_the_deadline() {
    let polly = Preset::by_name("polly-http-standard").unwrap().policy();
    assert!(
        polly
            .deadline
            .is_some_and(|deadline| deadline < polly.max_hint)
    );
    assert!(!codes(&polly).contains(&"hint-beyond-deadline"));
}

#[test]
fn an_attempt_timeout_needs_room_for_the_first_wait() {
    let policy = Policy::fixed(secs(2))
        .attempts(2)
        .jitter(Jitter::Equal)
        .deadline(secs(10));
    assert_eq!(codes(&policy.clone().attempt_timeout(ms(8900))), [""; 0]);
    let filled = policy.attempt_timeout(secs(9));
    assert_eq!(codes(&filled), ["attempt-timeout-fills-deadline"]);
}

#[test]
fn a_growing_backoff_may_go_on() {
    let policy = Policy::default()
        .attempts(Policy::UNLIMITED)
        .deadline(secs(600));
    assert_eq!(codes(&policy), [""; 0]);
    assert!(!codes(&policy.backoff(Backoff::Linear)).contains(&"no-growth"));
}

/// The dangers for which systems are known are found in their presets.
#[test]
fn known_storms_are_found_in_the_presets() {
    for (name, code) in [
        ("polly", "no-jitter"),
        ("go-retryablehttp", "no-jitter"),
        ("tenacity", "retries-at-once"),
        ("failsafe-java", "retries-at-once"),
        ("gcp-memorystore", "narrow-jitter"),
        ("reconnecting-websocket-joewalnes", "no-bound"),
        ("stripe", "no-budget"),
        ("aws-standard-2026-11", "hints-clamped"),
        ("envoy", "hints-ignored"),
        ("envoy", "concurrency-alone"),
        ("k8s-workqueue", "long-waits"),
        ("aws-adaptive-2026-11", "rate-waits-forever"),
        ("google-sre", "throttle-stops-probing"),
        ("polly-hedging", "hedge-without-budget"),
        ("polly-http-standard", "breaker-no-jitter"),
    ] {
        let lints = codes(&Preset::by_name(name).unwrap().policy());
        assert!(lints.contains(&code), "{name}: {lints:?}");
    }
}

#[test]
fn no_policy_panics_valid_or_not() {
    let extremes = [
        Duration::ZERO,
        Duration::from_nanos(1),
        secs(1),
        Duration::MAX,
    ];
    for jitter in [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::DecorrelatedClamped,
        Jitter::Proportional(f64::NAN),
        Jitter::Proportional(f64::INFINITY),
        Jitter::Additive(Duration::MAX),
    ] {
        for base in extremes {
            for cap in extremes {
                for attempts in [0, 2, 1000, u32::MAX] {
                    for multiplier in [f64::NAN, f64::NEG_INFINITY, 0.0, f64::MAX] {
                        let policy = Policy::exponential(base)
                            .cap(cap)
                            .floor(base)
                            .deadline(cap)
                            .attempt_timeout(base)
                            .jitter(jitter)
                            .attempts(attempts)
                            .multiplier(multiplier)
                            .budget(Budget::Ratio(Ratio::default()).burst(f64::NAN));
                        let _ = policy.lints();
                    }
                }
            }
        }
    }
}
