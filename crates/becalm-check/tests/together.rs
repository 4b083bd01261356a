//! What of a file stands in another that is named beside it?

use becalm_check::shown::policy_file;
mod asked;

use asked::of;
use becalm_check::{Checked, Severity};

const SERVICE: &str = "\
apiVersion: networking.istio.io/v1
kind: VirtualService
spec:
  http:
  - route: [{destination: {host: orders, subset: new}}]
    timeout: 9s
    retries: {attempts: 2, perTryTimeout: 2s, retryOn: \"503\"}
";

const RULE: &str = "\
apiVersion: networking.istio.io/v1
kind: DestinationRule
spec:
  host: orders.shop.svc.cluster.local
  trafficPolicy:
    outlierDetection: {}
    retryBudget: {percent: 10, minRetryConcurrency: 1}
";

const ROUTES: &str = "\
virtual_hosts:
- name: a
  routes:
  - match: {prefix: /}
    route: {cluster: s, retry_policy: {retry_on: 5xx}}
";

const CLUSTERS: &str = "\
resources:
- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: s
  circuit_breakers:
    thresholds:
    - max_retries: many
    - {priority: HIGH, max_retries: 7}
";

fn budget(checked: &Checked) -> String {
    checked.mappings[0].policy.budget.to_string()
}

#[test]
fn a_destination_rule_bounds_a_service_of_another_file() {
    let alone = of(&[("service.yaml", SERVICE)]);
    assert_eq!(budget(&alone), "none");
    for files in [
        [("service.yaml", SERVICE), ("rule.yaml", RULE)],
        [("rule.yaml", RULE), ("service.yaml", SERVICE)],
    ] {
        let both = of(&files);
        assert_eq!(budget(&both), "concurrency:0.1,floor:1");
        assert!(
            both.findings.iter().all(|it| it.code != "no-budget"),
            "{both:?}"
        );
        let written = policy_file(&both.mappings[0]).unwrap();
        let line = "budget = \"concurrency:0.1,floor:1\" # line 7: 10 % of the requests under way, at least 1 (line 7 of rule.yaml)";
        assert!(written.lines().any(|it| it == line), "{written}");
        assert!(
            written.contains("# - outlierDetection: a breaker for each host (line 6 of rule.yaml)"),
            "{written}"
        );
    }
}

#[test]
fn a_subset_has_its_own_settings_in_place_of_the_rules() {
    let pool = |most: u32| format!("connectionPool: {{http: {{maxRetries: {most}}}}}");
    let rule = format!(
        "{}  subsets:\n  - {{name: old, trafficPolicy: {{{}}}}}\n  - {{name: new, trafficPolicy: {{{}}}}}\n",
        RULE.replace(
            "retryBudget: {percent: 10, minRetryConcurrency: 1}",
            &pool(9)
        ),
        pool(5),
        pool(3)
    );
    let checked = of(&[("both.yaml", &format!("{SERVICE}---\n{rule}"))]);
    assert_eq!(budget(&checked), "concurrency:0,floor:3");
}

#[test]
fn a_cluster_bounds_the_routes_of_another_file() {
    let good = CLUSTERS.replace("many", "12");
    let alone = of(&[("routes.yaml", ROUTES)]);
    assert!(
        alone.findings.iter().any(|it| it.code == "not-seen"),
        "{alone:?}"
    );
    for text in [good.clone(), format!("a: 1\n---\n{good}")] {
        let both = of(&[("routes.yaml", ROUTES), ("clusters.yaml", &text)]);
        assert_eq!(budget(&both), "concurrency:0,floor:12");
        assert!(
            both.findings.iter().all(|it| it.code != "not-seen"),
            "{both:?}"
        );
    }
}

#[test]
fn a_finding_is_of_the_file_in_which_it_stands() {
    let both = of(&[("clusters.yaml", CLUSTERS), ("routes.yaml", ROUTES)]);
    let found: Vec<_> = both
        .findings
        .iter()
        .map(|it| (&*it.file, it.span.line, it.code))
        .collect();
    assert_eq!(found[0], ("clusters.yaml", 6, "refused"));
    assert!(
        found[1..].iter().all(|it| it.0 == "routes.yaml"),
        "{found:?}"
    );
}

/// A cluster whose own policy overrides that of the route.
#[test]
fn a_policy_of_the_cluster_in_another_file_holds() {
    let options = "typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {retry_policy: {retry_on: 5xx}}}";
    let clusters = CLUSTERS.replace(
        "  circuit_breakers:",
        &format!("  {options}\n  circuit_breakers:"),
    );
    let both = of(&[("routes.yaml", ROUTES), ("clusters.yaml", &clusters)]);
    let mapping = &both.mappings[0];
    assert_eq!(mapping.policy.attempts, 2);
    assert!(
        mapping.lost.iter().all(|it| it.what != "retry_policy"),
        "{mapping:?}"
    );
}

#[test]
fn findings_of_the_same_line_of_two_files_are_both_told() {
    let site = |name: &str| {
        format!(
            "upstream {name} {{ server 10.0.0.1; server 10.0.0.2; }}\n\
             server {{ location / {{ proxy_pass http://{name}; proxy_next_upstream error non_idempotent; }} }}\n"
        )
    };
    let (one, two) = (site("one"), site("two"));
    let main = ("nginx.conf", "http {\n  include sites/*.conf;\n}\n");
    let all = of(&[main, ("sites/one.conf", &one), ("sites/two.conf", &two)]);
    let of_file = |file: &str| -> Vec<_> {
        let found = all.findings.iter().filter(|it| it.file == file);
        // Notes about nginx are told once.
        let found = found.filter(|it| it.severity > Severity::Note);
        found.map(|it| (it.span, it.code)).collect()
    };
    assert!(!of_file("sites/one.conf").is_empty(), "{all:?}");
    assert_eq!(of_file("sites/one.conf"), of_file("sites/two.conf"));
}
