//! Which of several objects that set the same thing holds, and is it judged alone?

mod asked;

use asked::of;
use becalm_check::Checked;

fn overridden(checked: &Checked) -> Vec<(&str, usize, &str)> {
    let all = checked.findings.iter().filter(|it| it.code == "overridden");
    all.map(|it| (&*it.file, it.span.line, &*it.sentence))
        .collect()
}

fn attempts(checked: &Checked) -> Vec<u32> {
    checked
        .mappings
        .iter()
        .map(|it| it.policy.attempts)
        .collect()
}

#[test]
fn of_envoy_the_route_holds_before_its_host_and_the_cluster_before_both() {
    let text = "virtual_hosts:\n- name: a\n  domains: [\"*\"]\n  retry_policy: {retry_on: connect-failure, num_retries: 9}\n  routes:\n  - match: {prefix: /}\n    route: {cluster: a, retry_policy: {retry_on: connect-failure, num_retries: 1}}\n";
    let checked = of(&[("envoy.yaml", text)]);
    assert_eq!(attempts(&checked), [2]);
    assert_eq!(overridden(&checked)[0].1, 4, "{checked:#?}");
    let two = format!("{text}  - match: {{prefix: /b}}\n    route: {{cluster: b}}\n");
    let checked = of(&[("envoy.yaml", &two)]);
    assert_eq!(attempts(&checked), [2, 10]);
    assert!(overridden(&checked).is_empty(), "{checked:#?}");

    let options = "typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {\"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: {http_protocol_options: {}}, retry_policy: {retry_on: connect-failure, num_retries: 4}}}";
    let weighted = format!(
        "static_resources:\n  clusters:\n  - {{name: a, connect_timeout: 0.1s}}\n  - {{name: b, connect_timeout: 0.1s, {options}}}\n  listeners:\n  - filter_chains:\n    - filters:\n      - typed_config:\n          route_config:\n            virtual_hosts:\n            - name: a\n              domains: [\"*\"]\n              routes:\n              - match: {{prefix: /}}\n                route:\n                  weighted_clusters: {{clusters: [{{name: a, weight: 1}}, {{name: b, weight: 1}}]}}\n                  retry_policy: {{retry_on: connect-failure, num_retries: 1}}\n"
    );
    let checked = of(&[("envoy.yaml", &weighted)]);
    assert_eq!(attempts(&checked), [5, 2], "{checked:#?}");
}

fn service(name: &str, created: &str, attempts: u32) -> String {
    format!(
        "---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: {name}, namespace: shop{created}}}\nspec:\n  hosts: [orders]\n  http:\n  - route: [{{destination: {{host: orders}}}}]\n    timeout: 5s\n    retries: {{attempts: {attempts}, retryOn: connect-failure}}\n"
    )
}

#[test]
fn of_istio_the_older_holds() {
    let created = |day: u32| format!(", creationTimestamp: \"2026-11-{day:02}T00:00:00Z\"");
    let both = service("late", &created(9), 7) + &service("early", &created(2), 3);
    let checked = of(&[("services.yaml", &both)]);
    assert_eq!(attempts(&checked), [4]);
    let told = overridden(&checked);
    assert!(
        told.len() == 1 && told[0].2.contains("VirtualService shop/early"),
        "{told:?}"
    );
    let both = service("late", "", 7) + &service("early", "", 3);
    let checked = of(&[("services.yaml", &both)]);
    assert_eq!(attempts(&checked), [8, 4]);
    assert!(
        overridden(&checked)
            .iter()
            .all(|it| it.2.contains("do not say"))
    );

    let rule = |name: &str, created: &str, most: u32| {
        format!(
            "---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {{name: {name}, namespace: shop{created}}}\nspec:\n  host: orders\n  trafficPolicy: {{connectionPool: {{http: {{maxRetries: {most}}}}}}}\n"
        )
    };
    let text =
        service("a", "", 2) + &rule("late", &created(9), 50) + &rule("early", &created(2), 5);
    let checked = of(&[("all.yaml", &text)]);
    let budget = checked.mappings[0].policy.budget.to_string();
    assert!(
        budget.contains("floor:5") && !budget.contains("50"),
        "{budget}"
    );
    assert!(
        overridden(&checked)[0]
            .2
            .contains("DestinationRule shop/early"),
        "{checked:#?}"
    );
}

#[test]
fn of_istio_the_route_holds_before_the_mesh() {
    let mesh = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nspec:\n  meshConfig:\n    defaultHttpRetryPolicy: {attempts: 9, retryOn: 5xx}\n";
    let checked = of(&[("mesh.yaml", mesh), ("a.yaml", &service("a", "", 2))]);
    let of_route = checked
        .mappings
        .iter()
        .find(|it| it.file == "a.yaml")
        .unwrap();
    assert_eq!(of_route.policy.attempts, 3);
    let lost = of_route
        .lost
        .iter()
        .find(|it| it.what == "defaultHttpRetryPolicy")
        .unwrap();
    assert!(lost.why.contains("line 5 of mesh.yaml"), "{lost:?}");
}

fn policy(name: &str, kind: &str, target: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {{name: {name}}}\nspec:\n  targetRefs: [{{group: gateway.networking.k8s.io, kind: {kind}, name: {target}}}]\n{spec}"
    )
}

#[test]
fn the_time_outs_of_a_route_hold_before_those_of_an_envoy_gateway() {
    let own = "  retry: {numRetries: 1}\n  timeout: {http: {requestTimeout: 9s}}\n";
    let own = policy("own", "HTTPRoute", "orders", own);
    for (timeouts, seconds) in [
        ("{request: 3s}", 3),
        ("{backendRequest: 4s}", 4),
        ("{request: 10s, backendRequest: 4s}", 4),
        ("{request: 3s}\n  - backendRefs: []", 9),
        ("{}", 9),
    ] {
        let text = format!("{own}{ROUTE}    timeouts: {timeouts}\n");
        let checked = of(&[("all.yaml", &text)]);
        let mapping = &checked.mappings[0];
        let told = mapping.policy.deadline.map(|it| it.as_secs());
        assert_eq!(told, Some(seconds), "{timeouts}: {checked:#?}");
        let is_lost = mapping.lost.iter().any(|it| it.what == "requestTimeout");
        assert_eq!(is_lost, timeouts.contains("backendRefs"));
    }
    let stream = own.replace("requestTimeout: 9s", "maxStreamDuration: 2s");
    let text = format!("{stream}{ROUTE}    timeouts: {{request: 30s}}\n");
    let told = &of(&[("all.yaml", &text)]).mappings[0];
    assert_eq!(told.policy.deadline.map(|it| it.as_secs()), Some(2));
    let each = own.replace(
        "{numRetries: 1}",
        "{numRetries: 1, perRetry: {timeout: 5s}}",
    );
    for (request, is_ignored) in [("12s", false), ("3s", true)] {
        let text = format!("{each}{ROUTE}    timeouts: {{request: {request}}}\n");
        let checked = of(&[("all.yaml", &text)]);
        let mut codes = checked.findings.iter().map(|it| it.code);
        assert_eq!(codes.any(|it| it == "timeout-ignored"), is_ignored);
    }
}

const ROUTE: &str = "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: orders}\nspec:\n  parentRefs: [{name: eg}]\n  rules:\n  - backendRefs: [{name: orders, port: 80}]\n";

#[test]
fn of_envoy_gateway_the_closest_holds_as_a_whole() {
    let of_gateway = policy("all", "Gateway", "eg", "  retry: {numRetries: 5}\n");
    let of_route = policy("own", "HTTPRoute", "orders", "  retry: {numRetries: 1}\n");
    let text = format!("{of_gateway}{of_route}{ROUTE}");
    let checked = of(&[("all.yaml", &text)]);
    let told = overridden(&checked);
    assert!(
        told.len() == 1
            && told[0]
                .2
                .contains("BackendTrafficPolicy own holds for orders"),
        "{told:?}"
    );
    // The gateway's holds for other routes.
    assert_eq!(attempts(&checked), [6, 2]);

    let bare = policy(
        "own",
        "HTTPRoute",
        "orders",
        "  timeout: {http: {requestTimeout: 5s}}\n",
    );
    let checked = of(&[("all.yaml", &format!("{of_gateway}{bare}{ROUTE}"))]);
    assert!(
        overridden(&checked)[0]
            .2
            .contains("nothing is repeated there"),
        "{checked:#?}"
    );

    let with_retry = format!("{ROUTE}    retry: {{attempts: 1, codes: [503]}}\n");
    let checked = of(&[("all.yaml", &format!("{of_route}{with_retry}"))]);
    assert!(
        overridden(&checked)[0].2.contains("have a `retry`"),
        "{checked:#?}"
    );
    assert_eq!(attempts(&checked), [2], "of the HTTPRoute alone");
    assert_eq!(checked.mappings[0].system, "gateway-api");

    let two = policy("b", "Gateway", "eg", "  retry: {numRetries: 5}\n").replace(
        "name: b",
        "name: b, creationTimestamp: \"2026-02-01T00:00:00Z\"",
    ) + &policy("a", "Gateway", "eg", "  retry: {numRetries: 2}\n").replace(
        "name: a",
        "name: a, creationTimestamp: \"2026-01-01T00:00:00Z\"",
    );
    let checked = of(&[("two.yaml", &two)]);
    assert_eq!(attempts(&checked), [3], "{checked:#?}");
}

#[test]
fn of_linkerd_profiles_hold_before_routes_and_routes_before_services() {
    let service = "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: orders\n  annotations: {retry.linkerd.io/http: 5xx, retry.linkerd.io/limit: \"4\", timeout.linkerd.io/request: 5s}\n";
    let route = "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: own\n  annotations: {retry.linkerd.io/http: \"503\", timeout.linkerd.io/request: 5s}\nspec:\n  parentRefs: [{name: orders, kind: Service, group: core, port: 80}]\n  rules:\n  - matches: [{path: {value: /a}}]\n";
    let checked = of(&[("service.yaml", service), ("route.yaml", route)]);
    assert_eq!(attempts(&checked), [5, 2], "{checked:#?}");
    assert!(
        overridden(&checked)[0]
            .2
            .contains("for the requests that it matches")
    );
    let all = route.replace(
        "  - matches: [{path: {value: /a}}]",
        "  - backendRefs: [{name: orders}]",
    );
    let checked = of(&[("service.yaml", service), ("route.yaml", &all)]);
    assert_eq!(attempts(&checked), [2], "{checked:#?}");
    let profile = "apiVersion: linkerd.io/v1alpha2\nkind: ServiceProfile\nmetadata: {name: orders.shop.svc.cluster.local}\nspec:\n  routes:\n  - {name: a, condition: {method: GET}, isRetryable: true, timeout: 1s}\n";
    let checked = of(&[("service.yaml", service), ("profile.yaml", profile)]);
    assert!(
        checked.mappings.iter().all(|it| it.file == "profile.yaml"),
        "{checked:#?}"
    );
}

/// `Session.full_config` of botocore.
#[test]
fn of_aws_the_credentials_hold_before_the_config() {
    let config = "[default]\nregion = eu-central-1\nmax_attempts = 9\n[profile batch]\nmax_attempts = 4\nretry_mode = standard\n";
    let credentials =
        "[default]\naws_access_key_id = a\nmax_attempts = 2\n[batch]\nmax_attempts = 3\n";
    let checked = of(&[("config", config), ("credentials", credentials)]);
    let told = overridden(&checked);
    let told: Vec<_> = told
        .iter()
        .filter(|it| it.2.contains("from credentials"))
        .collect();
    assert_eq!(
        told.iter().map(|it| it.1).collect::<Vec<_>>(),
        [3, 5],
        "{told:?}"
    );
    let of_default: Vec<_> = checked
        .mappings
        .iter()
        .filter(|it| it.name == "profile default")
        .collect();
    assert_eq!((of_default.len(), of_default[0].policy.attempts), (1, 2));
}

/// Run with 1.40.0: 3 attempts, whatever route leads to the cluster.
#[test]
fn a_cluster_without_a_route_of_its_file_has_its_own_policy() {
    let cluster = |name: &str| {
        format!(
            "{{name: {name}, type: EDS, typed_extension_protocol_options: {{envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {{retry_policy: {{retry_on: connect-failure, num_retries: 2}}}}}}}}"
        )
    };
    let text = format!(
        "static_resources: {{clusters: [{}, {}]}}\n",
        cluster("a"),
        cluster("b")
    );
    let checked = of(&[("envoy.yaml", &text)]);
    assert_eq!(attempts(&checked), [3, 3], "{checked:?}");
    assert_eq!(checked.mappings[1].names, ["b"]);
    assert!(checked.findings.iter().any(|it| it.code == "not-seen"));
    assert!(
        checked
            .findings
            .iter()
            .all(|it| it.code != "retries-not-read")
    );
    let route = "virtual_hosts: [{name: h, domains: [a], routes: [{match: {prefix: /}, route: {cluster: a}}]}]";
    let both = format!("{route}\n{text}");
    assert_eq!(attempts(&of(&[("envoy.yaml", &both)])), [3, 3]);
}

#[test]
fn a_cluster_of_another_file_is_judged_by_the_routes_that_lead_to_it() {
    let routes = "virtual_hosts:\n- name: h\n  domains: [a]\n  routes:\n  - match: {prefix: /}\n    route: {cluster: a, timeout: 0s}\n";
    let clusters = "static_resources:\n  clusters:\n  - {name: a, type: EDS, typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {retry_policy: {retry_on: 5xx, num_retries: 9}}}}\n";
    let one_file = format!("{clusters}---\n{routes}");
    for files in [
        &[("rds.yaml", routes), ("cds.yaml", clusters)][..],
        &[("cds.yaml", clusters), ("rds.yaml", routes)],
        &[("envoy.yaml", &one_file)],
    ] {
        let checked = of(files);
        let [mapping] = &checked.mappings[..] else {
            panic!("{checked:#?}");
        };
        let policy = &mapping.policy;
        assert_eq!((policy.attempts, policy.deadline), (10, None));
        assert!(
            checked
                .findings
                .iter()
                .all(|it| it.code != "not-seen" && it.code != "retries-not-read"),
            "{checked:#?}"
        );
        if files.len() == 2 {
            assert_eq!((&*mapping.file, mapping.span.line), ("rds.yaml", 5));
        }
    }
    // A route of another Envoy leads to the cluster of its own file.
    let own = format!("{clusters}{routes}");
    let both = of(&[("a.yaml", &own), ("b.yaml", clusters)]);
    assert_eq!(attempts(&both), [10, 10], "{both:#?}");
}
