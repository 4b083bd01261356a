//! Is a value of the type that the schema of a resource wants?

mod asked;

use asked::of;

const CONTOUR: &str = "\
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shop}
spec:
  routes:
  - services: [{name: orders, port: 80}]
    timeoutPolicy: {response: infinity}
    retryPolicy: {count: 3, perTryTimeout: 1s, retryOn: [retriable-status-codes], retriableStatusCodes: [503]}
";

const ENVOY_GATEWAY: &str = "\
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}]
  circuitBreaker: {maxParallelRetries: 5}
  retry: {numRetries: 3, retryOn: {httpStatusCodes: [503]}, perRetry: {timeout: 1s}}
";

const GATEWAY_API: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  rules:
  - backendRefs: [{name: orders, port: 80}]
    timeouts: {request: 9s}
    retry: {attempts: 3, codes: [503], backoff: 1s}
";

const KUMA: &str = "\
apiVersion: kuma.io/v1alpha1
kind: MeshRetry
metadata: {name: shop}
spec:
  to:
  - targetRef: {kind: MeshService, name: orders}
    default: {http: {numRetries: 3, perTryTimeout: 1s}}
";

const LINKERD: &str = "\
apiVersion: linkerd.io/v1alpha2
kind: ServiceProfile
metadata: {name: orders.shop.svc.cluster.local}
spec:
  retryBudget: {retryRatio: 0.2, minRetriesPerSecond: 1, ttl: 10s}
  routes:
  - {name: one, condition: {method: GET, pathRegex: /one}, isRetryable: true, timeout: 5s}
";

const DAPR: &str = "\
apiVersion: dapr.io/v1alpha1
kind: Resiliency
metadata: {name: shop}
spec:
  policies:
    retries: {few: {policy: constant, duration: 1s, maxRetries: 3}}
  targets: {apps: {orders: {retry: few}}}
";

const ISTIO: &str = "\
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop}
spec:
  hosts: [orders]
  http:
  - route: [{destination: {host: orders}}]
    timeout: 9s
    retries: {attempts: 3, perTryTimeout: 2s, retryOn: 5xx}
";

const DESTINATION_RULE: &str = "\
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: shop}
spec:
  host: orders
  trafficPolicy:
    connectionPool: {http: {maxRetries: 7}}
    retryBudget: {percent: 10, minRetryConcurrency: 2}
";

const MIDDLEWARE: &str = "\
apiVersion: traefik.io/v1alpha1
kind: Middleware
metadata: {name: again}
spec:
  retry: {attempts: 3, initialInterval: 100ms, timeout: 5, status: ['503'], retryNonIdempotentMethod: true}
";

const CONSTRAINT: &str = "\
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackendTrafficPolicy
metadata: {name: shop}
spec:
  targetRefs: [{group: '', kind: Service, name: orders}]
  retryConstraint: {budget: {percent: 20, interval: 10s}, minRetryRate: {count: 10, interval: 1s}}
";

/// The custom resources' schemas of August 2026.
#[test]
fn the_api_server_refuses_another_type() {
    for (text, value, other) in [
        (CONTOUR, "response: infinity", "response: 5"),
        (ENVOY_GATEWAY, "timeout: 1s", "timeout: 0x5"),
        (GATEWAY_API, "request: 9s", "request: 9"),
        (KUMA, "perTryTimeout: 1s", "perTryTimeout: 1"),
        (LINKERD, "isRetryable: true", "isRetryable: 'yes'"),
        (LINKERD, "isRetryable: true", "isRetryable: 1"),
        (LINKERD, "ttl: 10s", "ttl: 10"),
        (DAPR, "duration: 1s", "duration: 5"),
        (DAPR, "policy: constant", "policy: on"),
        (ISTIO, "retryOn: 5xx", "retryOn: 503"),
        (ISTIO, "perTryTimeout: 2s", "perTryTimeout: 2"),
        (
            DESTINATION_RULE,
            "minRetryConcurrency: 2",
            "minRetryConcurrency: '2'",
        ),
        (MIDDLEWARE, "attempts: 3", "attempts: '3'"),
        (MIDDLEWARE, "['503']", "[503]"),
        (MIDDLEWARE, "Method: true", "Method: 'true'"),
        (CONSTRAINT, "percent: 20", "percent: '20'"),
        (CONSTRAINT, "count: 10", "count: '10'"),
        (CONSTRAINT, "interval: 10s", "interval: 10"),
        (CONTOUR, "count: 3", "count: '3'"),
        (CONTOUR, "[503]", "['503']"),
        (CONTOUR, "perTryTimeout: 1s", "perTryTimeout: 0"),
        (ENVOY_GATEWAY, "numRetries: 3", "numRetries: '3'"),
        (ENVOY_GATEWAY, "Retries: 5", "Retries: '5'"),
        (ENVOY_GATEWAY, "[503]", "['503']"),
        (ENVOY_GATEWAY, "timeout: 1s", "timeout: 5"),
        (GATEWAY_API, "attempts: 3", "attempts: '3'"),
        (GATEWAY_API, "[503]", "['503']"),
        (GATEWAY_API, "backoff: 1s", "backoff: 0"),
        (KUMA, "numRetries: 3", "numRetries: '3'"),
        (LINKERD, "isRetryable: true", "isRetryable: 'true'"),
        (LINKERD, "retryRatio: 0.2", "retryRatio: '0.2'"),
        (LINKERD, "PerSecond: 1", "PerSecond: '1'"),
        (DAPR, "maxRetries: 3", "maxRetries: '3'"),
        (ISTIO, "attempts: 3", "attempts: '3'"),
        (ISTIO, "timeout: 9s", "timeout: 5"),
    ] {
        let told = |text: &str| {
            let checked = of(&[("file.yaml", text)]);
            let refused = |it: &&becalm_check::Finding| it.code == "refused";
            let refused = checked.findings.iter().filter(refused);
            refused.map(|it| it.sentence.clone()).collect::<Vec<_>>()
        };
        assert_eq!(told(text), [""; 0], "{text}");
        let told = told(&text.replace(value, other));
        assert_eq!(told.len(), 1, "{other} in {text}: {told:?}");
        assert!(told[0].contains("API server refuses"), "{told:?}");
    }
}

/// `x-kubernetes-int-or-string`, what Kubernetes' parser makes of words and numbers, and what a tool fills in.
#[test]
fn what_the_api_server_takes_is_not_refused() {
    for (text, value, other) in [
        (MIDDLEWARE, "timeout: 5", "timeout: '5'"),
        (MIDDLEWARE, "initialInterval: 100ms", "initialInterval: 1"),
        (MIDDLEWARE, "attempts: 3", "attempts: '{{ .Values.x }}'"),
        (LINKERD, "isRetryable: true", "isRetryable: yes"),
        (LINKERD, "retryRatio: 0.2", "retryRatio: 1"),
        (CONTOUR, "count: 3", "count: '{{ x }}'"),
        (CONTOUR, "count: 3", "count: 3.0"),
        (ISTIO, "attempts: 3", "attempts: \"{{ x }}\""),
        (ISTIO, "attempts: 3", "attempts: 0x3"),
        (KUMA, "numRetries: 3", "numRetries: 3e0"),
        (DAPR, "maxRetries: 3", "maxRetries: '{{ .Values.retries }}'"),
    ] {
        let checked = of(&[("file.yaml", &text.replace(value, other))]);
        let refused = |it: &&becalm_check::Finding| it.code == "refused";
        assert_eq!(checked.findings.iter().find(refused), None, "{other}");
    }
}

/// `metadata.annotations` and the data of a `ConfigMap` are texts: YAML makes something else of a number or a flag without quotes.
#[test]
fn an_annotation_is_a_text() {
    let nginx = "nginx.ingress.kubernetes.io/";
    let cases = [
        (
            "networking.k8s.io/v1",
            "Ingress",
            nginx,
            "proxy-next-upstream-tries",
            "3",
        ),
        (
            "networking.k8s.io/v1",
            "Ingress",
            nginx,
            "proxy-next-upstream",
            "off",
        ),
        (
            "networking.k8s.io/v1",
            "Ingress",
            nginx,
            "proxy-next-upstream-tries",
            "0x3",
        ),
        (
            "networking.k8s.io/v1",
            "Ingress",
            nginx,
            "proxy-next-upstream-tries",
            "1_0",
        ),
        ("v1", "Service", "retry.linkerd.io/", "limit", "2"),
        ("v1", "Service", "retry.linkerd.io/", "http", "off"),
        ("v1", "Service", "konghq.com/", "retries", "3"),
        (
            "networking.k8s.io/v1",
            "Ingress",
            "projectcontour.io/",
            "num-retries",
            "3",
        ),
    ];
    for (version, kind, prefix, name, value) in cases {
        let told = |value: &str| {
            let text = format!(
                "apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: a\n  annotations:\n    {prefix}{name}: {value}\n"
            );
            let checked = of(&[("file.yaml", &text)]);
            let refused = checked.findings.into_iter().map(|it| it.sentence);
            refused
                .filter(|it| it.starts_with("Kubernetes refuses"))
                .count()
        };
        assert_eq!(told(value), 1, "{prefix}{name}: {value}");
        assert_eq!(told(&format!("'{value}'")), 0, "{prefix}{name}: '{value}'");
    }
}

#[test]
fn the_data_of_a_config_map_is_text() {
    for (name, value) in [
        ("proxy-next-upstream-tries", "3"),
        ("retry-non-idempotent", "false"),
        ("proxy-stream-next-upstream", "off"),
    ] {
        let told = |value: &str| {
            let text = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: ingress-nginx-controller}}\ndata:\n  proxy-next-upstream: error\n  {name}: {value}\n"
            );
            let checked = of(&[("file.yaml", &text)]);
            let refused = checked.findings.into_iter().map(|it| it.sentence);
            refused
                .filter(|it| it.starts_with("Kubernetes refuses"))
                .count()
        };
        assert_eq!(told(value), 1, "{name}: {value}");
        assert_eq!(told(&format!("'{value}'")), 0, "{name}: '{value}'");
    }
}
