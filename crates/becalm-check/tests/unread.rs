//! What stands in a place where no system reads it, and what cannot be read, is told; what holds no retries stops nothing.

use becalm_check::{Checked, File, Settings, Severity, check};

fn of(name: &str, text: &str) -> Checked {
    check(&[File::new(name, text)], &Settings::default())
}

fn found(checked: &Checked) -> Vec<(usize, &str, Severity)> {
    let all = checked.findings.iter();
    all.map(|it| (it.span.line, it.code, it.severity)).collect()
}

/// Each of them is read by `PyYAML`.
#[test]
fn what_other_readers_of_yaml_take_is_read() {
    for text in [
        "- c:\n    - d: [\n      1,\n      2\n      ]\n",
        "a:\n  args: [\"\n    x\n  \"]\n",
        "a: \"x\n y\"\n",
        "kind: ConfigMap\ndata:\n  d: \"{{ a\n    }}.{{ b }}\"\n",
        "a: |-\n  x\n  {{ y }}\nb: client-{{workflow.uid}}\n",
        "a: b-{{ x }}\nc: 'd\n  {{ e }}'\n",
        "a: 1\n\u{85}b: 2\n",
        "\u{feff}a: 1\n",
        "a: {b: 1,\n}\nc: [\n]\n",
        "a:\n- b\n- c: |\n   {% if x %}\n",
    ] {
        let checked = of("a.yaml", text);
        assert_eq!(
            found(&checked),
            [(1, "unknown-system", Severity::Note)],
            "{text}"
        );
    }
}

const SERVICE: &str = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec:\n  hosts: [a]\n  \
                       http:\n  - route: [{destination: {host: a}}]\n    retries: {attempts: 3}\n";

#[test]
fn a_document_that_cannot_be_read_leaves_the_others() {
    for (broken, code) in [
        ("retries: {{ .Values.x }}\n", "template"),
        ("{{- if .x }}\nretries: 1\n{{- end }}\n", "template"),
        ("retries: [1\n", "cannot-read"),
        ("retries: \"1\n", "cannot-read"),
    ] {
        for text in [
            format!("{broken}---\n{SERVICE}"),
            format!("{SERVICE}---\n{broken}"),
            format!("a: 1\n---\n{broken}---\n{SERVICE}---\nb: 1\n"),
        ] {
            let checked = of("a.yaml", &text);
            assert_eq!(checked.mappings.len(), 1, "{text}");
            let told = found(&checked);
            let told: Vec<_> = told.iter().filter(|it| it.2 == Severity::Error).collect();
            assert_eq!(told.len(), 1, "{text}\n{checked:?}");
            assert_eq!(told[0].1, code, "{text}");
            let line = text.lines().position(|it| {
                it.contains("retries: {{")
                    || it.contains("{{- if")
                    || it.ends_with('1') && it.starts_with("retries")
            });
            let off = usize::from(code == "cannot-read") * 3;
            assert!(
                told[0].0.abs_diff(line.unwrap() + 1) <= off,
                "{told:?}\n{text}"
            );
        }
        let plain = broken.replace("retries", "size");
        let told = of("a.yaml", &format!("{plain}---\n{SERVICE}"));
        assert!(
            found(&told).contains(&(found(&told)[0].0, code, Severity::Note)),
            "{told:?}"
        );
        assert!(
            told.findings.iter().all(|it| it.severity < Severity::Error),
            "{told:?}"
        );
    }
}

#[test]
fn retries_in_a_place_where_they_are_not_read_are_told() {
    let istio = |text: &str| SERVICE.replace("    retries: {attempts: 3}\n", text);
    let error = Severity::Error;
    for (text, line) in [
        (
            istio("").replace("{host: a}}", "{host: a}, retries: {attempts: 3}}"),
            7,
        ),
        (format!("{}  retries: {{attempts: 3}}\n", istio("")), 8),
        (istio("    retrys: {attempts: 3}\n"), 8),
        (istio("    retries: {atempts: 3}\n"), 8),
        (istio("    match: [{retries: {attempts: 3}}]\n"), 8),
    ] {
        let told = of("a.yaml", &text);
        let told: Vec<_> = found(&told)
            .into_iter()
            .filter(|it| it.2 == error)
            .collect();
        assert_eq!(told, [(line, "no-such-field", error)], "{text}");
    }
    let cluster = "static_resources:\n  clusters:\n  - name: a\n    connect_timeout: 1s\n    retry_policy: {num_retries: 3}\n";
    assert_eq!(
        found(&of("a.yaml", cluster))[0],
        (5, "no-such-field", error)
    );
}

#[test]
fn systems_that_are_not_read_are_named_with_their_keys() {
    for (name, text, line, word) in [
        (
            "a.yaml",
            "services:\n  web:\n    image: shop\n    deploy: {restart_policy: {max_attempts: 4}}\nversion: '3'\n",
            4,
            "Compose",
        ),
        (
            "a.yaml",
            "apiVersion: policies.kuma.io/v1\nkind: MeshOther\nspec:\n  to:\n  - default: {http: {numRetries: 3}}\n",
            5,
            "a MeshOther of policies.kuma.io",
        ),
        (
            "a.yaml",
            "spring:\n  kafka:\n    retry: {topic: {attempts: 4}}\n",
            3,
            "Spring",
        ),
        (
            "a.json",
            "{\"Jobs\": {\"Import\": {\"Retry\": {\"MaxRetryAttempts\": 3}}}}",
            1,
            "Jobs.Import.Retry",
        ),
        (
            "a.conf",
            "a = 1\nmax_retries = 5\nretry_wait = 3\n",
            2,
            "max_retries",
        ),
    ] {
        let checked = of(name, text);
        assert_eq!(
            found(&checked),
            [(line, "retries-not-read", Severity::Warning)],
            "{checked:?}"
        );
        assert!(checked.findings[0].sentence.contains(word), "{checked:?}");
    }
}

#[test]
fn a_comment_with_a_reason_lets_a_finding_pass() {
    let with = |comment: &str, trailing: &str| {
        let line = format!("    {comment}\n    retries: {{attempts: 3, retryOn: 5xx}}{trailing}\n");
        let checked = of(
            "a.yaml",
            &SERVICE.replace("    retries: {attempts: 3}\n", &line),
        );
        let codes = checked.findings.iter().map(|it| it.code.to_owned());
        (codes.collect::<Vec<_>>(), checked.allowed.len())
    };
    let has = |(codes, allowed): (Vec<String>, usize), code: &str| {
        (codes.iter().any(|it| it == code), allowed)
    };
    assert_eq!(has(with("# a", ""), "no-budget"), (true, 0));
    assert_eq!(
        has(
            with("# becalm: allow no-budget (the mesh has one)", ""),
            "no-budget"
        ),
        (false, 1)
    );
    assert_eq!(
        has(
            with(
                "# becalm: allow no-budget (one)\n    # becalm: allow repeats-non-idempotent (two)",
                ""
            ),
            "no-budget"
        ),
        (false, 2)
    );
    assert_eq!(
        has(with("# a", " # becalm: allow no-budget (one)"), "no-budget"),
        (false, 1)
    );
    let (codes, allowed) = with("# becalm: allow no-budget", "");
    assert!(
        codes.contains(&"allows-nothing".into())
            && codes.contains(&"no-budget".into())
            && allowed == 0
    );
    let (codes, allowed) = with("# becalm: allow no-jitter (none)", "");
    assert!(codes.contains(&"allows-nothing".into()) && allowed == 0);
}

/// Files of applications, each with what is told of it.
#[test]
fn what_repeats_no_request_is_not_told() {
    let route = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {annotations: {docs: https://x}}\nspec:\n  hosts: [a]\n  http:\n  - retries: {attempts: 0}\n    route: [{destination: {host: a}}]\n";
    let chart =
        format!("{{{{- if .Values.on }}}}\nkind: A\n---\n{route}---\nkind: B\n{{{{- end }}}}\n");
    let script = "kind: ConfigMap\ndata:\n  init.sh: |\n    get_retry() {\n      retry=${1}\n      echo \"Error: x\"\n    }\n";
    for (name, text, codes) in [
        ("templates/a.yaml", &*chart, &["template", "template"][..]),
        ("map.yaml", script, &["unknown-system"]),
        (
            "ansible.cfg",
            "[defaults]\nretry_files_enabled = False\n",
            &["retries-not-read"],
        ),
        ("my.ini", "[mysqld]\nport = 1\n", &["unknown-system"]),
        (
            "envoy.conf",
            "a: {retries: 3}\n---\na: {{ .x }}\n",
            &["retries-not-read", "template"],
        ),
        (
            "b.yaml",
            "healthcheck-api: {maxAttempts: 50}\n",
            &["retries-not-read"],
        ),
        (
            "a.yaml",
            "x-healthcheck: {retries: 3}\n",
            &["unknown-system"],
        ),
        (
            "appsettings.json",
            "{\"Resilience\":{\"Retry\":{\"MaxRetryAttempts\":3,\"DelaySeconds\":2,\"UseJitter\":true}}}",
            &["retries-not-read"],
        ),
    ] {
        let checked = of(name, text);
        let told: Vec<_> = found(&checked).iter().map(|it| it.1).collect();
        assert_eq!(told, codes, "{name}: {checked:#?}");
    }
    let instance = "resilience4j.retry.instances.o.";
    let text = format!(
        "{instance}maxAttempts=3\n{instance}waitDuration=500ms\n{instance}eventConsumerBufferSize=10\n"
    );
    let checked = of("application.properties", &text);
    assert!(
        found(&checked).iter().all(|it| it.1 != "retries-not-read"),
        "{checked:#?}"
    );
}

/// What has words of retries in its name, and sets none, beside what does.
#[test]
fn what_is_not_read_is_named_by_what_it_is_made_of() {
    for (text, whose) in [
        (
            "services: [{name: a, protocol: http, host: a, retries: 5}]\n",
            "Kong",
        ),
        (
            "gateways: [{apiVersion: g/v1, kind: Gateway}]\nbackendTrafficPolicies:\n- {apiVersion: gateway.envoyproxy.io/v1alpha1, kind: BackendTrafficPolicy, spec: {retry: {numRetries: 9}}}\n",
            "a list with a BackendTrafficPolicy of gateway.envoyproxy.io",
        ),
    ] {
        let checked = of("a.yaml", text);
        assert!(checked.findings[0].sentence.contains(whose), "{checked:?}");
    }
}

/// A schema says which keys others may have: of Kubernetes, JSON Schema and `OpenAPI`.
#[test]
fn a_schema_holds_no_settings() {
    for (name, text) in [
        (
            "crd.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  versions:\n  - schema:\n      openAPIV3Schema:\n        \
             type: object\n        properties:\n          maxRetries: {type: integer}\n",
        ),
        (
            "a.json",
            r#"{"$schema": "x", "definitions": {"Retry": {"maxRetries": {"type": "integer"}}}}"#,
        ),
        (
            "a.yaml",
            "openapi: 3.0.0\npaths:\n  /retries:\n    get: {}\n",
        ),
    ] {
        let checked = of(name, text);
        assert!(
            checked
                .findings
                .iter()
                .all(|it| it.code == "unknown-system"),
            "{checked:#?}"
        );
    }
    let checked = of("a.yaml", "type: object\nmaxRetries: 3\n");
    assert_eq!(found(&checked)[0].1, "retries-not-read");
}

/// Its settings are names and values.
#[test]
fn retries_of_a_component_of_dapr_are_told() {
    let checked = of(
        "a.yaml",
        "apiVersion: dapr.io/v1alpha1\nkind: Component\nmetadata: {name: a}\nspec:\n  type: pubsub.kafka\n  metadata:\n  \
         - name: brokers\n    value: a\n  - name: consumeRetryInterval\n    value: 200ms\n  - name: maxRetries\n    value: \"-1\"\n",
    );
    assert_eq!(
        found(&checked),
        [(9, "retries-not-read", Severity::Warning)]
    );
    let sentence = &checked.findings[0].sentence;
    assert!(
        sentence.starts_with("`spec.metadata.consumeRetryInterval` and `maxRetries` in line 11"),
        "{sentence}"
    );
}

/// As the documentation of Envoy Gateway has it for a JWKS and an issuer.
#[test]
fn envoy_gateway_has_retries_in_settings_of_a_backend() {
    let checked = of(
        "a.yaml",
        "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: SecurityPolicy\nmetadata: {name: a}\nspec:\n  oidc:\n    provider:\n      \
         backendSettings:\n        retry:\n          numRetries: 3\n",
    );
    assert_eq!(
        found(&checked),
        [(8, "retries-not-read", Severity::Warning)]
    );
}

#[test]
fn a_log_that_tells_of_attempts_sets_none() {
    for text in [
        "accessLog:\n  filters:\n    retryAttempts: true\n",
        "http:\n  routers: {}\naccessLog:\n  filters: {retryAttempts: true}\n",
    ] {
        let checked = of("a.yaml", text);
        let codes = found(&checked);
        assert!(
            codes.iter().all(|it| it.1 != "retries-not-read"),
            "{checked:#?}"
        );
    }
}

/// Whether something is told to be settings of retries that are not read, and as a warning.
fn is_named(name: &str, text: &str) -> bool {
    let checked = of(name, text);
    let told = found(&checked);
    told.iter()
        .any(|it| (it.1, it.2) == ("retries-not-read", Severity::Warning))
}

#[test]
fn headers_that_have_envoy_repeat_are_told_wherever_they_are_added() {
    let service = |headers: &str| {
        format!(
            "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: a}}\nspec:\n  hosts: [a]\n  http:\n  \
             - route: [{{destination: {{host: a}}}}]\n    retries: {{attempts: 0}}\n    {headers}\n"
        )
    };
    for text in [
        service("headers: {request: {set: {x-envoy-retry-on: 5xx}}}"),
        service("headers: {request: {add: {x-envoy-max-retries: \"9\"}}}"),
        "virtual_hosts: [{name: a, domains: [a], request_headers_to_add: [{header: {key: x-envoy-retry-on, value: 5xx}}]}]".into(),
        "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nspec: {routes: [{requestHeadersPolicy: {set: [{name: x-envoy-max-retries, value: \"9\"}]}}]}".into(),
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nspec: {rules: [{filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: x-envoy-retry-on, value: 5xx}]}}]}]}".into(),
    ] {
        assert!(is_named("a.yaml", &text), "{text}\n{:?}", of("a.yaml", &text));
    }
    for text in [
        service("headers: {request: {set: {x-retry-count: \"1\"}}}"),
        service("match: [{headers: {x-envoy-retry-on: {exact: 5xx}}}]"),
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nspec: {rules: [{matches: [{headers: [{name: x-envoy-retry-on, value: 5xx}]}]}]}".into(),
    ] {
        let checked = of("a.yaml", &text);
        let told = found(&checked);
        assert!(told.iter().all(|it| !["retries-not-read", "no-such-field"].contains(&it.1)), "{text}\n{told:?}");
    }
}

#[test]
fn settings_in_texts_and_in_lists_of_names_are_told() {
    let ingress = |annotation: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  annotations:\n    {annotation}\n"
        )
    };
    for text in [
        ingress("nginx.ingress.kubernetes.io/configuration-snippet: |\n      proxy_next_upstream error non_idempotent;"),
        ingress("nginx.ingress.kubernetes.io/configuration-snippet: \"grpc_next_upstream_tries 9;\""),
        ingress("haproxy-ingress.github.io/config-backend: |\n      http-reuse safe\n      retries 9"),
        ingress("haproxy.org/backend-config-snippet: |\n      retry-on all-retryable-errors"),
        "apiVersion: kuma.io/v1alpha1\nkind: MeshProxyPatch\nspec: {default: {appendModifications: [{virtualHost: {value: \"a: 1\\nretry_policy: {retry_on: 5xx}\"}}]}}".into(),
        "kind: Deployment\nspec: {containers: [{env: [{name: KONG_NGINX_PROXY_PROXY_NEXT_UPSTREAM, value: error}]}]}".into(),
        "kind: Kustomization\npatches:\n- target: {kind: VirtualService}\n  patch: |-\n    - op: replace\n      path: /spec/http/0/retries/attempts\n      value: 5\n".into(),
        "kind: Kustomization\nconfigMapGenerator:\n- {name: env, literals: [LOG=info, HTTP_MAX_RETRIES=5]}\n".into(),
        "services: {api: {image: api, environment: [DB_RETRY_ATTEMPTS=10]}}\n".into(),
        "kind: EnvoyPatchPolicy\nspec: {jsonPatches: [{operation: {op: add, path: /virtual_hosts/0/retry_policy, value: {a: 1}}}]}".into(),
    ] {
        assert!(is_named("a.yaml", &text), "{text}\n{:?}", of("a.yaml", &text));
    }
    assert!(is_named(
        "traefik.toml",
        "[entryPoints]\n[retry]\nattempts = 3\n"
    ));
    for text in [
        ingress("description: |\n      what retries, and when\n      retries are made"),
        ingress("script: |\n      # proxy_next_upstream off;"),
        ingress("list: |\n      path: /var/log/app"),
    ] {
        assert!(!is_named("a.yaml", &text), "{text}");
    }
}

#[test]
fn filters_of_a_route_that_repeat_are_told() {
    let route = |filters: &str| {
        let text = format!(
            "apiVersion: zalando.org/v1\nkind: RouteGroup\nmetadata: {{name: a}}\nspec: {{routes: [{{pathSubtree: /, {filters}}}]}}\n"
        );
        let checked = of("a.yaml", &text);
        checked
            .findings
            .iter()
            .any(|it| it.code == "retries-not-read")
    };
    assert!(route("filters: ['retry()']"));
    assert!(route("filters: ['setPath(\"/\")', 'retry(3)']"));
    assert!(!route("filters: ['setPath(\"/\")']"));
    assert!(!route("notes: ['retry() is on']"));
}
