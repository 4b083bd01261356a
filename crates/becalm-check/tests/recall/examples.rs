//! What does each system's own documentation show, in words of our own? Each value is another than the default.

/// A file that is a tree, as JSON, which all readers of YAML take.
pub struct Tree {
    pub name: &'static str,
    pub text: &'static str,
    /// Its keys of retries.
    pub keys: &'static [&'static str],
}

pub const TREES: &[Tree] = &[
    Tree {
        name: "envoy.yaml",
        text: r#"{"static_resources": {
            "listeners": [{"name": "in", "address": {"socket_address": {"address": "0.0.0.0", "port_value": 80}},
                "filter_chains": [{"filters": [{"name": "http", "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                    "stat_prefix": "in",
                    "route_config": {"name": "local", "virtual_hosts": [{"name": "shop", "domains": ["*"], "routes": [
                        {"match": {"prefix": "/"}, "route": {"cluster": "orders", "timeout": "5s", "retry_policy": {
                            "retry_on": "connect-failure,refused-stream", "num_retries": 2, "per_try_timeout": "1s",
                            "retry_back_off": {"base_interval": "0.1s", "max_interval": "2s"}}}}]}]},
                    "http_filters": [{"name": "router"}]}}]}]}],
            "clusters": [{"name": "orders", "connect_timeout": "0.5s", "lb_policy": "ROUND_ROBIN",
                "circuit_breakers": {"thresholds": [{"retry_budget": {"budget_percent": {"value": 10.0}, "min_retry_concurrency": 2}}]}}]}}"#,
        keys: &[
            "retry_policy",
            "retry_on",
            "num_retries",
            "per_try_timeout",
            "retry_back_off",
            "retry_budget",
            "min_retry_concurrency",
        ],
    },
    Tree {
        name: "envoy-cluster.yaml",
        text: r#"{"resources": [{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "orders", "type": "EDS",
            "connect_timeout": "0.5s", "eds_cluster_config": {"eds_config": {"ads": {}}},
            "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": {"http2_protocol_options": {}},
                "retry_policy": {"retry_on": "connect-failure,refused-stream", "num_retries": 2, "per_try_timeout": "1s",
                    "retry_back_off": {"base_interval": "0.1s", "max_interval": "2s"}}}},
            "circuit_breakers": {"thresholds": [{"retry_budget": {"budget_percent": {"value": 10.0}, "min_retry_concurrency": 2}}]}}]}"#,
        keys: &[
            "retry_policy",
            "retry_on",
            "num_retries",
            "per_try_timeout",
            "retry_back_off",
            "retry_budget",
        ],
    },
    Tree {
        name: "envoy-filter.yaml",
        text: r#"{"apiVersion": "networking.istio.io/v1alpha3", "kind": "EnvoyFilter", "metadata": {"name": "orders"}, "spec": {
            "configPatches": [{"applyTo": "HTTP_ROUTE", "match": {"context": "SIDECAR_OUTBOUND"},
                "patch": {"operation": "MERGE", "value": {"route": {"timeout": "5s", "retry_policy": {
                    "retry_on": "connect-failure,refused-stream", "num_retries": 3, "per_try_timeout": "1s"}}}}}]}}"#,
        keys: &["retry_policy", "retry_on", "num_retries", "per_try_timeout"],
    },
    Tree {
        name: "istio.yaml",
        text: r#"{"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": {"name": "orders"}, "spec": {
            "hosts": ["orders"], "http": [{"name": "all", "match": [{"uri": {"prefix": "/"}}],
                "route": [{"destination": {"host": "orders", "subset": "v1"}}], "timeout": "5s",
                "retries": {"attempts": 3, "perTryTimeout": "1s", "retryOn": "connect-failure,refused-stream", "retryRemoteLocalities": true}}]}}"#,
        keys: &[
            "retries",
            "attempts",
            "perTryTimeout",
            "retryOn",
            "retryRemoteLocalities",
        ],
    },
    Tree {
        name: "envoy-gateway.yaml",
        text: r#"{"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy", "metadata": {"name": "orders"}, "spec": {
            "targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "orders"}],
            "retry": {"numRetries": 3, "retryOn": {"triggers": ["connect-failure", "refused-stream"]},
                "perRetry": {"timeout": "250ms", "backOff": {"baseInterval": "100ms", "maxInterval": "2s"}}},
            "circuitBreaker": {"retryBudget": {"percent": {"numerator": 10}, "minRetryConcurrency": 2}},
            "timeout": {"http": {"requestTimeout": "5s"}}}}"#,
        keys: &[
            "retry",
            "numRetries",
            "retryOn",
            "perRetry",
            "backOff",
            "retryBudget",
            "minRetryConcurrency",
        ],
    },
    Tree {
        name: "gateway-api.yaml",
        text: r#"{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "orders"}, "spec": {
            "parentRefs": [{"name": "shop"}],
            "rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "/orders"}, "method": "GET"}],
                "timeouts": {"request": "10s", "backendRequest": "2s"},
                "retry": {"attempts": 2, "backoff": "500ms", "codes": [503]},
                "backendRefs": [{"name": "orders", "port": 8080}]}]}}"#,
        keys: &["retry", "attempts", "backoff"],
    },
    Tree {
        name: "linkerd-profile.yaml",
        text: r#"{"apiVersion": "linkerd.io/v1alpha2", "kind": "ServiceProfile",
            "metadata": {"name": "orders.shop.svc.cluster.local", "namespace": "shop"}, "spec": {
            "routes": [{"name": "GET /", "condition": {"method": "GET", "pathRegex": "/.*"}, "isRetryable": true, "timeout": "3s"}],
            "retryBudget": {"retryRatio": 0.1, "minRetriesPerSecond": 1, "ttl": "20s"}}}"#,
        keys: &[
            "isRetryable",
            "retryBudget",
            "retryRatio",
            "minRetriesPerSecond",
        ],
    },
    Tree {
        name: "linkerd.yaml",
        text: r#"{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "stock", "annotations": {
            "retry.linkerd.io/http": "503", "retry.linkerd.io/limit": "2", "retry.linkerd.io/timeout": "400ms",
            "timeout.linkerd.io/request": "5s"}},
            "spec": {"parentRefs": [{"group": "core", "kind": "Service", "name": "stock", "port": 80}],
                "rules": [{"matches": [{"method": "GET"}], "backendRefs": [{"name": "stock", "port": 80}]}]}}"#,
        keys: &[
            "retry.linkerd.io/http",
            "retry.linkerd.io/limit",
            "retry.linkerd.io/timeout",
        ],
    },
    Tree {
        name: "ingress-nginx.yaml",
        text: r#"{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop", "annotations": {
            "nginx.ingress.kubernetes.io/proxy-next-upstream": "error timeout http_503",
            "nginx.ingress.kubernetes.io/proxy-next-upstream-tries": "2",
            "nginx.ingress.kubernetes.io/proxy-next-upstream-timeout": "10",
            "nginx.ingress.kubernetes.io/proxy-read-timeout": "2"}},
            "spec": {"ingressClassName": "nginx", "rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "orders", "port": {"number": 80}}}}]}}]}}"#,
        keys: &[
            "nginx.ingress.kubernetes.io/proxy-next-upstream",
            "nginx.ingress.kubernetes.io/proxy-next-upstream-tries",
            "nginx.ingress.kubernetes.io/proxy-next-upstream-timeout",
        ],
    },
    Tree {
        name: "ingress-nginx-controller.yaml",
        text: r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"}, "data": {
            "proxy-next-upstream": "error timeout http_503", "proxy-next-upstream-tries": "2", "proxy-next-upstream-timeout": "10",
            "proxy-read-timeout": "2", "retry-non-idempotent": "false", "use-forwarded-headers": "true"}}"#,
        keys: &[
            "proxy-next-upstream",
            "proxy-next-upstream-tries",
            "proxy-next-upstream-timeout",
            "retry-non-idempotent",
        ],
    },
    Tree {
        name: "values.yaml",
        text: r#"{"controller": {"replicaCount": 2, "config": {"proxy-next-upstream": "error timeout http_503",
            "proxy-next-upstream-tries": 2, "proxy-next-upstream-timeout": 10, "proxy-read-timeout": 2},
            "service": {"type": "LoadBalancer"}}}"#,
        keys: &[
            "proxy-next-upstream",
            "proxy-next-upstream-tries",
            "proxy-next-upstream-timeout",
        ],
    },
    Tree {
        name: "traefik.yaml",
        text: r#"{"http": {
            "routers": {"orders": {"rule": "Host(`orders.example.com`)", "middlewares": ["again"], "service": "orders"}},
            "middlewares": {"again": {"retry": {"attempts": 3, "initialInterval": "200ms", "timeout": "10s", "status": ["502-504"],
                "disableRetryOnNetworkError": true}}},
            "services": {"orders": {"loadBalancer": {"serversTransport": "quick", "servers": [{"url": "http://10.0.0.1"}, {"url": "http://10.0.0.2"}]}}},
            "serversTransports": {"quick": {"forwardingTimeouts": {"dialTimeout": "1s", "responseHeaderTimeout": "2s"}}}}}"#,
        keys: &[
            "retry",
            "attempts",
            "initialInterval",
            "disableRetryOnNetworkError",
        ],
    },
    Tree {
        name: "traefik-static.yaml",
        text: r#"{"entryPoints": {"web": {"address": ":80", "transport": {"respondingTimeouts": {"readTimeout": "60s"}}}},
            "providers": {"file": {"filename": "/etc/traefik/traefik-static.yaml", "watch": true}, "providersThrottleDuration": "2s"},
            "accessLog": {"filters": {"retryAttempts": true, "minDuration": "10ms"}},
            "http": {"middlewares": {"again": {"retry": {"attempts": 3, "initialInterval": "200ms", "timeout": "10s"}}},
                "routers": {"orders": {"rule": "Host(`orders.example.com`)", "middlewares": ["again"], "service": "orders"}}}}"#,
        keys: &["retry", "attempts", "initialInterval"],
    },
    Tree {
        name: "traefik-middleware.yaml",
        text: r#"{"apiVersion": "traefik.io/v1alpha1", "kind": "Middleware", "metadata": {"name": "again", "namespace": "shop"},
            "spec": {"retry": {"attempts": 3, "initialInterval": "200ms", "timeout": "10s"}}}"#,
        keys: &["retry", "attempts", "initialInterval"],
    },
    Tree {
        name: "compose.yaml",
        text: r#"{"services": {"orders": {"image": "orders", "deploy": {"replicas": 2}, "healthcheck": {"test": "true", "retries": 5}, "labels": {
            "traefik.http.routers.orders.middlewares": "again",
            "traefik.http.middlewares.again.retry.attempts": "3",
            "traefik.http.middlewares.again.retry.initialinterval": "200ms",
            "traefik.http.middlewares.again.retry.timeout": "10s"}}},
            "networks": {"shop": {"driver": "bridge"}}}"#,
        keys: &[
            "traefik.http.middlewares.again.retry.attempts",
            "traefik.http.middlewares.again.retry.initialinterval",
        ],
    },
    Tree {
        name: "kong.yaml",
        text: r#"{"_format_version": "3.0", "services": [{"name": "orders", "url": "http://orders.shop:8080", "retries": 2,
            "connect_timeout": 1000, "read_timeout": 5000, "write_timeout": 5000,
            "routes": [{"name": "orders", "paths": ["/orders"]}]}],
            "plugins": [{"name": "key-auth", "config": {"key_names": ["apikey"]}}]}"#,
        keys: &["retries"],
    },
    Tree {
        name: "kong-defaults.yaml",
        text: r#"{"_format_version": "3.0", "_info": {"defaults": {"service": {"retries": 2, "read_timeout": 5000}, "route": {"strip_path": false}}},
            "services": [{"name": "orders", "host": "orders.shop", "port": 80, "protocol": "http"}]}"#,
        keys: &["retries"],
    },
    Tree {
        name: "kong-resource.yaml",
        text: r#"{"apiVersion": "configuration.konghq.com/v1alpha1", "kind": "KongService", "metadata": {"name": "orders"}, "spec": {
            "host": "orders.shop", "port": 80, "protocol": "http", "retries": 2, "read_timeout": 5000, "tags": ["shop"],
            "controlPlaneRef": {"type": "konnectNamespacedRef", "konnectNamespacedRef": {"name": "shop"}}}}"#,
        keys: &["retries"],
    },
    Tree {
        name: "kong-service.yaml",
        text: r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "orders", "annotations": {
            "konghq.com/retries": "2", "konghq.com/read-timeout": "5000"}},
            "spec": {"selector": {"app": "orders"}, "ports": [{"port": 80}]}}"#,
        keys: &["konghq.com/retries"],
    },
    Tree {
        name: "contour.yaml",
        text: r#"{"apiVersion": "projectcontour.io/v1", "kind": "HTTPProxy", "metadata": {"name": "shop"}, "spec": {
            "virtualhost": {"fqdn": "shop.example.com"}, "routes": [{"conditions": [{"prefix": "/"}],
                "timeoutPolicy": {"response": "5s", "idle": "10s"},
                "retryPolicy": {"count": 3, "perTryTimeout": "1s", "retryOn": ["connect-failure", "refused-stream"]},
                "services": [{"name": "orders", "port": 80}]}]}}"#,
        keys: &["retryPolicy", "perTryTimeout", "retryOn"],
    },
    Tree {
        name: "contour-ingress.yaml",
        text: r#"{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop", "annotations": {
            "projectcontour.io/retry-on": "connect-failure", "projectcontour.io/num-retries": "3",
            "projectcontour.io/per-try-timeout": "1s", "projectcontour.io/response-timeout": "5s"}},
            "spec": {"rules": [{"host": "shop.example.com"}]}}"#,
        keys: &[
            "projectcontour.io/retry-on",
            "projectcontour.io/num-retries",
        ],
    },
    Tree {
        name: "kuma.yaml",
        text: r#"{"apiVersion": "kuma.io/v1alpha1", "kind": "MeshRetry", "metadata": {"name": "orders", "labels": {"kuma.io/mesh": "default"}},
            "spec": {"targetRef": {"kind": "Mesh"}, "to": [{"targetRef": {"kind": "MeshService", "name": "orders"}, "default": {
                "http": {"numRetries": 3, "perTryTimeout": "2s", "backOff": {"baseInterval": "50ms", "maxInterval": "1s"},
                    "retryOn": ["ConnectFailure", "RefusedStream"]}}}]}}"#,
        keys: &["numRetries", "perTryTimeout", "backOff", "retryOn"],
    },
    Tree {
        name: "kuma-universal.yaml",
        text: r#"{"type": "MeshRetry", "mesh": "default", "name": "orders", "spec": {"targetRef": {"kind": "Mesh"},
            "to": [{"targetRef": {"kind": "MeshService", "name": "orders"}, "default": {
                "grpc": {"numRetries": 3, "perTryTimeout": "2s", "backOff": {"baseInterval": "50ms", "maxInterval": "1s"},
                    "retryOn": ["Unavailable"]},
                "tcp": {"maxConnectAttempt": 3}}}]}}"#,
        keys: &[
            "numRetries",
            "perTryTimeout",
            "backOff",
            "retryOn",
            "maxConnectAttempt",
        ],
    },
    Tree {
        name: "kuma-retry.yaml",
        text: r#"{"type": "Retry", "mesh": "default", "name": "orders", "sources": [{"match": {"kuma.io/service": "*"}}],
            "destinations": [{"match": {"kuma.io/service": "orders"}}], "conf": {"http": {"numRetries": 3, "perTryTimeout": "200ms",
                "backOff": {"baseInterval": "30ms", "maxInterval": "1s"}, "retryOn": ["connect_failure", "refused_stream"]}}}"#,
        keys: &["numRetries", "perTryTimeout", "backOff", "retryOn"],
    },
    Tree {
        name: "dapr-defaults.yaml",
        text: r#"{"apiVersion": "dapr.io/v1alpha1", "kind": "Resiliency", "metadata": {"name": "shop"}, "spec": {"policies": {
            "timeouts": {"short": "2s"},
            "retries": {"DefaultAppRetryPolicy": {"policy": "exponential", "maxInterval": "5s", "maxRetries": 3}},
            "circuitBreakers": {"open": {"timeout": "30s", "trip": "consecutiveFailures > 10"}}},
            "targets": {"apps": {"stock": {"timeout": "short"}}}}}"#,
        keys: &["retries", "maxRetries", "DefaultAppRetryPolicy"],
    },
    Tree {
        name: "dapr.yaml",
        text: r#"{"apiVersion": "dapr.io/v1alpha1", "kind": "Resiliency", "metadata": {"name": "shop"}, "spec": {
            "policies": {"timeouts": {"short": "2s"},
                "retries": {"few": {"policy": "exponential", "maxInterval": "5s", "maxRetries": 3, "matching": {"httpStatusCodes": "429,503"}}},
                "circuitBreakers": {"open": {"timeout": "30s", "trip": "consecutiveFailures > 10"}}},
            "targets": {"apps": {"orders": {"timeout": "short", "retry": "few", "circuitBreaker": "open"}},
                "components": {"stock": {"outbound": {"timeout": "short"}}}}}, "scopes": ["shop"]}"#,
        keys: &["retries", "maxRetries", "retry"],
    },
    Tree {
        name: "grpc.json",
        text: r#"{"methodConfig": [{"name": [{"service": "shop.v1.Orders", "method": "Find"}], "timeout": "5s",
            "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 3,
                "retryableStatusCodes": ["UNAVAILABLE"]}}],
            "retryThrottling": {"maxTokens": 20, "tokenRatio": 0.1}}"#,
        keys: &[
            "retryPolicy",
            "maxAttempts",
            "initialBackoff",
            "maxBackoff",
            "backoffMultiplier",
            "retryableStatusCodes",
            "retryThrottling",
        ],
    },
    Tree {
        name: "application.yml",
        text: r#"{"spring": {"application": {"name": "gate"}, "cloud": {"gateway": {"server": {"webflux": {
            "httpclient": {"connect-timeout": 1000, "response-timeout": "2s"},
            "routes": [{"id": "orders", "uri": "lb://orders", "predicates": ["Path=/orders/**"], "metadata": {"owner": "shop"},
                "filters": [{"name": "Retry", "args": {"retries": 2, "series": "", "statuses": "SERVICE_UNAVAILABLE", "methods": "GET", "timeout": "5s",
                    "jitter": {"randomFactor": 0.4},
                    "backoff": {"firstBackoff": "50ms", "maxBackoff": "1s", "factor": 3, "basedOnPreviousValue": false}}}]}]}}}}}}"#,
        keys: &["retries", "backoff", "firstBackoff", "maxBackoff"],
    },
    Tree {
        name: "resilience4j.yml",
        text: r#"{"resilience4j": {"retry": {"configs": {"default": {"maxAttempts": 4}}, "instances": {"orders": {
            "baseConfig": "default", "waitDuration": "200ms", "enableExponentialBackoff": true, "exponentialBackoffMultiplier": 3,
            "exponentialMaxWaitDuration": "5s", "enableRandomizedWait": true, "randomizedWaitFactor": 0.4,
            "retryExceptions": ["java.net.ConnectException"]}}},
            "timelimiter": {"instances": {"orders": {"timeoutDuration": "2s"}}}},
            "spring": {"application": {"name": "shop"}}}"#,
        keys: &[
            "retry",
            "maxAttempts",
            "enableExponentialBackoff",
            "exponentialBackoffMultiplier",
            "retryExceptions",
        ],
    },
    Tree {
        name: "appsettings.json",
        text: r#"{"Logging": {"LogLevel": {"Default": "Information"}}, "Orders": {"Resilience": {
            "TotalRequestTimeout": {"Timeout": "00:00:20"}, "AttemptTimeout": {"Timeout": "00:00:03"},
            "Retry": {"MaxRetryAttempts": 2, "BackoffType": "Exponential", "UseJitter": true, "Delay": "00:00:00.5", "MaxDelay": "00:00:05",
                "ShouldRetryAfterHeader": true}}}}"#,
        keys: &[
            "Retry",
            "MaxRetryAttempts",
            "BackoffType",
            "AttemptTimeout",
            "ShouldRetryAfterHeader",
        ],
    },
    Tree {
        name: "hedging.json",
        text: r#"{"Logging": {"LogLevel": {"Default": "Information"}}, "Orders": {"Resilience": {
            "TotalRequestTimeout": {"Timeout": "00:00:20"}, "Hedging": {"MaxHedgedAttempts": 2, "Delay": "00:00:01"},
            "Endpoint": {"Timeout": {"Timeout": "00:00:03"},
                "CircuitBreaker": {"FailureRatio": 0.2, "MinimumThroughput": 50, "SamplingDuration": "00:01:00", "BreakDuration": "00:00:10"}}}}}"#,
        keys: &["Hedging", "MaxHedgedAttempts", "Delay"],
    },
    Tree {
        name: "shop/templates/ingress.yaml",
        text: r#"{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop", "annotations": {
            "nginx.ingress.kubernetes.io/proxy-next-upstream": "{{ .Values.orders.words }}",
            "nginx.ingress.kubernetes.io/proxy-next-upstream-tries": "{{ .Values.orders.tries }}",
            "nginx.ingress.kubernetes.io/proxy-next-upstream-timeout": "10",
            "nginx.ingress.kubernetes.io/proxy-read-timeout": "2"}},
            "spec": {"ingressClassName": "nginx", "rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "orders", "port": {"number": 80}}}}]}}]}}"#,
        keys: &[
            "nginx.ingress.kubernetes.io/proxy-next-upstream",
            "nginx.ingress.kubernetes.io/proxy-next-upstream-tries",
            "nginx.ingress.kubernetes.io/proxy-next-upstream-timeout",
        ],
    },
    Tree {
        name: "shop/values.yaml",
        text: r#"{"orders": {"image": {"tag": "1"}, "words": "error timeout http_503", "tries": 2}, "stock": {"replicas": 2}}"#,
        keys: &["words", "tries"],
    },
    Tree {
        name: "grpcroute.yaml",
        text: r#"{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GRPCRoute", "metadata": {"name": "stock", "annotations": {
            "retry.linkerd.io/grpc": "unavailable", "retry.linkerd.io/limit": "2",
            "timeout.linkerd.io/request": "5s"}},
            "spec": {"parentRefs": [{"group": "core", "kind": "Service", "name": "stock", "port": 80}],
                "rules": [{"matches": [{"method": {"service": "shop.v1.Stock"}}], "backendRefs": [{"name": "stock", "port": 80}]}]}}"#,
        keys: &["retry.linkerd.io/grpc", "retry.linkerd.io/limit"],
    },
    Tree {
        name: "budgeted.yaml",
        text: r#"{"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "orders"}, "spec": {
                "parentRefs": [{"name": "shop"}],
                "rules": [{"matches": [{"method": "GET"}], "timeouts": {"request": "10s", "backendRequest": "2s"},
                    "retry": {"attempts": 2, "backoff": "500ms", "codes": [503]}, "backendRefs": [{"name": "orders", "port": 8080}]}]}},
            {"apiVersion": "gateway.networking.x-k8s.io/v1alpha1", "kind": "XBackendTrafficPolicy", "metadata": {"name": "orders"}, "spec": {
                "targetRefs": [{"group": "", "kind": "Service", "name": "orders"}],
                "retryConstraint": {"budget": {"percent": 10, "interval": "20s"}, "minRetryRate": {"count": 3, "interval": "2s"}}}}]}"#,
        keys: &["retry", "retryConstraint", "minRetryRate"],
    },
    Tree {
        name: "txt.json",
        text: r#"[{"clientLanguage": ["go"], "serviceConfig": {"loadBalancingPolicy": "round_robin"}},
            {"serviceConfig": {"loadBalancingPolicy": "round_robin", "methodConfig": [{"name": [{"service": "shop.v1.Orders"}], "timeout": "5s",
                "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 3,
                    "retryableStatusCodes": ["UNAVAILABLE"]}}],
                "retryThrottling": {"maxTokens": 20, "tokenRatio": 0.1}}}]"#,
        keys: &[
            "retryPolicy",
            "maxAttempts",
            "initialBackoff",
            "retryableStatusCodes",
            "retryThrottling",
        ],
    },
    Tree {
        name: "gate.yml",
        text: r#"{"spring": {"cloud": {"gateway": {"server": {"webmvc": {
            "routes": [{"id": "orders", "uri": "http://orders:8080", "predicates": ["Path=/orders/**"],
                "filters": [{"name": "Retry", "args": {"retries": 2, "series": "SERVER_ERROR", "methods": "GET", "cacheBody": true}}]}]}}}}}}"#,
        keys: &["retries"],
    },
];

/// What is checked together with an example.
pub const BESIDE: [(&str, &str); 2] = [
    ("shop/templates/ingress.yaml", "shop/values.yaml"),
    ("shop/values.yaml", "shop/templates/ingress.yaml"),
];
