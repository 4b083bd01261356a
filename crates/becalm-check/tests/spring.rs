//! Which properties does Spring Boot find, in which files, and what stands in for placeholders?

mod asked;

use asked::of;
use becalm_check::{Checked, Origin, Severity};

fn codes(checked: &Checked) -> Vec<&str> {
    checked.findings.iter().map(|it| it.code).collect()
}

fn told(checked: &Checked) -> Vec<(&str, u32)> {
    let mappings = checked.mappings.iter();
    mappings.map(|it| (&*it.name, it.policy.attempts)).collect()
}

fn what(checked: &Checked) -> String {
    let listed = checked.mappings[0].policy.retry_on.as_deref().unwrap();
    listed.to_string()
}

const BASE: &str = "\
resilience4j:
  retry:
    configs:
      default: {maxAttempts: 4, waitDuration: 100ms}
      slow: {maxAttempts: 9}
    instances:
      a: {}
";

const PROD: &str = "\
resilience4j:
  retry:
    instances:
      b: {baseConfig: slow}
      a: {waitDuration: 1s}
";

#[test]
fn places_of_a_list_are_read_with_it() {
    let text = "resilience4j.retry.instances.a.max-attempts=3\nresilience4j.retry.instances.a.retry-exceptions[0]=java.net.ConnectException\n\
                resilience4j.retry.instances.a.retry-exceptions[1]=java.io.IOException\n";
    let checked = of(&[("application.properties", text)]);
    assert!(
        !codes(&checked).contains(&"retries-not-read"),
        "{checked:#?}"
    );
    let other = of(&[(
        "application.properties",
        &text.replace("retry-exceptions", "retry-errors"),
    )]);
    assert!(codes(&other).contains(&"key-not-read"), "{other:#?}");
}

/// *Profile Specific Files* of Spring Boot's reference.
#[test]
fn a_file_of_a_profile_is_read_on_top_of_the_one_without() {
    for (base, prod) in [
        ("application.yml", "application-prod.yml"),
        ("config/orders.yaml", "config/orders-prod.yml"),
    ] {
        for files in [[(base, BASE), (prod, PROD)], [(prod, PROD), (base, BASE)]] {
            let checked = of(&files);
            let mut told = told(&checked);
            told.sort_unstable();
            let expected = [
                ("retry a", 4),
                ("retry a (profile prod)", 4),
                ("retry b (profile prod)", 9),
            ];
            assert_eq!(told, expected, "{checked:?}");
            assert!(!codes(&checked).contains(&"refused"), "{checked:?}");
            let on_top = checked
                .mappings
                .iter()
                .find(|it| it.name.contains(" a ("))
                .unwrap();
            assert_eq!((&*on_top.file, on_top.span.line), (prod, 5));
            assert_eq!(on_top.policy.base.as_millis(), 1000);
            let attempts = on_top
                .origins
                .iter()
                .find(|(key, _)| *key == "attempts")
                .unwrap();
            let Origin::Derived(at, how) = &attempts.1 else {
                panic!("{attempts:?}");
            };
            assert_eq!((at.line, how), (5, &format!("line 4 of {base}")));
        }
    }
}

#[test]
fn a_file_that_is_not_below_is_left_alone() {
    for beside in ["other.yml", "elsewhere/application.yml", "app.yml"] {
        let checked = of(&[(beside, BASE), ("application-prod.yml", PROD)]);
        let told = told(&checked);
        assert!(told.contains(&("retry a", 3)), "{beside}: {told:?}");
    }
}

#[test]
fn the_config_of_a_file_that_is_not_there_is_not_refused() {
    let alone = of(&[("application-prod.yml", PROD)]);
    assert!(codes(&alone).contains(&"not-seen"), "{alone:?}");
    assert!(!codes(&alone).contains(&"refused"), "{alone:?}");
    let without = PROD.replace("slow", "fast");
    let both = of(&[
        ("application.yml", BASE),
        ("application-prod.yml", &without),
    ]);
    let refused = both
        .findings
        .iter()
        .find(|it| it.code == "refused")
        .unwrap();
    assert_eq!(
        (&*refused.file, refused.span.line),
        ("application-prod.yml", 4)
    );
    assert!(codes(&of(&[("application.yml", PROD)])).contains(&"refused"));
}

#[test]
fn the_default_filters_of_the_file_below_hold_for_the_routes_of_a_profile() {
    let base = "spring.cloud.gateway.server.webflux:\n  default-filters: [{name: Retry, args: {retries: 2, methods: \"GET,POST\"}}]\n";
    let prod = "spring.cloud.gateway.server.webflux:\n  routes:\n  - {id: a, uri: \"http://a\"}\n";
    let checked = of(&[("gw.yml", base), ("gw-prod.yml", prod)]);
    let expected = [("every route", 3), ("route a (profile prod)", 3)];
    assert_eq!(told(&checked), expected);
    let of_lint = checked
        .findings
        .iter()
        .filter(|it| it.code == "repeats-non-idempotent");
    // The filter stands in the file below, and that is where it is told.
    assert!(
        of_lint
            .clone()
            .all(|it| it.file == "gw.yml" && it.span.line == 2)
    );
    assert_eq!(of_lint.count(), 2);
    assert_eq!(
        (&*checked.mappings[1].file, checked.mappings[1].span.line),
        ("gw-prod.yml", 1)
    );
}

#[test]
fn documents_of_the_profile_in_the_file_below_count_as_well() {
    let base = format!(
        "{BASE}---\nspring.config.activate.on-profile: prod\nresilience4j.retry.configs.slow.maxAttempts: 8\n"
    );
    let checked = of(&[("application.yml", &base), ("application-prod.yml", PROD)]);
    assert!(
        told(&checked).contains(&("retry b (profile prod)", 8)),
        "{checked:?}"
    );
}

fn retry(args: &str) -> Checked {
    of(&[(
        "application.yml",
        &format!(
            "spring.cloud.gateway.server.webflux.routes:\n- id: x\n  uri: ${{URI:http://orders:80}}\n  filters:\n  - name: Retry\n    args: {{{args}}}\n"
        ),
    )])
}

#[test]
fn the_default_that_a_placeholder_names_stands_in() {
    let checked = retry(
        "retries: \"${RETRIES:7}\", methods: \"${METHODS:GET,POST}\", series: \"${SERIES:SERVER_ERROR}\", exceptions: \"${EX:java.net.ConnectException}\"",
    );
    assert_eq!(told(&checked), [("route x", 8)]);
    assert_eq!(checked.mappings[0].names, ["orders"]);
    let listed = "methods GET, POST; statuses 5xx; codes none; failures connect";
    assert_eq!(what(&checked), listed);
    let notes = checked
        .findings
        .iter()
        .filter(|it| it.code == "unknown-value");
    assert_eq!(notes.count(), 4, "{checked:?}");
    assert!(
        !codes(&checked).contains(&"methods-narrowed"),
        "{checked:?}"
    );
    assert!(codes(&checked).contains(&"repeats-non-idempotent"));
    let short = of(&[(
        "application.yml",
        "spring.cloud.gateway.server.webflux.routes: [{id: x, uri: \"http://x\", filters: [\"Retry=${N:7},BAD_GATEWAY,POST\"]}]\n",
    )]);
    assert_eq!(told(&short), [("route x", 8)]);
    assert!(what(&short).starts_with("methods POST;"), "{short:?}");
    let instance = of(&[(
        "a.yml",
        "resilience4j.retry.instances.a: {maxAttempts: \"${N:8}\"}",
    )]);
    assert_eq!(told(&instance), [("retry a", 8)]);
    assert!(codes(&instance).contains(&"unknown-value"), "{instance:?}");
}

#[test]
fn lists_that_are_filled_in_elsewhere_are_those_of_the_filter() {
    let plain = what(&retry("retries: 2"));
    let unknown = retry(
        "retries: 2, methods: \"${M}\", series: \"${S}\", statuses: \"${T}\", exceptions: \"${E}\"",
    );
    assert_eq!(what(&unknown), plain);
    let all = unknown.findings.iter();
    assert_eq!(
        all.clone().filter(|it| it.code == "unknown-value").count(),
        4
    );
    assert!(
        all.clone()
            .all(|it| it.severity != Severity::Error && it.code != "methods-narrowed"),
        "{unknown:?}"
    );
    let some = retry("methods: [\"${M}\", PUT]");
    assert!(what(&some).starts_with("methods PUT;"), "{some:?}");
}

/// `YamlPropertySourceLoader` and `IndexedElementsBinder`.
#[test]
fn items_of_a_list_may_have_keys_of_their_own() {
    let text = "\
spring.cloud.gateway.server.webflux:
  routes[0]:
    id: a
    uri: http://a
    filters[0]: {name: Retry, args: {retries: 9}}
  \"routes[1].id\": b
  \"routes[1].uri\": http://b
  \"routes[1].filters[0]\": Retry=8
";
    let checked = of(&[("application.yml", text)]);
    assert_eq!(told(&checked), [("route a", 10), ("route b", 9)]);
    assert_eq!(checked.mappings[1].span.line, 8);
}

/// `RetryMetricsAutoConfiguration`; Micronaut's `resilience4j.retry.enabled`.
#[test]
fn metrics_of_retries_are_a_property() {
    let text = "resilience4j.retry: {enabled: true, metrics: {legacy.enabled: true}, instances: {a: {maxAttempts: 2}}}\n";
    let checked = of(&[("application.yml", text)]);
    assert!(!codes(&checked).contains(&"key-not-read"), "{checked:?}");
}

#[test]
fn a_flag_of_the_backoff_is_one() {
    let told = |flag: &str| {
        let checked = retry(&format!(
            "backoff: {{firstBackoff: 50ms, basedOnPreviousValue: {flag}}}"
        ));
        checked.findings.iter().any(|it| it.code == "refused")
    };
    assert!(told("abc"));
    assert!(!told("true") && !told("off"));
}

#[test]
fn a_filter_that_misspells_retry_is_told() {
    let refused = |name: &str| {
        let text = format!(
            "spring: {{cloud: {{gateway: {{routes: [{{id: a, uri: 'lb://a', filters: [{{name: {name}, args: {{retries: 3}}}}]}}]}}}}}}\n"
        );
        let checked = asked::of(&[("application.yaml", &text)]);
        let refused = checked
            .findings
            .into_iter()
            .filter(|it| it.code == "refused");
        refused.map(|it| it.remedy).collect::<Vec<_>>()
    };
    assert_eq!(refused("Retri"), ["did you mean `Retry`?"]);
    assert_eq!(refused("retry"), ["did you mean `Retry`?"]);
    assert_eq!(refused("Retry"), [""; 0]);
    assert_eq!(refused("RequestSize"), [""; 0]);
}
