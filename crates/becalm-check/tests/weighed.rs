//! Is what is told the danger, and each cause told once?

use becalm_check::{Checked, File, Settings, Severity, check};

fn of(name: &str, text: &str) -> Checked {
    check(&[File::new(name, text)], &Settings::default())
}

fn severities(checked: &Checked, code: &str) -> Vec<Severity> {
    let told = checked.findings.iter().filter(|it| it.code == code);
    told.map(|it| it.severity).collect()
}

/// A policy of Dapr that one app names.
fn dapr(policy: &str) -> Checked {
    let text = format!(
        "apiVersion: dapr.io/v1alpha1\nkind: Resiliency\nmetadata: {{name: r}}\nspec:\n  policies:\n    retries:\n      \
         few: {policy}\n  targets:\n    apps:\n      a: {{retry: few}}\n"
    );
    of("r.yaml", &text)
}

#[test]
fn of_two_dangers_with_one_mend_one_is_told() {
    let many = dapr("{policy: constant, duration: 5s, maxRetries: 20}");
    assert_eq!(severities(&many, "no-growth"), [Severity::Warning]);
    assert!(severities(&many, "no-jitter").is_empty(), "{many:#?}");
    let few = dapr("{policy: constant, duration: 5s, maxRetries: 2}");
    assert!(severities(&few, "no-growth").is_empty(), "{few:#?}");
    assert_eq!(severities(&few, "no-jitter"), [Severity::Warning]);
}

#[test]
fn no_draw_within_a_short_wait_spreads_clients() {
    for (wait, told) in [("50ms", Severity::Note), ("101ms", Severity::Warning)] {
        let policy = format!("{{policy: constant, duration: {wait}, maxRetries: 2}}");
        assert_eq!(severities(&dapr(&policy), "no-jitter"), [told], "{wait}");
    }
}

#[test]
fn a_mesh_has_no_time_out_of_routes() {
    let text = "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nspec:\n  meshConfig:\n    \
                defaultHttpRetryPolicy: {attempts: 3, retryOn: \"connect-failure\"}\n";
    let checked = of("operator.yaml", text);
    assert_eq!(severities(&checked, "no-total-time"), [Severity::Note]);
}

#[test]
fn the_routes_of_a_filter_are_envoys_without_the_filter() {
    let route = "{match: {prefix: /}, route: {cluster: c, retry_policy: {retry_on: reset, num_retries: 2}}}";
    let text = format!(
        "route_config:\n  virtual_hosts:\n  - {{name: b, domains: [\"*\"], routes: [{route}]}}\n"
    );
    let checked = of("a.yaml", &text);
    let read = checked.mappings.iter();
    let read: Vec<_> = read.map(|it| (it.system, it.policy.attempts)).collect();
    assert_eq!(read, [("envoy", 3)]);
}
