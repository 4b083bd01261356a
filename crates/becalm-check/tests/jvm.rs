//! What differs by version or place in the files of Spring Cloud Gateway and Resilience4j?

use std::fmt::Write as _;

use becalm_check::{As, Checked, File, Settings, check};

fn of(versions: &[&str], text: &str) -> Checked {
    let mut settings = Settings::default();
    settings.versions = versions.iter().map(|it| As::parse(it).unwrap()).collect();
    check(&[File::new("application.yml", text)], &settings)
}

fn has(checked: &Checked, code: &str) -> bool {
    checked.findings.iter().any(|it| it.code == code)
}

const OLD_PLACE: &str = "
spring.cloud.gateway:
  routes:
  - {id: orders, uri: lb://orders, filters: [Retry=2]}
";

#[test]
fn the_old_place_of_routes_is_read_up_to_4_3() {
    for (version, is_read) in [("5.0", false), ("4.3", true), ("4.2", true)] {
        let checked = of(&[&format!("spring-cloud-gateway@{version}")], OLD_PLACE);
        assert_eq!(checked.mappings[0].policy.attempts, 3);
        assert_eq!(!has(&checked, "key-not-read"), is_read, "{version}");
    }
}

#[test]
fn spring_retry_counts_the_first_try_and_repeats_no_exception() {
    let text = "
spring.cloud.gateway.server.webmvc.routes:
- id: orders
  uri: http://orders
  filters:
  - name: Retry
    args: {retries: 5, exceptions: java.lang.Throwable}
";
    let spring_retry = of(&["spring-cloud-gateway@4.3"], text);
    assert_eq!(spring_retry.mappings[0].policy.attempts, 5);
    assert!(has(&spring_retry, "key-not-read"), "{spring_retry:?}");
    let framework = of(&[], text);
    assert_eq!(framework.mappings[0].policy.attempts, 4);
    assert!(has(&framework, "attempts-cut") && has(&framework, "methods-narrowed"));
}

#[test]
fn spring_retry_without_its_own_exception_repeats_nothing() {
    let text = "
spring.cloud.gateway.server.webmvc.routes:
- id: orders
  uri: http://orders
  filters:
  - name: Retry
    args: {exceptions: java.io.IOException}
";
    let checked = of(&["spring-cloud-gateway@4.3"], text);
    assert!(has(&checked, "never-retries"), "{checked:?}");
    assert_eq!(checked.mappings[0].policy.attempts, 1);
}

const OLD_KEY: &str = "
resilience4j.retry:
  configs.default.waitDuration: 2s
  instances.orders.maxRetryAttempts: 9
";

#[test]
fn the_old_key_and_no_default_config_are_of_1_7() {
    let told = |version: &str| {
        let checked = of(&[version], OLD_KEY);
        let policy = &checked.mappings[0].policy;
        (
            policy.attempts,
            policy.base.as_millis(),
            has(&checked, "key-not-read"),
        )
    };
    assert_eq!(told("resilience4j@1.7"), (9, 500, false));
    assert_eq!(told("resilience4j@2.4"), (3, 2000, true));
}

#[test]
fn the_name_of_an_instance_is_no_setting() {
    for text in [
        "resilience4j.retry: {instances: {retryA: {maxAttempts: 4}}}\n",
        "resilience4j.retry: {backends: {retryA: {maxAttempts: 4}}, configs: {withRetries: {maxAttempts: 2}}}\n",
        "resilience4j: {retry: {instances: {a: {maxAttempts: 4}}}, circuitbreaker: {instances: {retryA: {slidingWindowSize: 9}}}}\n",
    ] {
        assert!(!has(&of(&[], text), "retries-not-read"), "{text}");
    }
    let misplaced = "resilience4j: {retry: {instances: {a: {maxAttempts: 4}}}, circuitbreaker: {instances: {b: {retry: {maxAttempts: 3}}}}}\n";
    let checked = of(&[], misplaced);
    let told = ["retries-not-read", "key-not-read"];
    assert!(told.iter().any(|it| has(&checked, it)), "{checked:#?}");
}

#[test]
fn a_time_limiter_outside_the_retry_ends_the_call() {
    let text = "
resilience4j:
  retry:
    retryAspectOrder: 5
    instances.orders.maxAttempts: 2
  timelimiter:
    timeLimiterAspectOrder: 1
    instances.orders.cancelRunningFuture: true
";
    let policy = &of(&[], text).mappings[0].policy;
    assert_eq!(policy.deadline.map(|it| it.as_secs()), Some(1));
    assert_eq!(policy.attempt_timeout, None);
}

#[test]
fn configs_that_stand_on_one_another_are_refused() {
    let text = "
resilience4j.retry:
  configs: {a: {baseConfig: b}, b: {baseConfig: a}}
  instances.orders.baseConfig: a
";
    assert!(has(&of(&[], text), "refused"));
}

#[test]
fn what_is_bounded_says_what_it_leaves_out() {
    let mut text =
        "resilience4j.retry:\n  instances.orders.baseConfig: c0\n  configs:\n".to_owned();
    for at in 0..120 {
        writeln!(
            text,
            "    c{at}: {{baseConfig: c{}, enableExponentialBackoff: false}}",
            at + 1
        )
        .unwrap();
    }
    text += "    c120: {maxAttempts: 9}\n";
    let checked = of(&[], &text);
    assert!(has(&checked, "not-known"), "{checked:?}");
    let breakers = "CircuitBreaker=a, ".repeat(20);
    let text = format!(
        "spring.cloud.gateway.server.webflux.routes: [{{id: a, uri: lb://a, filters: [{breakers}Retry=2]}}]"
    );
    let lost = &of(&[], &text).mappings[0].lost;
    let mut told = lost.iter().map(|it| &*it.what);
    assert!(
        told.any(|it| it == "4 more filters CircuitBreaker"),
        "{lost:?}"
    );
    let prod = "spring.config.activate.on-profile: prod\nresilience4j.retry.instances.orders.maxAttempts: 2\n";
    let prod = prod.to_owned() + "resilience4j.retry.instances.b.baseConfig: shared\n";
    let shared = "resilience4j.retry.configs.shared.maxAttempts: 4\n---\n";
    for (comment, before, is_told) in [
        (0, 998, false),
        (0, 999, true),
        (1 << 20, 13, false),
        (1 << 20, 14, true),
    ] {
        let first = format!("#{}\n{shared}", "-".repeat(comment));
        let text = first + &"a: 1\n---\n".repeat(before) + &prod;
        let checked = of(&[], &text);
        let told = (has(&checked, "not-seen"), has(&checked, "refused"));
        assert_eq!(told, (is_told, false), "{comment} {before}: {checked:?}");
    }
}

#[test]
fn several_filters_multiply_on_spring_mvc_alone() {
    for (server, why) in [
        ("webflux", "do not multiply"),
        ("webmvc", "attempts multiply"),
    ] {
        let text = format!(
            "spring.cloud.gateway.server.{server}.routes: [{{id: a, uri: lb://a, filters: [Retry=2, Retry=3]}}]"
        );
        let checked = of(&[], &text);
        assert_eq!(checked.mappings.len(), 2);
        let told = checked.mappings[0]
            .lost
            .iter()
            .any(|it| it.why.contains(why));
        assert!(told, "{server}: {checked:?}");
    }
}
