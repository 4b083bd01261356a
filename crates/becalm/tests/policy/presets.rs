//! Are the presets what their systems do, and do they say so where they are not?

use std::collections::HashSet;
use std::time::Duration;

use becalm::{Backoff, Budget, Jitter, Policy, hint::HintMode, preset::Preset, scope::Nested};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn policy(name: &str) -> Policy {
    Preset::by_name(name).unwrap().policy()
}

#[test]
fn every_preset_validates() {
    for preset in Preset::all() {
        assert_eq!(preset.policy().validate(), Ok(()), "{}", preset.name());
    }
}

#[test]
fn names_are_unique_kebab_case_and_found() {
    let mut seen = HashSet::new();
    for preset in Preset::all() {
        let name = preset.name();
        assert!(seen.insert(name), "{name} is there twice");
        assert!(
            name.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
            "{name}"
        );
        assert_eq!(Preset::by_name(name), Ok(preset));
        assert!(!preset.source().is_empty());
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    for (typed, meant) in [
        ("grcp", "grpc"),
        ("aws-standard", "aws-standard-2026-11"),
        ("aws-dynamodb", "aws-dynamodb-2026-11"),
        ("polly_http_standard", "polly-http-standard"),
        ("Envoy", "envoy"),
    ] {
        let error = Preset::by_name(typed).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("there is no preset `{typed}`; did you mean `{meant}`?")
        );
    }
    let stranger = Preset::by_name("my-own-thing").unwrap_err();
    assert!(
        stranger
            .to_string()
            .ends_with("`becalm presets` lists them")
    );
}

/// Attempts, base, multiplier and cap of what each system documents.
#[test]
fn the_numbers_are_those_of_the_systems() {
    let unlimited = Policy::UNLIMITED;
    let none = secs(365 * 86_400);
    for (name, attempts, base, multiplier, cap) in [
        ("aws-standard-2026-11", 3, ms(50), 2.0, secs(20)),
        ("aws-dynamodb-2026-11", 4, ms(25), 2.0, secs(20)),
        ("aws-standard-legacy", 3, secs(1), 2.0, secs(20)),
        ("aws-legacy", 5, secs(1), 2.0, none),
        ("aws-legacy-dynamodb", 10, ms(50), 2.0, none),
        ("aws-adaptive-2026-11", 3, ms(50), 2.0, secs(20)),
        ("aws-crt", 11, ms(500), 2.0, secs(20)),
        ("grpc", 4, ms(100), 2.0, secs(1)),
        ("grpc-hedging", 4, secs(0), 2.0, none),
        ("grpc-connection", unlimited, secs(1), 1.6, secs(120)),
        ("gcp-gax", unlimited, secs(1), 2.0, secs(30)),
        ("gcp-rust", unlimited, secs(1), 2.0, secs(60)),
        ("gcp-memorystore", unlimited, secs(1), 2.0, secs(32)),
        ("google-sre", 3, ms(100), 2.0, secs(20)),
        ("azure", 9, ms(400), 2.0, secs(30)),
        ("stripe", 3, ms(500), 2.0, secs(5)),
        ("stainless-openai", 3, ms(500), 2.0, secs(8)),
        ("stainless-anthropic", 3, ms(500), 2.0, secs(8)),
        ("mongodb", 3, ms(200), 2.0, secs(10)),
        ("envoy", 2, ms(25), 2.0, ms(250)),
        ("istio", 3, ms(25), 2.0, ms(250)),
        ("linkerd-annotation", 2, ms(50), 2.0, ms(250)),
        ("polly", 4, secs(2), 2.0, none),
        ("polly-http-standard", 4, secs(2), 2.0, none),
        ("polly-hedging", 2, secs(0), 2.0, none),
        ("polly-http-hedging", 2, secs(0), 2.0, none),
        ("resilience4j", 3, ms(500), 2.0, none),
        ("resilience4j-exponential-random", 3, ms(500), 1.5, none),
        ("failsafe-java", 3, secs(0), 2.0, none),
        ("failsafe-go", 3, secs(0), 2.0, none),
        ("finagle", 3, secs(0), 2.0, none),
        ("finagle-dead-mark", unlimited, secs(5), 2.0, secs(300)),
        ("tenacity", unlimited, secs(0), 2.0, none),
        ("stamina", 10, ms(100), 2.0, secs(5)),
        ("urllib3", 11, secs(0), 2.0, secs(120)),
        ("cockatiel", unlimited, ms(128), 2.0, secs(30)),
        ("p-retry", 11, secs(1), 2.0, none),
        ("spring-retry", 3, ms(100), 2.0, secs(30)),
        ("spring-framework-7", 4, secs(1), 2.0, none),
        ("go-retryablehttp", 5, secs(1), 2.0, secs(30)),
        ("cenkalti", unlimited, ms(500), 1.5, secs(60)),
        ("k8s-default-retry", 5, ms(10), 2.0, none),
        ("k8s-default-backoff", 4, ms(10), 5.0, none),
        ("k8s-workqueue", unlimited, ms(5), 2.0, secs(1000)),
        ("k8s-client-rest", 11, secs(0), 2.0, none),
        ("reconnecting-websocket", unlimited, secs(3), 1.3, secs(10)),
        (
            "reconnecting-websocket-joewalnes",
            unlimited,
            secs(1),
            1.5,
            secs(30),
        ),
        ("graphql-ws", 6, secs(1), 2.0, none),
        ("centrifuge", unlimited, ms(500), 2.0, secs(20)),
        ("contention", 20, ms(40), 4.0, secs(2)),
        ("command", 5, secs(2), 2.0, secs(60)),
    ] {
        let policy = policy(name);
        let found = (policy.attempts, policy.base, policy.multiplier, policy.cap);
        assert_eq!(found, (attempts, base, multiplier, cap), "{name}");
    }
}

#[test]
fn the_first_ceilings_are_those_of_the_systems() {
    for (name, ceilings) in [
        ("aws-standard-2026-11", &[50, 100][..]),
        ("aws-legacy", &[1_000, 2_000, 4_000, 8_000]),
        ("grpc", &[100, 200, 400]),
        ("grpc-connection", &[1_000, 1_600, 2_560]),
        (
            "azure",
            &[400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000],
        ),
        ("stripe", &[500, 1_000]),
        ("mongodb", &[200, 400]),
        ("envoy", &[25]),
        ("istio", &[25, 50]),
        ("polly", &[2_000, 2_000, 2_000]),
        ("polly-http-standard", &[2_000, 4_000, 8_000]),
        ("urllib3", &[0; 10]),
        (
            "stamina",
            &[100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000],
        ),
        ("cenkalti", &[500, 750, 1_125]),
        ("k8s-default-retry", &[10, 10, 10, 10]),
        ("k8s-default-backoff", &[10, 50, 250]),
        ("graphql-ws", &[1_000, 2_000, 4_000, 8_000, 16_000]),
    ] {
        let policy = policy(name);
        let steps: Vec<_> = policy.schedule().take(ceilings.len()).collect();
        let found: Vec<_> = steps.iter().map(|step| step.ceiling.as_millis()).collect();
        assert_eq!(found, ceilings, "{name}");
        if policy.attempts != Policy::UNLIMITED {
            assert_eq!(policy.schedule().count(), ceilings.len(), "{name}");
        }
    }
}

/// The whole window of a delay, where a system states it.
#[test]
fn the_windows_are_those_of_the_systems() {
    for (name, retry, least, most) in [
        ("aws-standard-2026-11", 2, 0, 100),
        ("grpc", 1, 80, 120),
        ("gcp-memorystore", 1, 1_000, 2_000),
        ("azure", 1, 400, 655),
        ("stripe", 2, 500, 1_000),
        ("k8s-default-retry", 4, 10, 11),
        ("reconnecting-websocket", 1, 1_000, 5_000),
        ("centrifuge", 1, 500, 1_000),
    ] {
        let step = policy(name).schedule().nth(retry - 1).unwrap();
        let window = (
            step.least.as_secs_f64() * 1e3,
            step.most.as_secs_f64() * 1e3,
        );
        assert!(
            (window.0 - f64::from(least)).abs() < 1e-3,
            "{name}: {window:?}"
        );
        assert!(
            (window.1 - f64::from(most)).abs() < 1e-3,
            "{name}: {window:?}"
        );
    }
}

#[test]
fn growth_and_jitter_are_those_of_the_systems() {
    for (name, backoff, jitter) in [
        ("aws-standard-2026-11", Backoff::Exponential, Jitter::Full),
        ("aws-legacy-dynamodb", Backoff::Exponential, Jitter::None),
        ("grpc", Backoff::Exponential, Jitter::Proportional(0.2)),
        (
            "gcp-memorystore",
            Backoff::Exponential,
            Jitter::Additive(secs(1)),
        ),
        ("azure", Backoff::Exponential, Jitter::Additive(ms(255))),
        ("stripe", Backoff::Exponential, Jitter::Equal),
        ("envoy", Backoff::Exponential, Jitter::Full),
        ("polly", Backoff::Fixed, Jitter::None),
        ("resilience4j", Backoff::Fixed, Jitter::None),
        ("stamina", Backoff::Exponential, Jitter::Additive(secs(1))),
        ("cenkalti", Backoff::Exponential, Jitter::Proportional(0.5)),
        ("k8s-default-retry", Backoff::Fixed, Jitter::Additive(ms(1))),
        ("go-retryablehttp", Backoff::Exponential, Jitter::None),
    ] {
        let policy = policy(name);
        assert_eq!((policy.backoff, policy.jitter), (backoff, jitter), "{name}");
    }
}

#[test]
fn hints_times_and_budgets_are_those_of_the_systems() {
    let aws = policy("aws-standard-2026-11");
    assert_eq!(aws.throttled_base, Some(secs(1)));
    for (name, budget) in [
        (
            "aws-standard-2026-11",
            "tokens:500,cost:14,throttled:5,refund:last,clean:1",
        ),
        (
            "aws-dynamodb-2026-11",
            "tokens:500,cost:14,throttled:5,refund:last,clean:1",
        ),
        (
            "aws-adaptive-2026-11",
            "tokens:500,cost:14,throttled:5,refund:last,clean:1",
        ),
        (
            "aws-standard-legacy",
            "tokens:500,cost:5,throttled:5,refund:last,clean:1",
        ),
        (
            "aws-crt",
            "tokens:500,cost:10,throttled:5,refund:last,clean:1",
        ),
        ("grpc", "grpc:10,ratio:0.1"),
        ("finagle", "window:0.2,ttl:10s,floor:10"),
        ("linkerd-profile", "window:0.2,ttl:10s,floor:10"),
        ("tower", "window:0.2,ttl:10s,floor:10"),
        ("gateway-api", "window:0.2,ttl:10s,floor:10"),
        ("envoy", "concurrency:0,floor:3"),
        ("google-sre", "first-tries:0.1,burst:10 + per-minute:60"),
        ("stripe", "none"),
    ] {
        assert_eq!(policy(name).budget.to_string(), budget, "{name}");
    }
    let polly = policy("polly-http-standard");
    assert_eq!(polly.deadline, Some(secs(30)));
    assert_eq!(polly.attempt_timeout, Some(secs(10)));
    assert_eq!(policy("azure").deadline, Some(secs(60)));
    assert_eq!(policy("stamina").deadline, Some(secs(45)));
    assert_eq!(policy("cenkalti").deadline, Some(secs(900)));
    for (name, longest) in [
        ("stainless-openai", 120),
        ("stainless-anthropic", 60),
        ("urllib3", 21_600),
    ] {
        let policy = policy(name);
        assert_eq!(
            (policy.hint, policy.max_hint),
            (HintMode::Honor, secs(longest)),
            "{name}"
        );
    }
    assert_eq!(policy("stripe").hint, HintMode::Ignore);
}

/// Istio sets Envoy's `max_retries` to 2^32 - 1 on every cluster
/// (`pilot/pkg/networking/core/cluster_traffic_policy.go`).
#[test]
fn p4_istio_is_envoy_with_one_retry_more_and_without_a_bound() {
    let unbounded = policy("envoy").attempts(3).budget(Budget::None);
    assert_eq!(policy("istio"), unbounded);
    let codes = |name| policy(name).lints().into_iter().map(|lint| lint.code);
    assert!(codes("istio").any(|code| code == "no-budget"));
    assert!(!codes("envoy").any(|code| code == "no-budget"));
}

/// What stands around the attempts, of those that have it by default.
#[test]
fn the_protection_is_that_of_the_systems() {
    let breaker = "share:0.1,within:30s,min:100,open:5s,open-max:5s,jitter:0,successes:1";
    let protected = [
        ("aws-adaptive-2026-11", "rate", "cubic"),
        ("google-sre", "throttle", "accepts:2,within:2m,max:1"),
        ("grpc-hedging", "hedge", "after:500ms,copies:3"),
        ("polly-hedging", "hedge", "after:2s,copies:1"),
        ("polly-http-hedging", "hedge", "after:2s,copies:1"),
        ("polly-http-hedging", "bulkhead", "calls:1000"),
        ("polly-http-hedging", "breaker", breaker),
        ("polly-http-standard", "bulkhead", "calls:1000"),
        ("polly-http-standard", "breaker", breaker),
    ];
    for preset in Preset::all() {
        let policy = preset.policy();
        let parts = [
            ("throttle", policy.throttle.map(|it| it.to_string())),
            ("rate", policy.rate.map(|it| it.to_string())),
            ("hedge", policy.hedge.map(|it| it.to_string())),
            ("bulkhead", policy.bulkhead.map(|it| it.to_string())),
            ("breaker", policy.breaker.map(|it| it.to_string())),
        ];
        for (part, found) in parts {
            let stated = protected
                .iter()
                .find(|(name, key, _)| (*name, *key) == (preset.name(), part));
            let stated = stated.map(|(.., text)| (*text).to_owned());
            assert_eq!(found, stated, "{} {part}", preset.name());
        }
    }
}

/// A system that never gives up is named here; where its page names an end, the preset has one or says what is missing.
#[test]
fn what_has_no_end_is_so_in_its_system_or_says_so() {
    let endless = [
        "grpc-connection",
        "linkerd-profile", // its budget ends them
        "finagle-dead-mark",
        "tenacity",
        "tenacity-random-exponential",
        "tenacity-exponential-jitter",
        "cockatiel",
        "k8s-workqueue",
        "reconnecting-websocket",
        "reconnecting-websocket-joewalnes",
        "centrifuge",
    ];
    for preset in Preset::all() {
        let policy = preset.policy();
        let has_end = policy.attempts != Policy::UNLIMITED || policy.deadline.is_some();
        let says_so = || {
            let differs = preset.differs().unwrap_or_default();
            differs.contains("here nothing ends it") || differs.contains("no bound here")
        };
        let name = preset.name();
        assert!(has_end || endless.contains(&name) || says_so(), "{name}");
        assert!(!(has_end && endless.contains(&name)), "{name}");
    }
    let memorystore = policy("gcp-memorystore");
    assert_eq!(memorystore.deadline, Some(secs(600)));
}

#[test]
fn what_is_not_faithful_says_so() {
    for preset in Preset::all() {
        let differs = preset.differs().unwrap_or_default();
        if preset.policy().budget != Budget::None {
            // A system's own kind stands for its budget.
            assert!(
                !differs.contains("stands for"),
                "{}: {differs}",
                preset.name()
            );
        }
        assert!(differs.is_empty() || differs.ends_with('.'), "{differs}");
        assert!(!differs.contains("  "), "{differs}");
    }
    for name in [
        "aws-adaptive-2026-11",
        "azure",
        "cenkalti",
        "centrifuge",
        "cockatiel",
        "envoy",
        "failsafe-go",
        "gcp-gax",
        "gcp-memorystore",
        "gcp-rust",
        "graphql-ws",
        "grpc-connection",
        "k8s-client-rest",
        "k8s-default-backoff",
        "k8s-workqueue",
        "google-sre",
        "grpc-hedging",
        "mongodb",
        "polly-http-hedging",
        "polly-http-standard",
        "reconnecting-websocket",
        "stainless-anthropic",
        "stamina",
        "stripe",
    ] {
        assert!(Preset::by_name(name).unwrap().differs().is_some(), "{name}");
    }
    for name in [
        "aws-legacy",
        "polly",
        "polly-hedging",
        "resilience4j",
        "tenacity",
        "p-retry",
    ] {
        assert!(Preset::by_name(name).unwrap().differs().is_none(), "{name}");
    }
}

#[test]
fn what_no_system_has_stays_safe() {
    for preset in Preset::all().filter(|preset| preset.name() != "contention") {
        assert_eq!(
            preset.policy().nested,
            Policy::default().nested,
            "{}",
            preset.name()
        );
    }
    // It repeats what no layer above does.
    assert_eq!(policy("contention").nested, Nested::Allow);
}
