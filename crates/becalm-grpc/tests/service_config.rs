//! Is a service config read as gRPC's own clients read it, and is every fault told with its path?

use std::time::Duration;

use becalm::classify::{Cause, Class, grpc};
use becalm::retry_on::Methods;
use becalm::{Budget, Hedge, Jitter};
use becalm_grpc::service_config::{InvalidServiceConfig, ServiceConfig};
use serde_json::{Value, json};

fn retry_policy() -> Value {
    json!({
        "maxAttempts": 4,
        "initialBackoff": "0.1s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    })
}

fn hedging_policy() -> Value {
    json!({ "maxAttempts": 4, "hedgingDelay": "0.5s", "nonFatalStatusCodes": ["UNAVAILABLE", "INTERNAL"] })
}

/// A config with one entry for all methods.
#[expect(
    clippy::needless_pass_by_value,
    reason = "its users make the value in place"
)]
fn for_all(policy: &str, value: Value) -> Value {
    json!({ "methodConfig": [{ "name": [{}], policy: value }] })
}

fn read(config: &Value) -> Result<ServiceConfig, InvalidServiceConfig> {
    config.to_string().parse()
}

/// The one entry.
fn entry(config: &Value) -> becalm_grpc::service_config::MethodConfig {
    read(config).expect("valid").methods()[0].clone()
}

/// The paths of what is wrong with it.
fn paths(config: &Value) -> Vec<String> {
    let invalid = read(config).expect_err("it is invalid");
    invalid
        .faults()
        .iter()
        .map(|fault| fault.path.clone())
        .collect()
}

#[test]
fn a_retry_policy_is_a_policy_of_attempts_and_growing_waits() {
    let config = for_all("retryPolicy", retry_policy());
    let entry = entry(&config);
    let policy = entry.policy();
    assert_eq!(policy.attempts, 4);
    assert_eq!(policy.base, Duration::from_millis(100));
    assert_eq!(policy.cap, Duration::from_secs(1));
    assert!((policy.multiplier - 2.0).abs() < f64::EPSILON);
    assert_eq!(policy.jitter, Jitter::Proportional(0.2));
    assert_eq!(policy.budget, Budget::None);
    assert_eq!((policy.deadline, policy.hedge), (None, None));
}

#[test]
fn a_hedging_policy_is_one_of_copies() {
    let policy = entry(&for_all("hedgingPolicy", hedging_policy()));
    let hedge = Hedge::after(Duration::from_millis(500)).copies(3);
    assert_eq!(policy.policy().hedge, Some(hedge));
    assert_eq!(policy.policy().attempts, 4);
    assert_eq!(policy.codes().to_string(), "INTERNAL, UNAVAILABLE");

    let at_once = entry(&for_all("hedgingPolicy", json!({ "maxAttempts": 2 })));
    assert_eq!(at_once.policy().hedge, Some(Hedge::after(Duration::ZERO)));
    assert!(at_once.codes().is_empty());
}

#[test]
fn more_than_five_attempts_are_five() {
    for (asked, made) in [(2, 2), (5, 5), (6, 5), (4_000_000_000_u32, 5)] {
        let mut policy = retry_policy();
        policy["maxAttempts"] = json!(asked);
        assert_eq!(
            entry(&for_all("retryPolicy", policy)).policy().attempts,
            made
        );
    }
}

#[test]
fn the_most_specific_name_wins() {
    let config = read(&json!({ "methodConfig": [
        { "name": [{}], "timeout": "1s" },
        { "name": [{ "service": "shop.Orders" }, { "service": "shop.Users" }], "timeout": "2s" },
        { "name": [{ "service": "shop.Orders", "method": "Place" }], "timeout": "3.5s" },
        { "timeout": "9s" },
    ] }));
    let config = config.expect("valid");
    for (path, seconds) in [
        ("/shop.Orders/Place", 3.5),
        ("shop.Orders/Place", 3.5),
        ("/shop.Orders/Cancel", 2.0),
        ("/shop.Users/Place", 2.0),
        ("/other.Service/Place", 1.0),
    ] {
        let found = config.method(path).expect("there is one for all");
        let deadline = Some(Duration::from_secs_f64(seconds));
        assert_eq!(found.policy().deadline, deadline, "{path}");
        assert_eq!(found.policy().attempts, 1, "nothing is retried");
    }
    assert_eq!(config.method("no path"), None);
    let nothing = read(&json!({})).expect("valid");
    assert_eq!(nothing.method("/shop.Orders/Place"), None);
    assert_eq!(nothing.throttling(), Budget::None);
}

#[test]
fn the_throttle_is_every_policys_budget() {
    let mut config = for_all("retryPolicy", retry_policy());
    config["retryThrottling"] = json!({ "maxTokens": 20, "tokenRatio": 0.5 });
    let read = read(&config).expect("valid");
    assert_eq!(read.throttling(), Budget::grpc(20, 0.5));
    assert_eq!(read.methods()[0].policy().budget, Budget::grpc(20, 0.5));
}

/// grpc-go's own example writes them so.
#[test]
fn names_are_taken_in_any_case_and_codes_by_name_or_number() {
    let config = json!({ "methodConfig": [{ "name": [{}], "retryPolicy": {
        "MaxAttempts": 4, "InitialBackoff": ".01s", "MaxBackoff": ".01s", "BackoffMultiplier": 1.0,
        "RetryableStatusCodes": ["unavailable", 8, "Aborted"],
    } }], "loadBalancingConfig": [{ "round_robin": {} }] });
    let entry = entry(&config);
    assert_eq!(entry.policy().base, Duration::from_millis(10));
    assert_eq!(
        entry.codes().to_string(),
        "RESOURCE_EXHAUSTED, ABORTED, UNAVAILABLE"
    );
}

#[test]
fn what_is_listed_may_be_tried_again_and_nothing_else() {
    let mut policy = retry_policy();
    policy["retryableStatusCodes"] = json!(["UNAVAILABLE", "INTERNAL", "RESOURCE_EXHAUSTED"]);
    let entry = entry(&for_all("retryPolicy", policy));
    let lists = entry.policy().retry_on.as_deref().expect("lists");
    for code in -1..=20 {
        let expected = match code {
            8 => Class::Throttled,
            13 | 14 => Class::Transient,
            _ => Class::Permanent,
        };
        let cause = Cause::Code(u8::try_from(code).unwrap_or(u8::MAX));
        let class = lists.class_of(&grpc::classify(code).because(cause));
        assert_eq!(class, expected, "{code}");
    }
    assert_eq!(lists.methods, Some(Methods::Any));
}

/// One field at a time is made wrong: it is the only one that is named.
#[test]
fn every_fault_is_told_with_its_path() {
    let of_retry = [
        (
            "maxAttempts",
            json!([null, 1, 0, -1, 2.5, "many", true, []]),
        ),
        (
            "initialBackoff",
            json!([null, "0s", "-1s", "1", 1, "1m", "s", ".s", "1.0000000001s"]),
        ),
        ("maxBackoff", json!([null, "0.0s", "soon"])),
        ("backoffMultiplier", json!([null, 0, -1, "x", "NaN", 0.5])),
        ("retryableStatusCodes", json!([null, [], "UNAVAILABLE"])),
    ];
    for (name, values) in of_retry {
        for value in values.as_array().expect("a list") {
            let mut policy = retry_policy();
            policy[name] = value.clone();
            let path = format!("methodConfig[0].retryPolicy.{name}");
            assert_eq!(
                paths(&for_all("retryPolicy", policy)),
                [path],
                "{name}: {value}"
            );
        }
    }
    let of_hedging = [
        ("maxAttempts", json!([null, 1])),
        ("hedgingDelay", json!(["-1s", 5])),
        ("nonFatalStatusCodes", json!(["UNAVAILABLE", {}])),
    ];
    for (name, values) in of_hedging {
        for value in values.as_array().expect("a list") {
            let mut policy = hedging_policy();
            policy[name] = value.clone();
            let path = format!("methodConfig[0].hedgingPolicy.{name}");
            assert_eq!(
                paths(&for_all("hedgingPolicy", policy)),
                [path],
                "{name}: {value}"
            );
        }
    }
    let of_throttling = [
        ("maxTokens", json!([null, 0, 1001, 1.5, -3, "x"])),
        ("tokenRatio", json!([null, 0, 0.0009, -1, "x"])),
    ];
    for (name, values) in of_throttling {
        for value in values.as_array().expect("a list") {
            let mut throttling = json!({ "maxTokens": 10, "tokenRatio": 0.1 });
            throttling[name] = value.clone();
            let path = format!("retryThrottling.{name}");
            let config = json!({ "retryThrottling": throttling });
            assert_eq!(paths(&config), [path], "{name}: {value}");
        }
    }
}

#[test]
fn so_are_faults_of_names_codes_and_shapes() {
    let mut codes = retry_policy();
    codes["retryableStatusCodes"] = json!(["UNAVAILABLE", "OK", 0, "GONE", 17, 14]);
    let listed = "methodConfig[0].retryPolicy.retryableStatusCodes";
    for (config, expected) in [
        (
            for_all("retryPolicy", codes),
            vec![
                format!("{listed}[1]"),
                format!("{listed}[2]"),
                format!("{listed}[3]"),
                format!("{listed}[4]"),
            ],
        ),
        (
            json!({ "methodConfig": [{ "name": [{ "method": "Place" }] }] }),
            vec!["methodConfig[0].name[0].service".into()],
        ),
        (
            json!({ "methodConfig": [
                { "name": [{ "service": "a" }] },
                { "name": [{ "service": "b" }, { "service": "a" }, { "service": "b", "method": "" }] },
            ] }),
            vec![
                "methodConfig[1].name[1]".into(),
                "methodConfig[1].name[2]".into(),
            ],
        ),
        (
            json!({ "methodConfig": [
                { "name": [{}], "retryPolicy": retry_policy(), "hedgingPolicy": hedging_policy() },
            ] }),
            vec!["methodConfig[0].hedgingPolicy".into()],
        ),
        (
            json!({ "methodConfig": [{ "name": [{}], "timeout": "5" }] }),
            vec!["methodConfig[0].timeout".into()],
        ),
        (
            json!({ "methodConfig": { "name": [{}] } }),
            vec!["methodConfig".into()],
        ),
        (
            json!({ "methodConfig": [7] }),
            vec!["methodConfig[0]".into()],
        ),
        (
            json!({ "methodConfig": [{ "name": ["a"] }] }),
            vec!["methodConfig[0].name[0]".into()],
        ),
        (
            json!({ "methodConfig": [{ "name": [{ "service": 7 }] }] }),
            vec!["methodConfig[0].name[0].service".into()],
        ),
        (
            for_all("retryPolicy", json!("yes")),
            vec!["methodConfig[0].retryPolicy".into()],
        ),
        (json!([]), vec![String::new()]),
    ] {
        assert_eq!(paths(&config), expected, "{config}");
    }
    let not_json: Result<ServiceConfig, _> = "{".parse();
    assert!(
        not_json
            .expect_err("it ends too soon")
            .to_string()
            .starts_with("the service config is not JSON")
    );
}

#[test]
fn all_faults_are_told_at_once_in_sentences() {
    let config = json!({
        "methodConfig": [{ "name": [{}], "retryPolicy": { "maxAttempts": 1 } }],
        "retryThrottling": { "maxTokens": 2000, "tokenRatio": 0.1 },
    });
    let told = read(&config).expect_err("it is invalid").to_string();
    assert_eq!(
        told,
        "retryThrottling.maxTokens has to be a whole number from 1 to 1000, and is 2000; \
         methodConfig[0].retryPolicy.maxAttempts has to be a whole number of at least 2, the first \
         included, and is 1; \
         methodConfig[0].retryPolicy.initialBackoff is missing; \
         methodConfig[0].retryPolicy.maxBackoff is missing; \
         methodConfig[0].retryPolicy.backoffMultiplier is missing; \
         methodConfig[0].retryPolicy.retryableStatusCodes is missing"
    );
}

#[test]
fn what_is_said_and_not_done_is_told_with_its_path() {
    let mut retry = retry_policy();
    retry["perAttemptRecvTimeout"] = json!("1s");
    retry["jitter"] = json!(0.5);
    let config = json!({
        "loadBalancingConfig": [{ "round_robin": {} }],
        "healthCheckConfig": { "serviceName": "shop" },
        "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1, "floor": 1 },
        "methodConfig": [
            { "name": [{ "service": "shop.Orders", "region": "eu" }], "waitForReady": true, "WAITFORREADY": true,
              "maxRequestMessageBytes": 1024, "retryPolicy": retry, "timeout": "1s" },
            { "name": [{}], "hedgingPolicy": { "maxAttempts": 2, "hedgingDelay": "1s", "copies": 2 },
              "waitForReady": false, "maxResponseMessageBytes": null },
        ],
    });
    let config = read(&config).expect("it is valid");
    let told: Vec<_> = config
        .not_done()
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "healthCheckConfig",
            "loadBalancingConfig",
            "retryThrottling.floor",
            "methodConfig[0].WAITFORREADY",
            "methodConfig[0].maxRequestMessageBytes",
            "methodConfig[0].waitForReady",
            "methodConfig[0].retryPolicy.jitter",
            "methodConfig[0].retryPolicy.perAttemptRecvTimeout",
            "methodConfig[0].name[0].region",
            "methodConfig[1].hedgingPolicy.copies",
        ]
    );
    let told = config.not_done()[7].to_string();
    assert!(
        told.starts_with("methodConfig[0].retryPolicy.perAttemptRecvTimeout is not done: "),
        "{told}"
    );
    let all = for_all("retryPolicy", retry_policy());
    assert_eq!(read(&all).expect("valid").not_done(), []);
}
