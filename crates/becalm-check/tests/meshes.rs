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
