//! Is what `kubectl get -A -o yaml` prints read?

use becalm_check::{Checked, File, Settings, System, check};

const LIST: &str = r#"apiVersion: v1
kind: List
metadata:
  resourceVersion: ""
items:
- apiVersion: networking.istio.io/v1
  kind: VirtualService
  metadata:
    name: orders
    namespace: shop
    annotations:
      kubectl.kubernetes.io/last-applied-configuration: |
        {"apiVersion":"networking.istio.io/v1","kind":"VirtualService","spec":{"http":[{"retries":{"attempts":9}}]}}
    managedFields:
    - apiVersion: networking.istio.io/v1
      fieldsType: FieldsV1
      fieldsV1:
        f:spec:
          f:http: {}
          f:retries: {f:maxRetries: {}}
      manager: kubectl-client-side-apply
  spec:
    hosts: [orders]
    http:
    - route: [{destination: {host: orders}}]
      timeout: 5s
      retries: {attempts: 3, perTryTimeout: 1s, retryOn: 5xx}
- apiVersion: v1
  kind: Service
  metadata: {name: plain, namespace: shop}
  spec: {ports: [{port: 80}]}
- apiVersion: v1
  kind: Service
  metadata:
    name: stock
    namespace: depot
    annotations: {retry.linkerd.io/http: 5xx, retry.linkerd.io/limit: "2"}
  spec: {ports: [{port: 80}]}
"#;

/// The same.
const JSON: &str = r#"{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [{"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "orders", "namespace": "shop", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"apiVersion\":\"networking.istio.io/v1\",\"kind\":\"VirtualService\",\"spec\":{\"http\":[{\"retries\":{\"attempts\":9}}]}}\n"}, "managedFields": [{"apiVersion": "networking.istio.io/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:http": {}, "f:retries": {"f:maxRetries": {}}}}, "manager": "kubectl-client-side-apply"}]}, "spec": {"hosts": ["orders"], "http": [{"route": [{"destination": {"host": "orders"}}], "timeout": "5s", "retries": {"attempts": 3, "perTryTimeout": "1s", "retryOn": "5xx"}}]}}, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "plain", "namespace": "shop"}, "spec": {"ports": [{"port": 80}]}}, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "stock", "namespace": "depot", "annotations": {"retry.linkerd.io/http": "5xx", "retry.linkerd.io/limit": "2"}}, "spec": {"ports": [{"port": 80}]}}]}"#;

fn of(text: &str) -> Checked {
    check(&[File::new("stdin", text)], &Settings::default())
}

#[test]
fn a_list_of_a_cluster_is_read_once_and_each_finding_names_its_resource() {
    let checked = of(LIST);
    let attempts: Vec<_> = checked
        .mappings
        .iter()
        .map(|it| it.policy.attempts)
        .collect();
    assert_eq!(attempts, [4, 3], "{checked:#?}");
    let about: Vec<_> = checked
        .findings
        .iter()
        .map(|it| (it.code, &*it.sentence))
        .collect();
    assert!(!about.is_empty());
    for (code, sentence) in &about {
        let names = ["VirtualService shop/orders: ", "Service depot/stock: "];
        assert!(
            names.iter().any(|it| sentence.starts_with(it)),
            "{code}: {sentence}"
        );
        assert!(
            !["retries-not-read", "no-such-field"].contains(code),
            "{sentence}"
        );
    }
    assert!(
        about.iter().any(|it| it.1.starts_with("Service depot")),
        "{about:#?}"
    );
    // As JSON, in one line.
    let json = of(JSON);
    let told = |it: &Checked| {
        let all = it.findings.iter().map(|it| (it.code, it.sentence.clone()));
        let mut all: Vec<_> = all.collect();
        all.sort();
        all
    };
    assert_eq!(told(&json), told(&checked));
}

#[test]
fn each_kind_is_named_as_kubectl_names_it() {
    let kinds = System::kinds();
    for kind in [
        "configmaps",
        "services",
        "virtualservices.networking.istio.io",
        "ingresses.networking.k8s.io",
    ] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert!(kinds.is_sorted() && kinds.iter().all(|it| *it == it.to_lowercase()));
}
