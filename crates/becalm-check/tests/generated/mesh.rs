//! Do the resources of Kubernetes come out as they were written?

use serde_json::{Value, json};

use super::shapes::{Draw, table};
use super::{FILES, read};

fn resource(version: &str, kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": "orders", "labels": {"app": "orders"}}, "spec": spec})
}

fn millis(draw: &Draw, most: u64) -> String {
    format!("{}ms", 1 + draw.below(most))
}

#[test]
fn virtual_services_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let draw = &Draw::new(seed);
        let (mut routes, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..=draw.below(4) {
            let mut route =
                json!({"route": [{"destination": {"host": "orders", "port": {"number": 80}}}]});
            draw.maybe(&mut route, "timeout", millis(draw, 60_000).into());
            draw.maybe(
                &mut route,
                "match",
                json!([{"uri": {"prefix": "/"}, "method": {"exact": "GET"}}]),
            );
            let mut attempts = 3;
            if draw.is() {
                let retries = draw.below(50);
                attempts = retries + 1;
                let mut given = json!({"attempts": retries});
                draw.maybe(&mut given, "backoff", millis(draw, 3000).into());
                draw.maybe(&mut given, "retryIgnorePreviousHosts", false.into());
                let words = draw.some_of(&[
                    "5xx",
                    "gateway-error",
                    "reset",
                    "connect-failure",
                    "refused-stream",
                    "503",
                    "unavailable",
                    "cancelled",
                ]);
                // Istio's validation refuses these beside 0 attempts.
                if retries > 0 {
                    draw.maybe(&mut given, "perTryTimeout", millis(draw, 20_000).into());
                    draw.maybe(&mut given, "retryRemoteLocalities", true.into());
                    draw.maybe(&mut given, "retryOn", words.join(",").into());
                }
                route["retries"] = given;
            }
            routes.push(route);
            expected.push(attempts);
        }
        let version = draw.one_of(&[
            "networking.istio.io/v1",
            "networking.istio.io/v1beta1",
            "networking.istio.io/v1alpha3",
        ]);
        let document = resource(
            version,
            "VirtualService",
            &json!({"hosts": ["orders"], "http": routes}),
        );
        let checked = read(draw, &document);
        let attempts: Vec<_> = checked
            .mappings
            .iter()
            .map(|it| u64::from(it.policy.attempts))
            .collect();
        assert_eq!(attempts, expected, "{document:#}");
    }
}

#[test]
fn backend_traffic_policies_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let draw = &Draw::new(seed);
        let retries = draw.below(9);
        let mut retry = table();
        let is_told = draw.maybe(&mut retry, "numRetries", retries.into());
        let triggers = draw.some_of(&[
            "5xx",
            "gateway-error",
            "reset",
            "reset-before-request",
            "connect-failure",
            "retriable-4xx",
            "refused-stream",
            "cancelled",
            "unavailable",
        ]);
        draw.maybe(&mut retry, "retryOn", json!({"triggers": triggers}));
        let base = 1 + draw.below(500);
        let back_off = json!({"baseInterval": format!("{base}ms"), "maxInterval": format!("{}ms", base + draw.below(5000))});
        let mut per_retry = json!({"timeout": millis(draw, 30_000)});
        draw.maybe(&mut per_retry, "backOff", back_off);
        draw.maybe(&mut retry, "perRetry", per_retry);
        let mut spec = json!({
            "targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "orders"}],
            "retry": retry,
        });
        draw.maybe(
            &mut spec,
            "timeout",
            json!({"http": {"requestTimeout": millis(draw, 30_000)}}),
        );
        let mut breaker = json!({"maxParallelRetries": 1 + draw.below(2000)});
        draw.maybe(&mut breaker, "retryBudget", json!({"percent": {"numerator": 1 + draw.below(100)}, "minRetryConcurrency": 1 + draw.below(9)}));
        draw.maybe(&mut spec, "circuitBreaker", breaker);
        let document = resource(
            "gateway.envoyproxy.io/v1alpha1",
            "BackendTrafficPolicy",
            &spec,
        );
        let checked = read(draw, &document);
        let expected = if is_told { retries + 1 } else { 3 };
        let attempts: Vec<_> = checked
            .mappings
            .iter()
            .map(|it| u64::from(it.policy.attempts))
            .collect();
        assert_eq!(attempts, [expected], "{document:#}");
    }
}

#[test]
fn routes_of_the_gateway_api_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let draw = &Draw::new(seed);
        let (mut rules, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..=draw.below(4) {
            let retries = 1 + draw.below(9);
            let mut retry = json!({"attempts": retries});
            draw.maybe(&mut retry, "backoff", millis(draw, 3000).into());
            draw.maybe(
                &mut retry,
                "codes",
                json!([500, 503, 400 + draw.below(199)]),
            );
            let mut rule = json!({"backendRefs": [{"name": "orders", "port": 8080}]});
            let request = 1 + draw.below(9000);
            let times = json!({"request": format!("{request}ms"), "backendRequest": format!("{}ms", 1 + draw.below(request))});
            draw.maybe(&mut rule, "timeouts", times);
            if draw.maybe(&mut rule, "retry", retry) {
                expected.push(retries + 1);
            }
            rules.push(rule);
        }
        let document = resource(
            "gateway.networking.k8s.io/v1",
            "HTTPRoute",
            &json!({"hostnames": ["shop.example.com"], "rules": rules}),
        );
        let checked = read(draw, &document);
        let attempts: Vec<_> = checked
            .mappings
            .iter()
            .map(|it| u64::from(it.policy.attempts))
            .collect();
        assert_eq!(attempts, expected, "{document:#}");
    }
}
