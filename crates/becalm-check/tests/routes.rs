//! What do single fields of Envoy, Istio and the gateways make of a route's retries?

use becalm_check::{Checked, File, Settings, check};

fn of(text: &str) -> Checked {
    check(&[File::new("route.yaml", text)], &Settings::default())
}

/// The codes of errors and of what is said of placeholders and forms, without the lints.
fn said(checked: &Checked) -> Vec<&str> {
    let own = [
        "refused",
        "never-retries",
        "unknown-value",
        "not-understood",
        "not-a-policy",
        "key-not-read",
        "not-seen",
    ];
    let codes = checked.findings.iter().map(|it| it.code);
    codes.filter(|it| own.contains(it)).collect()
}

fn what(checked: &Checked) -> String {
    let told = checked.mappings.iter().map(|it| {
        let listed = it.policy.retry_on.as_deref().map(ToString::to_string);
        format!("{}: {}", it.policy.attempts, listed.unwrap_or_default())
    });
    told.collect::<Vec<_>>().join("\n")
}

fn envoy(matched: &str, retry: &str) -> Checked {
    of(&format!(
        "virtual_hosts:\n- name: a\n  routes:\n  - match: {{prefix: /{matched}}}\n    \
         route: {{cluster: s, retry_policy: {{{retry}}}}}\nclusters:\n- name: s\n  connect_timeout: 1s\n"
    ))
}

/// Each was counted with Envoy 1.40.0, or refused by it.
#[test]
fn envoy_reads_its_numbers_lists_and_methods_so() {
    let method = |name: &str| format!("{{name: \":method\", string_match: {{exact: {name}}}}}");
    let both = format!(
        "retriable_request_headers: [{}, {}]",
        method("GET"),
        method("POST")
    );
    let one = format!("retriable_request_headers: {}", method("POST"));
    let failures = "codes none; failures connect, connect-timeout, refused-stream, reset, timeout";
    let of_5xx = |methods: &str| format!("methods {methods}; statuses 5xx; {failures}");
    let get = format!(", headers: [{}]", method("GET"));
    let lower = format!(", headers: [{}]", method("get"));
    for (matched, retry, attempts, listed) in [
        (
            "",
            "retry_on: 5xx, num_retries: 0x3".to_owned(),
            4,
            of_5xx("any"),
        ),
        (
            "",
            "retry_on: 5xx, num_retries: 010".to_owned(),
            9,
            of_5xx("any"),
        ),
        (
            "",
            "retry_on: 5xx, num_retries: \"0x3\"".to_owned(),
            4,
            of_5xx("any"),
        ),
        ("", format!("retry_on: 5xx, {both}"), 2, of_5xx("GET, POST")),
        ("", format!("retry_on: 5xx, {one}"), 2, of_5xx("POST")),
        (&get, format!("retry_on: 5xx, {both}"), 2, of_5xx("GET")),
        (&lower, "retry_on: 5xx".to_owned(), 2, of_5xx("any")),
        (
            "",
            "retry_on: retriable-status-codes, retriable_status_codes: 503".to_owned(),
            2,
            "methods any; statuses 503; codes none; failures none".to_owned(),
        ),
    ] {
        let checked = envoy(matched, &retry);
        assert_eq!(what(&checked), format!("{attempts}: {listed}"), "{retry}");
        assert_eq!(said(&checked), [""; 0], "{retry}: {checked:?}");
    }
    let other = envoy(&get, &format!("retry_on: 5xx, {one}"));
    assert_eq!((said(&other), &*what(&other)), (vec!["never-retries"], ""));
}

#[test]
fn what_envoy_refuses_and_what_is_not_known_is_said() {
    for (retry, codes) in [
        ("retry_on: [5xx, reset]", &["refused"][..]),
        ("retry_on: 503", &["refused"]),
        (
            "retry_on: 5xx, rate_limited_retry_back_off: {max_interval: 10s}",
            &["refused"],
        ),
        (
            "retry_on: 5xx, per_try_timeout: 999999999999s",
            &["refused"],
        ),
        (
            "retry_on: retriable-status-codes, retriable_status_codes: [503, abc]",
            &["refused"],
        ),
        ("retry_on: retriable-status-codes", &["never-retries"]),
        ("retry_on: \"${ON}\"", &["unknown-value"]),
        (
            "retry_on: retriable-status-codes, retriable_status_codes: [\"${S}\", 503]",
            &["unknown-value"],
        ),
    ] {
        let checked = envoy("", retry);
        assert_eq!(said(&checked), codes, "{retry}: {checked:?}");
    }
    let sentence = &envoy("", "retry_on: [5xx, reset]").findings[2].sentence;
    assert_eq!(
        sentence,
        "a list or a mapping stands where one text such as \"5xx,reset\" is read"
    );
}

#[test]
fn statuses_that_are_no_failures_are_told_as_lost() {
    let checked = envoy(
        "",
        "retry_on: retriable-status-codes, retriable_status_codes: [302, 503]",
    );
    let lost = &checked.mappings[0].lost[0];
    assert!(lost.why.contains("below 400"), "{lost:?}");
    let checked = envoy(
        "",
        "retry_on: retriable-status-codes, retriable_status_codes: [302]",
    );
    assert_eq!(
        (said(&checked), checked.mappings[0].policy.attempts),
        (vec![], 2)
    );
}

fn istio(retries: &str) -> Checked {
    of(&format!(
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  http:\n  - route: [{{destination: {{host: a}}}}]\n    \
         timeout: 9s\n    retries: {{{retries}}}\n"
    ))
}

/// `ValidateHTTPRetry` of istio/istio, pkg/config/validation/agent/validation.go.
#[test]
fn istio_refuses_what_its_validation_does() {
    for (retries, codes) in [
        ("attempts: 2, retryOn: \"5xx,reset,503\"", &[][..]),
        ("attempts: 2, retryOn: \"5xx, reset\"", &["refused"]),
        ("attempts: 2, retryOn: \"5xx,\"", &["refused"]),
        ("attempts: 2, retryOn: \"5xx,foo\"", &["refused"]),
        ("attempts: 2, retryOn: \"5xx,520\"", &["refused"]),
        ("attempts: 0, retryOn: 5xx", &["refused"]),
        ("attempts: 0", &[]),
        ("attempts: 0, backoff: 1s", &[]),
        ("perTryTimeout: 1s", &["refused", "never-retries"]),
        ("attempts: 2, retryOn: \"${ON}\"", &["unknown-value"]),
        ("attempts: 2, perTryTimeout: 1d", &["not-understood"]),
    ] {
        let mut found = istio(retries);
        found
            .findings
            .retain(|it| it.code != "attempts-are-retries");
        assert_eq!(said(&found), codes, "{retries}: {found:?}");
    }
    let told = what(&istio("attempts: 2, retryOn: \"5xx, 520\""));
    assert!(told.contains("statuses 5xx;"), "{told}");
    assert!(what(&istio("attempts: 2, retryOn: \"520,503\"")).contains("statuses 503;"));
}

fn gateway(retry: &str) -> Checked {
    of(&format!(
        "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nspec:\n  retry: {{{retry}}}\n"
    ))
}

/// `TriggerEnum`, `HTTPStatus` and `gwapiv1.Duration` in api/v1alpha1 of envoyproxy/gateway.
#[test]
fn envoy_gateway_takes_its_own_triggers_statuses_and_durations() {
    for (retry, codes) in [
        ("retryOn: {triggers: [5xx, reset-before-request]}", &[][..]),
        (
            "retryOn: {triggers: [retriable-headers, 5xx]}",
            &["refused"],
        ),
        (
            "retryOn: {triggers: [retriable-status-codes]}",
            &["never-retries"],
        ),
        (
            "retryOn: {triggers: [retriable-status-codes], httpStatusCodes: [302, 700]}",
            &["not-understood"],
        ),
        ("retryOn: {triggers: [\"${T}\", 5xx]}", &["unknown-value"]),
        ("perRetry: {timeout: 1.5s}", &["not-understood"]),
    ] {
        let found = gateway(retry);
        assert_eq!(said(&found), codes, "{retry}: {found:?}");
    }
}

#[test]
fn an_envoy_filter_that_changes_retries_is_not_passed_over() {
    let checked = of(
        "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nspec:\n  configPatches:\n  \
                      - patch: {value: {route: {retry_policy: {num_retries: 40}}}}\n",
    );
    assert_eq!(said(&checked), ["not-seen"]);
    assert_eq!(checked.findings[0].span.line, 5);
}
