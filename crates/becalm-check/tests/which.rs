//! Which system is a file of, where it holds files or resources of others?

use becalm_check::{As, Checked, File, Settings, check};

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
fn a_file_within_a_resource_is_not_taken_for_the_file() {
    for inner in [NGINX, HAPROXY] {
        for name in ["deploy.yaml", "/dev/stdin"] {
            let checked = of(name, &format!("{inner}---\n{SERVICE}"));
            let attempts: Vec<_> = checked
                .mappings
                .iter()
                .map(|it| (it.system, it.policy.attempts))
                .collect();
            assert_eq!(attempts, [("istio", 41)], "{name}: {checked:?}");
            assert!(!codes(&checked).contains(&"refused"), "{checked:?}");
        }
        assert_eq!(codes(&of("map.yaml", inner)), ["unknown-system"]);
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
    let of_kind = |kind: &str| {
        let text = format!(
            "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: shop\n  annotations: {{retry.linkerd.io/http: 5xx, retry.linkerd.io/limit: \"9\"}}\n"
        );
        of("a.yaml", &text)
    };
    for kind in ["Service", "EgressNetwork", "HTTPRoute", "GRPCRoute"] {
        assert_eq!(of_kind(kind).mappings[0].policy.attempts, 10, "{kind}");
    }
    for kind in ["Namespace", "Deployment"] {
        let checked = of_kind(kind);
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
    for fields in [
        "\"maxRetryAttempts\": 3, \"Delay\": \"00:00:02\"",
        "\"MaxRetryAttempts\": 3, \"UseJitter\": true, \"DelaySeconds\": 2",
    ] {
        assert_eq!(retry(fields).mappings.len(), 1, "{fields}");
    }
}
