//! What does Envoy repeat of what its filters ask for? Each number of attempts was counted with Envoy 1.40.0.

use becalm_check::{Checked, File, Settings, Severity, check};

fn of(filter: &str) -> Checked {
    let text = format!(
        "static_resources:\n  listeners:\n  - name: a\n    filter_chains:\n    - filters:\n      - {filter}\n  clusters:\n  - {{name: authz, connect_timeout: 1s, circuit_breakers: {{thresholds: [{{max_retries: 7}}]}}}}\n"
    );
    check(&[File::new("envoy.yaml", &text)], &Settings::default())
}

fn codes(checked: &Checked) -> Vec<&str> {
    checked.findings.iter().map(|it| it.code).collect()
}

const AUTHZ: &str = "name: envoy.filters.http.ext_authz\n        typed_config:\n          \"@type\": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz\n          ";

/// Files of listeners alone, as LDS has them and as people keep them.
#[test]
fn a_listener_is_known_by_the_type_of_its_filter() {
    let filter = "typedConfig: {'@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager, routeConfig: {virtualHosts: [{name: a, domains: ['*'], routes: [{match: {prefix: /}, route: {cluster: a, retryPolicy: {retryOn: 5xx, numRetries: 4}}}]}]}}";
    let camel = format!("{{name: l, filterChains: [{{filters: [{{name: h, {filter}}}]}}]}}");
    let snake = [
        ("typedC", "typed_c"),
        ("routeC", "route_c"),
        ("virtualH", "virtual_h"),
    ];
    let snake = snake
        .iter()
        .fold(camel.clone(), |all, (from, to)| all.replace(from, to));
    let snake = snake
        .replace("filterChains", "filter_chains")
        .replace("retryPolicy", "retry_policy");
    let bare = format!("{{name: l, filters: [{{name: h, {filter}}}]}}");
    let typed = "'@type': type.googleapis.com/envoy.config.listener.v3.Listener";
    for listener in [&camel, &snake, &bare] {
        for text in [
            listener.clone(),
            format!("[{listener}]"),
            format!("listeners: [{listener}]"),
            format!("resources: [{listener}]"),
            format!(
                "resources: [{{name: l, resource: {}}}]",
                listener.replace("{name: l", &format!("{{{typed}"))
            ),
            format!(
                "xds: {{type.googleapis.com/envoy.config.listener.v3.Listener: {{l: {listener}}}}}"
            ),
        ] {
            let checked = check(&[File::new("a.yaml", &text)], &Settings::default());
            assert!(
                codes(&checked).contains(&"repeats-non-idempotent"),
                "{text}\n{checked:#?}"
            );
        }
    }
    let other = "name: l\nfilters: [{name: retry, max: 3}]\n";
    let checked = check(&[File::new("a.yaml", other)], &Settings::default());
    assert_eq!(codes(&checked), ["unknown-system"]);
}

#[test]
fn what_filters_ask_for_is_repeated_as_the_file_says() {
    let http = |retry: &str| {
        of(&format!(
            "{AUTHZ}http_service: {{server_uri: {{uri: \"http://a/\", cluster: authz, timeout: 0.25s}}, retry_policy: {{{retry}}}}}"
        ))
    };
    // Without words nothing is repeated: 1 request was counted.
    let checked = http("num_retries: 2");
    assert!(
        checked.mappings.is_empty() && codes(&checked).contains(&"never-retries"),
        "{checked:#?}"
    );
    let checked = http(
        "num_retries: 2, retry_on: 5xx, retry_back_off: {base_interval: 0.01s, max_interval: 0.05s}",
    );
    let mapping = &checked.mappings[0];
    let policy = &mapping.policy;
    assert_eq!((policy.attempts, &*mapping.name), (3, "ext_authz to authz"));
    assert_eq!(policy.attempt_timeout, policy.cap.into(), "{checked:#?}");
    assert_eq!(policy.deadline.map(|it| it.as_millis()), Some(250));
    assert!(
        policy.budget.to_string().contains("floor:7"),
        "{}",
        policy.budget
    );
    assert!(
        checked
            .findings
            .iter()
            .all(|it| it.severity < Severity::Error),
        "{checked:#?}"
    );
    let checked = http("retry_on: 5xx, per_try_timeout: 1s");
    assert!(codes(&checked).contains(&"no-such-field"), "{checked:#?}");
    // An attempt lasts as long as the longest wait: 10 s in a request of 0.25 s.
    assert!(
        codes(&checked).contains(&"attempt-timeout-fills-deadline"),
        "{checked:#?}"
    );

    let grpc = |inner: &str| of(&format!("{AUTHZ}grpc_service: {{{inner}}}"));
    let checked = grpc(
        "envoy_grpc: {cluster_name: authz}, timeout: 0.2s, retry_policy: {num_retries: 2, retry_on: connect-failure}",
    );
    assert_eq!(checked.mappings[0].policy.attempts, 3, "{checked:#?}");
    let checked = grpc(
        "google_grpc: {target_uri: a, stat_prefix: a}, retry_policy: {num_retries: 2, retry_on: connect-failure}",
    );
    assert!(
        codes(&checked).contains(&"key-not-read") && checked.mappings.is_empty(),
        "{checked:#?}"
    );
    let checked = grpc(
        "envoy_grpc: {cluster_name: authz, retry_policy: {retry_back_off: {base_interval: 1s}}}",
    );
    assert_eq!(codes(&checked), ["not-known"], "{checked:#?}");
}

#[test]
fn what_filters_fetch_is_repeated_by_words_of_their_own() {
    let jwks = |retry: &str| {
        of(&format!(
            "name: envoy.filters.http.jwt_authn\n        typed_config:\n          \"@type\": type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication\n          providers: {{a: {{remote_jwks: {{http_uri: {{uri: \"http://a/\", cluster: authz, timeout: 5s}}, retry_policy: {retry}}}}}}}"
        ))
    };
    for (retry, attempts) in [("{num_retries: 2}", 3), ("{}", 2)] {
        let checked = jwks(retry);
        assert_eq!(
            checked.mappings[0].policy.attempts, attempts,
            "{checked:#?}"
        );
        let listed = checked.mappings[0]
            .policy
            .retry_on
            .as_deref()
            .unwrap()
            .to_string();
        assert!(listed.contains("statuses 5xx"), "{listed}");
    }
    assert!(codes(&jwks("{retry_on: reset}")).contains(&"key-not-read"));
    let checked = of(
        "name: envoy.filters.http.oauth2\n        typed_config:\n          \"@type\": type.googleapis.com/envoy.extensions.filters.http.oauth2.v3.OAuth2\n          config: {token_endpoint: {cluster: authz, uri: a, timeout: 3s}, retry_policy: {num_retries: 3}}",
    );
    assert_eq!(checked.mappings[0].policy.attempts, 4, "{checked:#?}");
    assert!(
        codes(&checked).contains(&"repeats-non-idempotent"),
        "{checked:#?}"
    );
}

#[test]
fn connections_are_made_again_as_often_as_the_file_says() {
    let tcp = |rest: &str| {
        of(&format!(
            "name: envoy.filters.network.tcp_proxy\n        typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy, stat_prefix: a, cluster: authz, {rest}}}"
        ))
    };
    let checked = tcp("max_connect_attempts: 4");
    let policy = &checked.mappings[0].policy;
    assert_eq!((policy.attempts, policy.base.as_millis()), (4, 0));
    assert_eq!(policy.attempt_timeout.map(|it| it.as_secs()), Some(1));
    let at_once = checked
        .findings
        .iter()
        .find(|it| it.code == "retries-at-once")
        .unwrap();
    assert_eq!(at_once.remedy, "set `backoff_options`");
    let checked = tcp("max_connect_attempts: 3, backoff_options: {base_interval: 0.5s}");
    let policy = &checked.mappings[0].policy;
    assert_eq!(
        (
            policy.attempts,
            policy.base.as_millis(),
            policy.cap.as_secs()
        ),
        (3, 500, 5)
    );
    assert!(
        !codes(&checked).contains(&"retries-at-once"),
        "{checked:#?}"
    );
    assert!(codes(&tcp("max_connect_attempts: 0")).contains(&"refused"));
    assert!(tcp("max_connect_attempts: 1").mappings.is_empty());
    assert!(tcp("idle_timeout: 1s").findings.is_empty());
}

#[test]
fn redirects_that_are_followed_are_told() {
    let text = "virtual_hosts:\n- name: a\n  domains: [\"*\"]\n  routes:\n  - match: {prefix: /}\n    route: {cluster: a, internal_redirect_policy: {max_internal_redirects: 3}}\n";
    let checked = check(&[File::new("envoy.yaml", text)], &Settings::default());
    let told = checked
        .findings
        .iter()
        .find(|it| it.code == "passed-on-again")
        .unwrap();
    assert!(
        told.span.line == 6 && told.sentence.contains("3 times at most"),
        "{told:?}"
    );
}

#[test]
fn a_value_in_place_of_a_message_is_refused() {
    for value in ["abc", "true", "0", "off", "''"] {
        let text = format!(
            "static_resources:\n  clusters:\n  - name: orders\n    circuit_breakers:\n      thresholds:\n      - retry_budget: {value}\n"
        );
        let route = "  listeners: []\nvirtual_hosts:\n- name: a\n  domains: ['*']\n  routes:\n  - match: {prefix: /}\n    route: {cluster: orders, retry_policy: {retry_on: 5xx, num_retries: 2}}\n";
        let text = text + route;
        let checked = becalm_check::check(
            &[becalm_check::File::new("envoy.yaml", &text)],
            &becalm_check::Settings::default(),
        );
        let mut found = checked.findings.iter();
        assert!(
            found.any(|it| it.code == "refused" && it.sentence.contains("`retry_budget`")),
            "{value}: {checked:#?}"
        );
    }
}
