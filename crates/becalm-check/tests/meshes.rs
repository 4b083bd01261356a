//! What Contour and Kuma make of their resources, read in their sources: what they leave to Envoy, and what they do not.

use becalm_check::{Checked, File, Settings, Severity, check};

fn of(text: &str) -> Checked {
    check(&[File::new("a.yaml", text)], &Settings::default())
}

fn contour(retry: &str) -> Checked {
    of(&format!(
        "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {{name: a}}\nspec:\n  routes:\n  - services: [{{name: orders}}]\n    \
         retryPolicy: {retry}\n"
    ))
}

fn kuma(conf: &str) -> Checked {
    of(&format!(
        "apiVersion: kuma.io/v1alpha1\nkind: MeshRetry\nmetadata: {{name: a}}\nspec:\n  to:\n  - targetRef: {{kind: Mesh}}\n    default: {conf}\n"
    ))
}

#[test]
fn a_count_of_zero_of_contour_is_one_retry() {
    let zero = contour("{count: 0, retryOn: [connect-failure]}");
    assert_eq!(zero.mappings[0].policy.attempts, 2);
    let told = zero
        .findings
        .iter()
        .find(|it| it.code == "repeats-by-default");
    assert_eq!(told.map(|it| it.severity), Some(Severity::Warning));
    let off = contour("{count: -1}");
    assert!(
        off.mappings.is_empty() && off.findings.is_empty(),
        "{off:#?}"
    );
    let default = contour("{count: 2}");
    let lists = default.mappings[0].policy.retry_on.clone().unwrap();
    assert!(lists.to_string().contains("statuses 5xx"), "{lists}");
}

#[test]
fn statuses_alone_leave_the_default_of_kuma() {
    let alone = kuma("{http: {retryOn: ['429']}}");
    let lists = alone.mappings[0].policy.retry_on.clone().unwrap();
    assert!(
        lists.to_string().contains("statuses 429, 502-504"),
        "{lists}"
    );
    assert!(alone.findings.iter().any(|it| it.code == "statuses-wider"));
    let both = kuma("{http: {retryOn: ['429', ConnectFailure, HttpMethodGet]}}");
    let lists = both.mappings[0].policy.retry_on.clone().unwrap();
    assert_eq!(
        lists.to_string(),
        "methods GET; statuses 429; codes none; failures connect, connect-timeout"
    );
    assert!(both.findings.iter().all(|it| it.code != "statuses-wider"));
}

/// The time-out of a request stands in another resource.
#[test]
fn a_mesh_timeout_may_bound_what_kuma_repeats() {
    let checked = kuma("{http: {numRetries: 3, retryOn: [ConnectFailure]}}");
    let told = checked
        .findings
        .iter()
        .find(|it| it.code == "no-total-time")
        .unwrap();
    assert!(told.sentence.contains("nothing that is read here bounds"));
    assert!(told.remedy.contains("MeshTimeout"), "{}", told.remedy);
}

#[test]
fn a_bound_of_contour_s_own_configuration_is_no_fault() {
    let text = "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\nmetadata: {name: c}\nspec: {envoy: {cluster: {circuitBreakers: {maxRetries: 50}}}}\n";
    let checked = of(text);
    assert!(checked.findings.is_empty(), "{checked:?}");
}

#[test]
fn what_helps_in_kuma_is_of_the_part_that_repeats() {
    let remedy = |checked: Checked| {
        let mut found = checked.findings.into_iter();
        let found = found.find(|it| it.code == "repeats-non-idempotent");
        found.expect("told").remedy
    };
    let http = remedy(kuma("{http: {numRetries: 2}}"));
    assert!(
        http.contains("`HttpMethodGet`") && !http.contains("grpc"),
        "{http}"
    );
    let grpc = remedy(kuma("{grpc: {numRetries: 2}}"));
    assert_eq!(
        grpc,
        "leave all but Unavailable and ResourceExhausted (of a `Retry`: unavailable and resource_exhausted) out of `retryOn` of `grpc`"
    );
    let old = remedy(of(
        "type: Retry\nname: a\nmesh: default\ndestinations: [{match: {kuma.io/service: '*'}}]\nconf: {http: {numRetries: 2}}\n",
    ));
    assert!(old.contains("`retriableMethods`"), "{old}");
}

#[test]
fn a_policy_that_envoy_gateway_refuses_is_told_once() {
    let told = |trigger: &str| -> Vec<_> {
        let checked = of(&format!(
            "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {{name: a}}\nspec:\n  \
             retry: {{retryOn: {{triggers: [{trigger}], httpStatusCodes: [503]}}}}\n"
        ));
        let codes = checked.findings.into_iter().map(|it| it.code);
        let asked = ["refused", "never-retries", "key-not-read"];
        codes.filter(|it| asked.contains(it)).collect()
    };
    assert_eq!(told("retriable-headers"), ["refused"]);
    assert_eq!(told("conect-failure"), ["refused"]);
    assert_eq!(told("connect-failure"), ["key-not-read"]);
}

#[test]
fn a_large_budget_is_a_warning_where_the_file_sets_it() {
    let severity = |retry: &str, code: &str| {
        let checked = of(&format!(
            "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {{name: a}}\nspec:\n  \
             targetRefs: [{{kind: HTTPRoute, name: a}}]\n{retry}"
        ));
        let large = checked.findings.into_iter().find(|it| it.code == code);
        large.map(|it| it.severity)
    };
    let default = "  retry: {numRetries: 5}\n";
    assert_eq!(severity(default, "large-budget"), Some(Severity::Note));
    let set = |most: u32| format!("{default}  circuitBreaker: {{maxParallelRetries: {most}}}\n");
    let warning = Some(Severity::Warning);
    assert_eq!(severity(&set(400), "large-budget"), warning);
    // What bounds nothing is large: it is told once.
    assert_eq!(severity(&set(1000), "budget-bounds-nothing"), warning);
    assert_eq!(severity(&set(1000), "large-budget"), None);
}
