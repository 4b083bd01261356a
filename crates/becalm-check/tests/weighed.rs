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

/// The default of Resilience4j, which has a cap for waits that grow alone.
#[test]
fn a_wait_that_does_not_grow_is_its_longest() {
    for (wait, told) in [("100ms", Severity::Note), ("2s", Severity::Warning)] {
        let text =
            format!("resilience4j.retry.instances.a: {{maxAttempts: 3, waitDuration: {wait}}}\n");
        let checked = of("application.yml", &text);
        assert_eq!(severities(&checked, "no-jitter"), [told], "{wait}");
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

#[test]
fn attempts_without_limit_lack_no_budget_besides() {
    let endless = dapr("{policy: exponential, maxInterval: 15s, maxRetries: -1}");
    let errors = severities(&endless, "unlimited-without-budget");
    assert_eq!(errors, [Severity::Error]);
    assert!(severities(&endless, "no-budget").is_empty());
}

/// A route of Istio with retries.
fn istio(retries: &str) -> Checked {
    let text = format!(
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {{name: a}}\nspec:\n  hosts: [a]\n  http:\n  \
         - {{route: [{{destination: {{host: a}}}}], retries: {{{retries}}}}}\n"
    );
    of("a.yaml", &text)
}

#[test]
fn a_few_attempts_that_each_have_an_end_have_one_together() {
    let total = |retries| severities(&istio(retries), "no-total-time");
    assert_eq!(
        total("attempts: 3, perTryTimeout: 2s, retryOn: connect-failure"),
        [Severity::Note]
    );
    assert_eq!(
        total("attempts: 3, retryOn: connect-failure"),
        [Severity::Warning]
    );
    let long = istio("attempts: 3, perTryTimeout: 40s, retryOn: connect-failure");
    assert_eq!(severities(&long, "no-deadline"), [Severity::Warning]);
}

fn dotnet(options: &str) -> Checked {
    of("appsettings.json", &format!("{{\"Http\": {{{options}}}}}"))
}

#[test]
fn time_outs_of_a_system_are_no_fault_of_the_file() {
    let fills = |options| severities(&dotnet(options), "attempt-timeout-fills-deadline");
    let retry = "\"Retry\": {\"MaxRetryAttempts\": 3, \"UseJitter\": false}";
    assert_eq!(fills(retry), [Severity::Note]);
    let own = format!("{retry}, \"AttemptTimeout\": {{\"Timeout\": \"00:00:10\"}}");
    assert_eq!(fills(&own), [Severity::Warning]);
    let many = retry
        .replace('3', "5")
        .replace("false", "false, \"Delay\": \"00:00:00.1\"");
    assert_eq!(fills(&many), [Severity::Warning]);
}

#[test]
fn attempts_that_the_deadline_cuts_multiply_nothing() {
    let budget = |retry: &str| {
        severities(
            &dotnet(&format!("\"Retry\": {{\"MaxRetryAttempts\": 7, {retry}}}")),
            "no-budget",
        )
    };
    let waits = "\"UseJitter\": false, \"BackoffType\": \"Exponential\"";
    assert_eq!(budget(waits), [Severity::Note]);
    let short = format!("{waits}, \"Delay\": \"00:00:00.1\"");
    assert_eq!(budget(&short), [Severity::Warning]);
}

#[test]
fn what_is_repeated_in_code_is_no_demand_of_the_file() {
    let text = "resilience4j:\n  retry:\n    instances:\n      a:\n        retryExceptions: [java.io.IOException]\n";
    let told = severities(&of("application.yml", text), "repeats-non-idempotent");
    assert_eq!(told, [Severity::Warning]);
}

/// Keys as the structs of Go have them.
#[test]
fn letters_of_another_client_are_one_fault_of_a_config() {
    let policy = "{\"MaxAttempts\": 4, \"InitialBackoff\": \"0.1s\", \"MaxBackoff\": \"1s\", \"BackoffMultiplier\": 2, \
                  \"RetryableStatusCodes\": [\"UNAVAILABLE\"]}";
    let text = format!("{{\"methodConfig\": [{{\"name\": [{{}}], \"retryPolicy\": {policy}}}]}}");
    let checked = of("a.json", &text);
    assert_eq!(severities(&checked, "no-such-field").len(), 5);
    assert_eq!(checked.count(Severity::Error), 1);
}
