//! Which system is a file of, where it holds files or resources of others?

use becalm_check::{As, Checked, File, Settings, Severity, check};

const SERVICE: &str = "\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: orders}
spec:
  hosts: [orders]
  http:
  - route: [{destination: {host: orders}}]
    retries: {attempts: 40}
";

const NGINX: &str = "\
apiVersion: v1
kind: ConfigMap
data:
  nginx.conf: |
    upstream app {
      server 10.0.0.1;
      server 10.0.0.2;
    }
    server {
      location / { proxy_pass http://app; }
    }
";

const HAPROXY: &str = "\
apiVersion: v1
kind: ConfigMap
data:
  haproxy.cfg: |
    defaults
      mode http
    backend app
      server a 10.0.0.1:80
";

fn of(name: &str, text: &str) -> Checked {
    check(&[File::new(name, text)], &Settings::default())
}

fn codes(checked: &Checked) -> Vec<&str> {
    checked.findings.iter().map(|it| it.code).collect()
}

#[test]
fn words_of_haproxy_may_be_apart_by_tabs() {
    let text = "backend\tapp\n\tserver\ta\t10.0.0.1:80\n\tretries\t5\n";
    for text in [text, &text.replace('\t', " ")] {
        let checked = of("app", text);
        let attempts = checked.mappings.iter().map(|it| it.policy.attempts);
        assert_eq!(attempts.collect::<Vec<_>>(), [6], "{checked:?}");
    }
}

#[test]
fn a_file_within_a_resource_is_not_taken_for_the_file() {
    for inner in [NGINX, HAPROXY] {
        for name in ["deploy.yaml", "/dev/stdin"] {
            let checked = of(name, &format!("{inner}---\n{SERVICE}"));
            let attempts: Vec<_> = checked
                .mappings
                .iter()
                .map(|it| (it.system, it.policy.attempts))
                .collect();
            assert!(attempts.contains(&("istio", 41)), "{name}: {checked:?}");
            assert!(!codes(&checked).contains(&"refused"), "{checked:?}");
        }
        let held = of("map.yaml", inner);
        assert_eq!(held.mappings.len(), 1, "{held:?}");
        assert_eq!(held.mappings[0].file, "map.yaml");
    }
}

#[test]
fn a_system_that_is_named_reads_what_no_other_does() {
    let mut settings = Settings::default();
    settings.versions = vec![As::parse("nginx").unwrap()];
    let own = "upstream a { server 10.0.0.1; server 10.0.0.2; } server { location / { proxy_pass http://a; } }";
    let of = |text| check(&[File::new("odd.yaml", text)], &settings);
    assert_eq!(of(own).mappings[0].system, "nginx");
    assert_eq!(of(SERVICE).mappings[0].system, "istio");
}

/// As `becalm check --as envoy other.yaml`: no success.
#[test]
fn a_system_that_is_named_and_finds_nothing_is_told() {
    let mut settings = Settings::default();
    settings.versions = vec![As::parse("envoy").unwrap()];
    for (name, text) in [("a.yaml", "a: 1\n"), ("a.yaml", "a: 1\n---\nb: 2\n")] {
        let checked = check(&[File::new(name, text)], &settings);
        let told: Vec<_> = checked
            .findings
            .iter()
            .map(|it| (it.code, it.severity.as_str()))
            .collect();
        assert_eq!(told, [("unknown-system", "error")], "{text}");
    }
}

#[test]
fn what_a_map_of_configuration_holds_keeps_its_place() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n}\ndata:\n  nginx.conf: |\n    events {}\n    http {\n      upstream a { server 10.0.0.1; server 10.0.0.2; }\n      \
                server { location / { proxy_pass http://a; proxy_next_upstream error non_idempotent; } }\n    }\n  application.properties: \"resilience4j.retry.instances.a.maxAttempts=4\\n\"\n";
    let checked = of("map.yaml", text);
    let told: Vec<_> = checked
        .mappings
        .iter()
        .map(|it| (it.system, it.span.line, it.policy.attempts))
        .collect();
    assert_eq!(
        told,
        [("nginx", 9, 2), ("resilience4j", 11, 4)],
        "{checked:?}"
    );
    let grow = checked
        .findings
        .iter()
        .find(|it| it.code == "attempts-grow-with-servers")
        .unwrap();
    let line = text.lines().nth(grow.span.line - 1).unwrap();
    let place: String = line
        .chars()
        .skip(grow.span.column - 1)
        .take(grow.span.length)
        .collect();
    assert_eq!(place, "proxy_next_upstream");
}

#[test]
fn properties_of_java_are_read_as_yaml_is() {
    let text = "spring.cloud.gateway.server.webflux.routes[0].id=a\nspring.cloud.gateway.server.webflux.routes[0].uri=http://a\nspring.cloud.gateway.server.webflux.routes[0].filters[0]=Retry=40\n";
    let checked = of("application.properties", text);
    assert_eq!(checked.mappings.len(), 1, "{checked:?}");
    assert_eq!(checked.mappings[0].policy.attempts, 41);
    let other = of(
        "application.properties",
        "spring.kafka.producer.retries=3\n",
    );
    assert_eq!(codes(&other), ["retries-not-read"]);
}

#[test]
fn the_items_of_a_list_are_resources() {
    let item = SERVICE.replace('\n', "\n  ");
    for kind in ["List", "VirtualServiceList"] {
        let list = format!("apiVersion: v1\nkind: {kind}\nitems:\n- {item}");
        let checked = of("list.yaml", &list);
        assert_eq!(checked.mappings[0].policy.attempts, 41, "{checked:?}");
        assert_eq!(checked.mappings[0].span.line, 11);
    }
    assert_eq!(
        codes(&of("list.yaml", "kind: List\nitems: []\n")),
        ["unknown-system"]
    );
}

#[test]
fn a_policy_file_that_is_no_toml_cannot_be_read() {
    for (text, line) in [("attempts = 3\nattempts = 4\n", 2), ("base = \"1s\n", 1)] {
        let checked = of("policy.toml", text);
        assert_eq!(codes(&checked), ["cannot-read"], "{text}");
        assert_eq!(checked.findings[0].span.line, line, "{checked:?}");
    }
    assert_eq!(codes(&of("other.toml", "[package]\n")), ["unknown-system"]);
}

/// `istioctl proxy-config routes -o json` and `istioctl proxy-config clusters -o json`.
#[test]
fn what_istioctl_prints_is_of_envoy() {
    let routes = r#"[{"name": "8080", "virtualHosts": [{"name": "a", "routes": [{"match": {"prefix": "/"}, "route":
        {"cluster": "s", "retryPolicy": {"retryOn": "5xx", "numRetries": 9}}}]}]}]"#;
    let clusters = r#"[{"name": "s", "connectTimeout": "10s", "circuitBreakers": {"thresholds": [{"maxRetries": 7}]}}]"#;
    let files = [File::new("r.json", routes), File::new("c.json", clusters)];
    let checked = check(&files, &Settings::default());
    let mapping = &checked.mappings[0];
    assert_eq!((mapping.system, mapping.policy.attempts), ("envoy", 10));
    assert_eq!(mapping.policy.budget.to_string(), "concurrency:0,floor:7");
    assert!(!codes(&checked).contains(&"unknown-system"), "{checked:?}");
}

#[test]
fn annotations_of_linkerd_count_where_it_reads_them() {
    let of_kind = |version: &str, kind: &str| {
        let text = format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: shop\n  annotations: {{retry.linkerd.io/http: 5xx, retry.linkerd.io/limit: \"9\"}}\n"
        );
        of("a.yaml", &text)
    };
    for (version, kind) in [
        ("v1", "Service"),
        ("policy.linkerd.io/v1alpha1", "EgressNetwork"),
        ("policy.linkerd.io/v1beta3", "HTTPRoute"),
        ("gateway.networking.k8s.io/v1", "HTTPRoute"),
        ("gateway.networking.k8s.io/v1", "GRPCRoute"),
    ] {
        let checked = of_kind(version, kind);
        assert_eq!(checked.mappings[0].policy.attempts, 10, "{kind}");
    }
    for (version, kind) in [("v1", "Namespace"), ("apps/v1", "Deployment")] {
        let checked = of_kind(version, kind);
        assert_eq!(
            (codes(&checked), checked.mappings.len()),
            (vec!["key-not-read"], 0)
        );
    }
}

#[test]
fn a_section_of_the_application_is_none_of_the_handler() {
    let retry = |fields: &str| {
        of(
            "appsettings.json",
            &format!("{{\"Polly\": {{\"Retry\": {{{fields}}}}}}}"),
        )
    };
    let own = retry("\"MaxRetryAttempts\": 3, \"DelaySeconds\": 2");
    assert_eq!(
        (codes(&own), own.mappings.len()),
        (vec!["retries-not-read"], 0)
    );
    assert_eq!(retry("\"MaxRetryAttempts\": 3").mappings, []);
    for (fields, many) in [
        ("\"maxRetryAttempts\": 3, \"Delay\": \"00:00:02\"", 1),
        ("\"MaxRetryAttemps\": 3, \"UseJitter\": true", 1),
        (
            "\"MaxRetryAttempts\": 3, \"UseJitter\": true, \"DelaySeconds\": 2",
            0,
        ),
    ] {
        assert_eq!(retry(fields).mappings.len(), many, "{fields}");
    }
}

/// What is named on purpose beside configurations, by a glob that takes all.
#[test]
fn prose_and_rules_of_make_are_of_no_system() {
    let make = "RETRIES := 3\nall:\n\tcurl --retry 5 http://x\n";
    for (name, text) in [
        (
            "README.md",
            "# Retries\n\nWe set `retries: 3`: prose: with colons.\n",
        ),
        ("docs/a.md", "---\nretries: 3\n---\n# Retries\n"),
        ("a.MD", "- retries: 3\n- attempts are good\n"),
        ("a.md", "{{ template }} retries\n"),
        ("a.md", "Retries: [1\nx\n"),
        (
            "a.md",
            "```nginx\nhttp { upstream a { server b; } }\nproxy_next_upstream error;\n```\n",
        ),
        ("a.rst", "Retries\n=======\n\nretries: 3\n"),
        ("a.adoc", "= Retries\nretries: 3\n"),
        ("Makefile", make),
        ("deploy/Makefile", make),
        ("GNUmakefile", make),
        ("a.mk", make),
        ("a.mk", "x:\n\techo {{ retries }}\n"),
    ] {
        let checked = check(&[File::new(name, text)], &Settings::default());
        let told: Vec<_> = checked
            .findings
            .iter()
            .map(|it| (it.code, it.severity))
            .collect();
        assert_eq!(told, [("unknown-system", Severity::Note)], "{name}: {text}");
        let key = name.rsplit('/').next().unwrap_or(name);
        let lines = text.lines().map(|it| format!("    {it}\n"));
        let map = format!(
            "kind: ConfigMap\ndata:\n  {key}: |\n{}",
            lines.collect::<String>()
        );
        let checked = check(&[File::new("map.yaml", &map)], &Settings::default());
        let told: Vec<_> = checked
            .findings
            .iter()
            .map(|it| (it.code, it.severity))
            .collect();
        assert_eq!(told, [("unknown-system", Severity::Note)], "{map}");
    }
    let named = check(
        &[File::new("Makefile.yaml", "retries: 3\n")],
        &Settings::default(),
    );
    assert_eq!(named.findings[0].code, "retries-not-read");
}
