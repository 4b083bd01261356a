//! Are waits and time-outs added up, in one file and between layers?

use becalm_check::layers::{layers, outlived};
use becalm_check::{Checked, File, Settings, check};

fn of(name: &str, text: &str) -> Checked {
    check(&[File::new(name, text)], &Settings::default())
}

fn told<'c>(checked: &'c Checked, code: &str) -> Vec<&'c str> {
    let all = checked.findings.iter().filter(|it| it.code == code);
    all.map(|it| &*it.sentence).collect()
}

fn envoy(manager: &str, route: &str, cluster: &str) -> Checked {
    let text = format!(
        "static_resources:\n  listeners:\n  - filter_chains:\n    - filters:\n      - typed_config:\n          {manager}\n          route_config:\n            virtual_hosts:\n            - name: a\n              domains: [\"*\"]\n              routes:\n              - match: {{prefix: /}}\n                route: {{cluster: orders, {route}}}\n  clusters:\n  - name: orders\n    {cluster}\n"
    );
    of("envoy.yaml", &text)
}

#[test]
fn waits_count_beside_the_time_outs_of_attempts() {
    let route = "timeout: 4s, retry_policy: {retry_on: 5xx, num_retries: 3, per_try_timeout: 1s, retry_back_off: {base_interval: 1s, max_interval: 8s}}";
    let checked = envoy("stat_prefix: a", route, "connect_timeout: 0.2s");
    let told = told(&checked, "attempt-timeout-fills-deadline");
    assert_eq!(told.len(), 1, "{checked:#?}");
    assert!(told[0].contains("with the waits between them"), "{told:?}");
}

#[test]
fn connecting_has_a_time_of_its_own() {
    let code = "connect-timeout-fills-deadline";
    let route = "timeout: 10s, retry_policy: {retry_on: connect-failure, num_retries: 3, per_try_timeout: 1s}";
    for (cluster, sentence) in [
        (
            "connect_timeout: 5s",
            "with a `connect_timeout`, 2 attempts that time out after 5s leave no room for attempt 3 of 4 before the deadline of 10s",
        ),
        (
            "lb_policy: RANDOM",
            "with the default `connect_timeout`, 2 attempts",
        ),
    ] {
        let checked = envoy("stat_prefix: a", route, cluster);
        let told = told(&checked, code);
        assert!(
            told.len() == 1 && told[0].contains(sentence),
            "{checked:#?}"
        );
    }
    let short = envoy("stat_prefix: a", route, "connect_timeout: 1s");
    assert!(told(&short, code).is_empty(), "{short:#?}");
    let others = route.replace("connect-failure", "retriable-4xx");
    let others = envoy("stat_prefix: a", &others, "connect_timeout: 5s");
    assert!(told(&others, code).is_empty(), "{others:#?}");

    let istio = of(
        "istio.yaml",
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec:\n  hosts: [orders]\n  http:\n  - route: [{destination: {host: orders}}]\n    timeout: 6s\n    retries: {attempts: 3, perTryTimeout: 1s}\n\
         ---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a}\nspec:\n  host: orders\n  trafficPolicy:\n    connectionPool:\n      tcp: {connectTimeout: 3s}\n",
    );
    assert_eq!(told(&istio, code).len(), 1, "{istio:#?}");
    let gateway = of(
        "btp.yaml",
        "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {name: a}\nspec:\n  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: orders}]\n  timeout:\n    tcp: {connectTimeout: 4s}\n    http: {requestTimeout: 8s}\n  retry: {numRetries: 3}\n",
    );
    assert_eq!(told(&gateway, code).len(), 1, "{gateway:#?}");
    let nginx = of(
        "nginx.conf",
        "upstream orders { server 10.0.0.1:80; server 10.0.0.2:80; server 10.0.0.3:80; }\nserver {\n  location / {\n    proxy_pass http://orders;\n    proxy_connect_timeout 5s;\n    proxy_read_timeout 1s;\n    proxy_next_upstream_timeout 10s;\n  }\n}\n",
    );
    assert_eq!(told(&nginx, code).len(), 1, "{nginx:#?}");
}

#[test]
fn a_stream_that_is_idle_ends_before_its_retries() {
    let code = "ends-before-retries";
    let retry = "retry_policy: {retry_on: 5xx, num_retries: 3, per_try_timeout: 5s}";
    let manager = "stream_idle_timeout: 8s";
    let cluster = "connect_timeout: 0.2s";
    let checked = envoy(manager, &format!("timeout: 60s, {retry}"), cluster);
    let sentences = told(&checked, code);
    assert!(
        sentences.len() == 1 && sentences[0].contains("before `stream_idle_timeout` of 8s"),
        "{checked:#?}"
    );
    // The route's own holds.
    let route = format!("timeout: 60s, idle_timeout: 0s, {retry}");
    let checked = envoy(manager, &route, cluster);
    assert!(told(&checked, code).is_empty(), "{checked:#?}");
    let route = format!("timeout: 60s, idle_timeout: 6s, {retry}");
    let checked = envoy(manager, &route, cluster);
    assert!(
        told(&checked, code)[0].contains("`idle_timeout` of 6s"),
        "{checked:#?}"
    );
}

#[test]
fn a_layer_that_outlives_the_one_around_it_is_told() {
    let outer = "upstream orders { server 10.0.0.1:80; server 10.0.0.2:80; }\nserver {\n  location / {\n    proxy_pass http://orders;\n    proxy_read_timeout 3s;\n    proxy_next_upstream_timeout 5s;\n  }\n}\n";
    let inner = |timeout: &str| {
        format!(
            "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: a}}\nspec:\n  hosts: [orders]\n  http:\n  - route: [{{destination: {{host: orders}}}}]\n    timeout: {timeout}\n    retries: {{attempts: 3, perTryTimeout: 2s}}\n"
        )
    };
    for (timeout, is_told) in [("9s", true), ("3s", false)] {
        let inner = inner(timeout);
        let files = [("nginx.conf", outer), ("istio.yaml", &*inner)];
        let files = files.map(|(name, text)| (name, of(name, text).mappings));
        let found = outlived(&layers(&files).unwrap());
        assert_eq!(!found.is_empty(), is_told, "{timeout}: {found:?}");
        for it in found {
            assert_eq!(it.code, "outlives-caller");
            assert!(
                it.file == "istio.yaml" && it.sentence.contains("waits 3s"),
                "{it:?}"
            );
        }
    }
}
