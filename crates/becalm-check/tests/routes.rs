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
            "retry_on: 5xx, num_retries: \"010\"".to_owned(),
            11,
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

/// Each was counted with Envoy 1.40.0 (`real/envoy.rs`), but for what stands in the route's own match.
#[test]
fn envoy_reads_methods_that_a_regular_expression_names() {
    let regex = |it: &str| {
        format!("{{name: \":method\", string_match: {{safe_regex: {{regex: \"{it}\"}}}}}}")
    };
    let methods = |checked: &Checked| {
        let listed = checked.mappings[0].policy.retry_on.as_deref().unwrap();
        listed.to_string().split(';').next().unwrap().to_owned()
    };
    let of_match = |header: &str| envoy(&format!(", headers: [{header}]"), "retry_on: 5xx");
    let lost = |checked: &Checked| {
        checked.mappings[0]
            .lost
            .iter()
            .any(|it| it.what == ":method")
    };
    for name in ["GET|HEAD", "^(GET|HEAD)$"] {
        let checked = of_match(&regex(name));
        assert_eq!(
            (&*methods(&checked), lost(&checked)),
            ("methods GET, HEAD", false)
        );
    }
    let old = of_match("{name: \":method\", safe_regex_match: {regex: PUT}}");
    assert_eq!(methods(&old), "methods PUT");
    let inverted = of_match("{name: \":method\", exact_match: POST, invert_match: true}");
    assert!(!methods(&inverted).contains("POST") && methods(&inverted).contains("PATCH"));
    let unknown = of_match(&regex("[A-Z]+"));
    assert_eq!((&*methods(&unknown), lost(&unknown)), ("methods any", true));
    let asked = envoy(
        "",
        &format!(
            "retry_on: 5xx, retriable_request_headers: {}",
            regex("GET|HEAD")
        ),
    );
    assert_eq!(methods(&asked), "methods GET, HEAD");
}

/// `finalTimeout` of source/common/router/router.cc; run with 1.40.0.
#[test]
fn a_longest_stream_takes_the_place_of_the_time_out_of_a_route() {
    let of = |action: &str| {
        envoy_action(&format!(
            "{action}, retry_policy: {{retry_on: 5xx, num_retries: 3, per_try_timeout: 6s}}"
        ))
    };
    let seconds = |it: Option<std::time::Duration>| it.map(|it| it.as_secs());
    for (action, deadline, each, ignored) in [
        (
            "timeout: 5s, max_stream_duration: {max_stream_duration: 60s}",
            Some(60),
            Some(6),
            1,
        ),
        (
            "max_stream_duration: {max_stream_duration: 60s}",
            Some(60),
            Some(6),
            0,
        ),
        (
            "max_stream_duration: {max_stream_duration: 4s}",
            Some(4),
            Some(6),
            0,
        ),
        (
            "max_stream_duration: {grpc_timeout_header_max: 0s}",
            None,
            Some(6),
            0,
        ),
        (
            "max_stream_duration: {max_stream_duration: 0s}",
            None,
            Some(6),
            0,
        ),
        ("timeout: 5s", Some(5), None, 1),
    ] {
        let checked = of(action);
        let policy = &checked.mappings[0].policy;
        let found = (seconds(policy.deadline), seconds(policy.attempt_timeout));
        assert_eq!(found, (deadline, each), "{action}");
        let codes = checked
            .findings
            .iter()
            .filter(|it| it.code == "timeout-ignored");
        assert_eq!(codes.count(), ignored, "{action}: {checked:?}");
        let is_unbounded = checked
            .findings
            .iter()
            .any(|it| it.code == "no-total-time" || it.code == "no-deadline");
        assert_eq!(is_unbounded, deadline.is_none(), "{action}");
    }
}

#[test]
fn the_longest_stream_of_a_connection_manager_bounds_its_routes() {
    let of = |timeout: &str| {
        of(&format!(
            "static_resources: {{}}\nmanager:\n  common_http_protocol_options: {{max_stream_duration: 8s}}\n  route_config:\n    \
             virtual_hosts:\n    - routes: [{{match: {{prefix: /}}, route: {{cluster: s, timeout: {timeout}, retry_policy: {{retry_on: 5xx}}}}}}]\n"
        ))
    };
    for (timeout, deadline) in [("0s", 8), ("20s", 8), ("3s", 3)] {
        let policy = &of(timeout).mappings[0].policy;
        assert_eq!(
            policy.deadline.map(|it| it.as_secs()),
            Some(deadline),
            "{timeout}"
        );
    }
}

fn envoy_action(action: &str) -> Checked {
    of(&format!(
        "virtual_hosts:\n- name: a\n  routes:\n  - match: {{prefix: /}}\n    route: {{cluster: s, {action}}}\n"
    ))
}

/// Run with 1.40.0.
#[test]
fn routes_that_a_tree_of_matchers_finds_are_read() {
    let action = |kind: &str, fields: &str| {
        format!(
            "{{name: route, typed_config: {{\"@type\": type.googleapis.com/envoy.config.route.v3.{kind}, {fields}}}}}"
        )
    };
    let route = |retries: u8| {
        format!(
            "match: {{prefix: /}}, route: {{cluster: s, retry_policy: {{retry_on: 5xx, num_retries: {retries}}}}}"
        )
    };
    let one = action("Route", &route(20));
    let list = action("RouteList", &format!("routes: [{{{}}}]", route(7)));
    let checked = of(&format!(
        "virtual_hosts:\n- name: a\n  matcher:\n    matcher_tree:\n      prefix_match_map:\n        map:\n          \
         /a: {{action: {one}}}\n          /b: {{action: {list}}}\n"
    ));
    let attempts: Vec<_> = checked
        .mappings
        .iter()
        .map(|it| it.policy.attempts)
        .collect();
    assert_eq!(attempts, [21, 8], "{checked:?}");
}

#[test]
fn retries_of_an_extension_are_not_passed_over() {
    let checked = envoy_action("retry_policy_typed_config: {name: x}");
    assert_eq!(said(&checked), ["not-seen"]);
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
        ("attempts: 2, perTryTimeout: 1d", &["refused"]),
        ("attempts: \"2\"", &["refused"]),
        ("attempts: -1", &["refused"]),
        ("attempts: 2, retryOn: 503", &["refused"]),
        ("attempts: 2, retryOn: \"503\"", &[]),
        ("attempts: 2, perTryTimeout: 1", &["refused"]),
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

/// `cancelled` is a code of gRPC, and a 409 is said instead of working: no answer is lost.
#[test]
fn a_code_alone_does_nothing_twice() {
    for (retry_on, code) in [
        (
            "connect-failure,refused-stream,cancelled",
            Some("repeats-what-may-be-done"),
        ),
        ("connect-failure,retriable-4xx", None),
        ("connect-failure,reset", Some("repeats-non-idempotent")),
    ] {
        let found = istio(&format!("attempts: 2, retryOn: \"{retry_on}\""));
        let mut told = found.findings.iter().map(|it| it.code);
        let told = told.find(|it| it.starts_with("repeats-"));
        assert_eq!(told, code, "{retry_on}: {found:?}");
    }
}

fn gateway(retry: &str) -> Checked {
    of(&format!(
        "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nspec:\n  retry: {{{retry}}}\n"
    ))
}

/// `buildXdsRoute` of internal/xds/translator/route.go: Envoy's `max_stream_duration` of the route.
#[test]
fn envoy_gateway_lets_the_longest_stream_take_the_place_of_the_time_out() {
    let text = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nspec:\n  retry: {perRetry: {timeout: 6s}}\n  \
                timeout: {http: {requestTimeout: 5s, maxStreamDuration: 60s}}\n";
    let policy = &of(text).mappings[0].policy;
    let seconds = [policy.deadline, policy.attempt_timeout].map(|it| it.map(|it| it.as_secs()));
    assert_eq!(seconds, [Some(60), Some(6)]);
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
