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

/// The custom resources' schemas of August 2026.
#[test]
fn the_api_server_refuses_another_type() {
    for (text, value, other) in [
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
            let refused = |it: &&becalm_check::Finding| it.sentence.contains("API server refuses");
            checked.findings.iter().filter(refused).count()
        };
        assert_eq!(told(text), 0, "{text}");
        assert_eq!(told(&text.replace(value, other)), 1, "{other} in {text}");
    }
}
