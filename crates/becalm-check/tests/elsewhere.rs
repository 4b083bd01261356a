//! What is chosen by code, by variables or in files that are not seen is told, and nothing is said to repeat nothing.

use becalm_check::{File, Settings, check};

const MANAGER: &str = "\"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";

/// Of each reader: a name, a text, and what a finding says that knows its bounds.
fn cases() -> Vec<(&'static str, String, &'static str)> {
    let nginx = |upstream: &str, to: &str| {
        format!(
            "events {{}}\nhttp {{ {upstream} server {{ listen 80; location / {{ proxy_pass http://{to}; proxy_next_upstream error http_502; }} }} }}\n"
        )
    };
    let haproxy =
        |rest: &str| format!("defaults\n  mode http\n  retries 3\n  retry-on 503\n{rest}");
    let route = |action: &str| {
        format!(
            "name: r\nvirtual_hosts: [{{name: a, domains: ['*'], routes: [{{match: {{prefix: /}}, route: {{{action}}}}}]}}]\n"
        )
    };
    let resource = |group: &str, kind: &str, spec: &str| {
        format!("apiVersion: {group}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{{spec}}}\n")
    };
    let istio = |kind: &str, spec: &str| resource("networking.istio.io/v1", kind, spec);
    let filled_in = "is filled in elsewhere";
    vec![
        ("nginx.conf", nginx("", "$backend"), "is made of variables"),
        ("nginx.conf", nginx("map $host $up { default a; }", "$up"), "is made of variables"),
        ("nginx.conf", nginx("upstream a { include servers.conf; }", "a"), "of a file that is not seen"),
        ("nginx.conf", nginx("include upstreams/*.conf;", "a"), "is no upstream of these files"),
        ("nginx.conf", nginx("upstream a { server a.internal resolve; }", "a"), "are not known here"),
        ("nginx.conf", nginx("upstream a { server 0.0.0.1; balancer_by_lua_file a.lua; }", "a"), "that code chooses"),
        ("haproxy.cfg", haproxy("frontend f\n  use_backend %[req.hdr(host)]\n"), "which backend `%[req.hdr(host)]` is"),
        ("haproxy.cfg", haproxy("frontend f\n  default_backend \"${B}\"\n"), "which backend `${B}` is"),
        ("haproxy.cfg", "backend b from common\n  mode http\n  server s 10.0.0.1:80\n".into(), "is of no file that is named"),
        ("haproxy.cfg", haproxy("backend b\n  retry-on \"${ON}\"\n  server s a:80\n"), filled_in),
        ("envoy.yaml", route("cluster_header: x-c, retry_policy: {retry_on: 5xx}"), "the cluster of the request"),
        ("envoy.yaml", route("cluster: c, retry_policy: {retry_on: \"${ON}\"}"), filled_in),
        ("envoy.yaml", route("cluster: c, retry_policy: {retry_on: \"bogus,${ON}\"}"), filled_in),
        ("envoy.yaml", route("cluster: c, retry_policy: {retry_on: retriable-status-codes, retriable_status_codes: [\"${CODE}\"]}"), filled_in),
        ("envoy.yaml", format!("filter_chains: [{{filters: [{{typed_config: {{{MANAGER}, rds: {{route_config_name: r}}}}}}]}}]\nstatic_resources: {{}}\n"), "what comes of `rds`"),
        ("envoy.yaml", "dynamic_resources: {lds_config: {ads: {}}}\n".into(), "what comes of `lds_config`"),
        ("envoy.yaml", "static_resources: {listeners: [{name: a, http_filters: [{name: x, config_discovery: {type_urls: [a]}}]}]}\n".into(), "what comes of `config_discovery`"),
        ("istio.yaml", istio("VirtualService", "hosts: [a], http: [{delegate: {name: b}}]"), "the delegate b is in none of the files"),
        ("istio.yaml", istio("VirtualService", "hosts: [a], http: [{route: [{destination: {host: a}}], retries: {attempts: 3, retryOn: \"x,${ON}\"}}]"), filled_in),
        ("gateway.yaml", resource("gateway.networking.k8s.io/v1", "HTTPRoute", "rules: [{backendRefs: [{name: a}], filters: [{type: ExtensionRef, extensionRef: {kind: Middleware, name: retry}}]}]"), "the Middleware retry may repeat"),
        ("eg.yaml", resource("gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy", "retry: {retryOn: {triggers: [\"${T}\"]}}"), filled_in),
        ("contour.yaml", resource("projectcontour.io/v1", "HTTPProxy", "routes: [{services: [{name: a}], retryPolicy: {count: 3, retryOn: [\"${ON}\"]}}]"), filled_in),
        ("contour.yaml", resource("projectcontour.io/v1", "HTTPProxy", "routes: [{services: [{name: a}], retryPolicy: {retryOn: [retriable-status-codes], retriableStatusCodes: [\"${CODE}\"]}}]"), filled_in),
        ("kuma.yaml", resource("kuma.io/v1alpha1", "MeshRetry", "to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3, retryOn: [\"${ON}\"]}}}]"), filled_in),
        ("dapr.yaml", resource("dapr.io/v1alpha1", "Resiliency", "targets: {apps: {x: {retry: elsewhere}}}"), "elsewhere"),
        ("application-prod.yml", "resilience4j: {retry: {instances: {orders: {baseConfig: common}}}}\n".into(), "the config `common` is not here"),
        ("application.yml", "resilience4j: {retry: {instances: {orders: {maxAttempts: \"${N}\"}}}}\n".into(), filled_in),
        ("config", "[default]\nmax_attempts = 1\nretry_mode = standard\n".into(), "in the environment override the file"),
        ("grpc.json", "{\"methodConfig\": [{\"name\": [{}], \"retryPolicy\": {\"maxAttempts\": 3, \"initialBackoff\": \"0.1s\", \"maxBackoff\": \"1s\", \"backoffMultiplier\": 2, \"retryableStatusCodes\": [\"${CODE}\"]}}]}".into(), filled_in),
    ]
}

#[test]
fn what_is_not_seen_is_told_and_reassures_nobody() {
    let mut wrong = Vec::new();
    for (name, text, says) in cases() {
        let found = check(&[File::new(name, &text)], &Settings::default()).findings;
        let is_said = found.iter().any(|it| it.sentence.contains(says));
        let reassures = found.iter().any(|it| it.code == "never-retries");
        if !is_said || reassures {
            let told: Vec<_> = found
                .iter()
                .map(|it| format!("{}: {}", it.code, it.sentence))
                .collect();
            wrong.push(format!(
                "{name}\n{text}  wanted: {says}\n  {}\n",
                told.join("\n  ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// Routes that a file of the same check has are not fetched from where they are not seen.
#[test]
fn routes_by_name_that_another_file_has_are_seen() {
    let listener =
        format!("static_resources: {{a: {{{MANAGER}, rds: {{route_config_name: r}}}}}}\n");
    let routes = "name: r\nvirtual_hosts: [{name: a, domains: ['*'], routes: []}]\n";
    let files = [
        File::new("envoy.yaml", &listener),
        File::new("rds.yaml", routes),
    ];
    let found = check(&files, &Settings::default()).findings;
    assert!(found.iter().all(|it| it.code != "not-seen"), "{found:#?}");
}

/// Each is of a kustomization, or of what holds one.
#[test]
fn retries_in_a_patch_are_told_however_it_is_written() {
    let resource = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec: {http: [{retries: {attempts: 10}}]}";
    let lines = resource.replace('\n', "\n    ");
    let path = "/spec/http/0/retries/attempts";
    for patch in [
        format!("patches:\n- patch: '[{{\"op\":\"replace\",\"path\":\"{path}\",\"value\":10}}]'\n"),
        format!("patchesJson6902:\n- patch: '[{{\"path\":\"{path}\",\"op\":\"replace\",\"value\":10}}]'\n"),
        format!("patches:\n- patch: |-\n    - op: replace\n      path: {path}\n      value: 10\n"),
        format!("patches:\n- patch: |-\n    - {{\"op\": \"replace\", \"path\": \"{path}\", \"value\": 10}}\n"),
        format!("patches:\n- patch: \"- {{op: replace, path: {path}, value: 10}}\"\n"),
        "patches:\n- patch: '[{\"op\":\"add\",\"path\":\"/spec/http/0\",\"value\":{\"retries\":{\"attempts\":10}}}]'\n".to_owned(),
        "patches:\n- patch: |-\n    - op: add\n      path: /spec/http/0\n      value:\n        retries: {attempts: 10}\n".to_owned(),
        "patches:\n- patch: '[{\"op\":\"add\",\"path\":\"/metadata/annotations/nginx.ingress.kubernetes.io~1proxy-next-upstream-tries\",\"value\":\"10\"}]'\n".to_owned(),
        format!("patches:\n- patch: |-\n    {lines}\n"),
        format!("patchesStrategicMerge:\n- |-\n    {lines}\n"),
        "patches:\n- patch: '{\"kind\":\"VirtualService\",\"spec\":{\"http\":[{\"retries\":{\"attempts\":10}}]}}'\n".to_owned(),
        format!("patches:\n- patch: |-\n    - op: add\n      path: {path}\n      value: [1\n"),
    ] {
        for (kind, by) in [("kind: Kustomization\n", 0), ("kind: HelmRelease\nspec:\n", 2)] {
            let text = patch.lines().map(|it| format!("{:by$}{it}\n", ""));
            let text = format!("{kind}{}", text.collect::<String>());
            let checked = check(
                &[File::new("kustomization.yaml", &text)],
                &Settings::default(),
            );
            let told: Vec<_> = checked.findings.iter().map(|it| it.code).collect();
            assert_eq!(told, ["retries-not-read"], "{text}{checked:?}");
            let sentence = &checked.findings[0].sentence;
            let twice = "patchesStrategicMerge.patchesStrategicMerge";
            assert!(!sentence.contains(twice), "{sentence}");
            assert!(sentence.contains("retries`") || sentence.contains("-tries`"), "{sentence}");
        }
    }
    for patch in [
        "- op: replace\n      path: /spec/http/0/timeout\n      value: 10s",
        "kind: Deployment\n    metadata: {name: retry-tests}",
        "# retries: 3\n    kind: Deployment",
    ] {
        let text = format!("kind: Kustomization\npatches:\n- patch: |-\n    {patch}\n");
        let checked = check(
            &[File::new("kustomization.yaml", &text)],
            &Settings::default(),
        );
        let told: Vec<_> = checked.findings.iter().map(|it| it.code).collect();
        assert_eq!(told, ["unknown-system"], "{text}{checked:?}");
    }
}
