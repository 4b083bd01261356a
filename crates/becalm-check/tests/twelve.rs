//! Files in the shape of public ones: what is found, and at which lines.

use std::time::Duration;

use becalm::retry_on::Methods;
use becalm::{Budget, Policy};
use becalm_check::{As, Checked, File, Mapping, Settings, Severity, check};

fn of(name: &str) -> Checked {
    with(name, &Settings::default())
}

fn as_of(version: &str) -> Settings {
    let mut settings = Settings::default();
    settings.versions = vec![As::parse(version).unwrap()];
    settings
}

fn with(name: &str, settings: &Settings) -> Checked {
    let path = format!("{}/tests/files/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    check(&[File::new(name, &text)], settings)
}

/// Each finding as `line code`.
fn found(checked: &Checked) -> Vec<String> {
    let findings = checked.findings.iter();
    findings
        .map(|it| format!("{} {}", it.span.line, it.code))
        .collect()
}

fn only(checked: &Checked) -> &Mapping {
    assert_eq!(checked.mappings.len(), 1, "{checked:?}");
    &checked.mappings[0]
}

#[test]
fn forty_retries_of_istio_are_forty_one_attempts_without_a_budget() {
    let checked = of("05-istio-forty.yaml");
    assert_eq!(
        found(&checked),
        [
            "10 no-budget",
            "10 hints-ignored",
            "11 attempts-are-retries",
            "13 repeats-non-idempotent",
        ]
    );
    let mapping = only(&checked);
    assert_eq!(
        mapping.policy.to_string(),
        "deadline 1m, then retry (41 attempts, exponential from 25ms x 2, cap 250ms, full jitter, budget none, on \
         methods any; statuses 502-504; codes none; failures connect, connect-timeout, refused-stream, reset, \
         timeout), then attempt timeout 1s, then the operation"
    );
    assert_eq!(
        (&*mapping.names, mapping.system),
        (&["orders".to_owned()][..], "istio")
    );
}

#[test]
fn a_budget_in_the_wrong_place_makes_envoy_refuse_the_file() {
    let checked = of("07-envoy-misplaced-budget.yaml");
    assert_eq!(
        found(&checked),
        [
            "24 concurrency-alone",
            "24 hints-ignored",
            "25 repeats-non-idempotent",
            "27 attempt-timeout-fills-deadline",
            "29 no-such-field",
        ]
    );
    let refused = &checked.findings[4];
    assert_eq!(refused.severity, Severity::Error);
    assert!(refused.sentence.contains("`retry_budget`"), "{refused:?}");
    assert!(
        refused.remedy.contains("circuit_breakers.thresholds"),
        "{refused:?}"
    );
    let never = &checked.findings[3].sentence;
    assert!(
        never.contains("3 attempts that time out after 5s leave no room for attempt 4 of 4"),
        "{never}"
    );
    let policy = only(&checked).policy.to_string();
    assert!(policy.starts_with("deadline 15s, then retry (4 attempts, exponential from 500ms x 2, cap 10s, full jitter, budget concurrency:0,floor:3"), "{policy}");
}

#[test]
fn an_attempt_of_the_gateway_api_that_takes_the_whole_request_leaves_no_room() {
    let checked = of("18-httproute-retry.yaml");
    assert_eq!(
        found(&checked),
        [
            "7 attempt-timeout-fills-deadline",
            "8 no-budget",
            "8 hints-ignored",
            "9 attempts-are-retries",
            "11 repeats-non-idempotent",
        ]
    );
    let policy = only(&checked).policy.to_string();
    assert!(
        policy.starts_with(
            "deadline 10s, then retry (4 attempts, exponential from 500ms x 2, floor 500ms"
        ),
        "{policy}"
    );
}

#[test]
fn a_template_is_refused_before_anything_is_read() {
    let checked = of("19-helm-template.yaml");
    assert_eq!(found(&checked), ["9 template"]);
    assert!(checked.mappings.is_empty());
    assert!(checked.findings[0].remedy.contains("helm template"));
}

#[test]
fn profiles_of_aws_are_overridden_by_the_environment_and_by_code() {
    let checked = of("14-aws-config.ini");
    assert_eq!(
        found(&checked),
        [
            "4 overridden",
            "4 repeats-non-idempotent",
            "4 hints-clamped",
            "4 no-deadline",
            "8 overridden",
            "8 repeats-non-idempotent",
            "8 rate-waits-forever",
        ]
    );
    let told: Vec<_> = checked
        .mappings
        .iter()
        .map(|it| (&*it.name, it.policy.attempts, it.policy.rate.is_some()))
        .collect();
    let expected = [("profile default", 10, false), ("profile batch", 10, true)];
    assert_eq!(told, expected);
    let policy = checked.mappings[0].policy.to_string();
    let quota = "budget tokens:500,cost:14,throttled:5,refund:last,clean:1";
    assert!(policy.contains(quota), "{policy}");
}

#[test]
fn the_default_budget_of_linkerd_sends_a_hundred_retries_at_once_from_each_sidecar() {
    let checked = of("15-linkerd-profile-post.yaml");
    assert_eq!(
        found(&checked),
        [
            "9 repeats-non-idempotent",
            "10 default-budget",
            "10 floor-times-clients",
            "10 retries-at-once",
            "10 no-growth",
            "10 hints-ignored",
        ]
    );
    let floor = &checked.findings[2].sentence;
    assert!(floor.contains("100 retries at once"), "{floor}");
    let policy = &only(&checked).policy;
    let window = Budget::window(0.2, Duration::from_secs(10), 10.0);
    assert_eq!(
        (policy.budget, policy.attempts),
        (window, Policy::UNLIMITED)
    );
    assert_eq!(policy.deadline, Some(Duration::from_secs(15)));
    let lists = policy.retry_on.as_deref().unwrap();
    assert_eq!(lists.methods, Some(Methods::of(["POST"])));
}

#[test]
fn a_filter_of_spring_cloud_gateway_repeats_post_and_no_get() {
    let checked = of("01-spring-gateway-post.yml");
    assert_eq!(
        found(&checked),
        [
            "5 key-not-read",
            "6 no-budget",
            "6 retries-at-once",
            "6 hints-ignored",
            "6 no-total-time",
            "9 statuses-wider",
            "10 methods-narrowed",
            "10 repeats-non-idempotent",
        ]
    );
    let mapping = only(&checked);
    assert_eq!(
        (mapping.policy.attempts, mapping.policy.base.as_millis()),
        (2, 0)
    );
    assert_eq!(
        mapping.policy.retry_on.as_ref().unwrap().to_string(),
        "methods POST; statuses 5xx; codes none; failures connect, connect-timeout, reset, timeout"
    );
    assert_eq!(
        (&*mapping.names, mapping.system),
        (&["orders".to_owned()][..], "spring-cloud-gateway")
    );
    let settings = as_of("spring-cloud-gateway@4.2");
    let older = with("01-spring-gateway-post.yml", &settings);
    assert_eq!(found(&older), found(&checked)[1..]);
}

#[test]
fn an_old_key_of_resilience4j_is_not_read_and_its_default_stands_in() {
    let checked = of("12-resilience4j-old-keys.yml");
    assert_eq!(
        found(&checked),
        [
            "5 key-not-read",
            "6 key-not-read",
            "7 key-not-read",
            "9 in-code",
            "11 no-budget",
            "11 hints-ignored",
            "11 no-total-time",
            "12 key-not-read",
            "13 no-jitter",
            "15 repeats-non-idempotent",
        ]
    );
    let old = &checked.findings[7];
    assert!(old.sentence.contains("`maxRetryAttempts`"), "{old:?}");
    assert!(old.sentence.contains("3 attempts"), "{old:?}");
    let mapping = only(&checked);
    assert_eq!(
        (mapping.policy.attempts, mapping.policy.base.as_millis()),
        (3, 100)
    );
    assert_eq!(
        mapping.policy.retry_on.as_ref().unwrap().to_string(),
        "methods any; statuses 5xx; failures none"
    );
}

#[test]
fn a_service_config_without_throttling_repeats_what_may_be_done() {
    let checked = of("02-grpc-google.json");
    assert_eq!(
        found(&checked),
        [
            "4 timeout-ignored",
            "5 no-budget",
            "10 repeats-what-may-be-done"
        ]
    );
    let doubtful = &checked.findings[2].sentence;
    for code in ["UNKNOWN", "INTERNAL", "DEADLINE_EXCEEDED"] {
        assert!(doubtful.contains(code), "{doubtful}");
    }
    assert_eq!(only(&checked).policy.attempts, 5);
}

#[test]
fn capital_keys_of_a_service_config_are_none_and_seven_attempts_are_five() {
    let checked = of("03-grpc-constant.json");
    let found = found(&checked);
    for line in ["6 no-such-field", "6 attempts-cut", "5 no-budget"] {
        assert!(found.iter().any(|it| it == line), "{line}: {found:?}");
    }
    assert_eq!(only(&checked).policy.attempts, 5);
}

#[test]
fn all_retryable_errors_of_haproxy_repeat_a_post_without_an_end() {
    let checked = of("09-haproxy-all-retryable.cfg");
    assert_eq!(
        found(&checked),
        [
            "8 no-total-time",
            "10 no-budget",
            "10 retries-at-once",
            "10 repeats-non-idempotent",
            "10 hints-ignored",
        ]
    );
    let policy = &only(&checked).policy;
    assert_eq!(
        (policy.attempts, policy.attempt_timeout),
        (4, Some(Duration::from_secs(600)))
    );
}

#[test]
fn one_more_server_of_nginx_is_one_more_attempt_for_a_post() {
    let checked = of("10-nginx-non-idempotent.conf");
    assert_eq!(
        found(&checked),
        [
            "7 attempts-grow-with-servers",
            "7 no-total-time",
            "7 no-budget",
            "7 retries-at-once",
            "7 repeats-non-idempotent",
            "7 hints-ignored",
        ]
    );
    assert_eq!(only(&checked).policy.attempts, 3);
}
