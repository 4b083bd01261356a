//! Do Linkerd's profiles and annotations come out as they were written?

use becalm::Budget;
use serde_json::{Value, json};

use super::shapes::{Draw, table};
use super::{FILES, read};

/// A condition of a route, as deep as it is drawn.
fn condition(draw: &Draw, depth: u64) -> Value {
    let inner = |draw: &Draw| condition(draw, depth - 1);
    match draw.below(if depth == 0 { 2 } else { 5 }) {
        0 => json!({"pathRegex": "/orders/\\d+"}),
        1 => json!({"method": draw.one_of(&["GET", "POST", "put"])}),
        2 => json!({"all": [inner(draw), inner(draw)]}),
        3 => json!({"any": [inner(draw), inner(draw)]}),
        _ => json!({"not": inner(draw), "method": "GET"}),
    }
}

fn response(draw: &Draw, depth: u64) -> Value {
    let inner = |draw: &Draw| response(draw, depth - 1);
    let least = 100 + draw.below(500);
    match draw.below(if depth == 0 { 1 } else { 4 }) {
        0 => json!({"status": {"min": least, "max": least + draw.below(600 - least)}}),
        1 => json!({"all": [inner(draw), inner(draw)]}),
        2 => json!({"any": [inner(draw)]}),
        _ => json!({"not": inner(draw)}),
    }
}

#[test]
fn profiles_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let draw = &Draw::new(seed);
        let (mut routes, mut expected) = (Vec::new(), Vec::new());
        let floor = 1 + draw.below(50);
        let ttl = 1 + draw.below(60);
        let budget =
            json!({"retryRatio": 0.5, "minRetriesPerSecond": floor, "ttl": format!("{ttl}s")});
        let mut spec = table();
        let is_told = draw.maybe(&mut spec, "retryBudget", budget);
        let budget = if is_told {
            let floor = f64::from(u32::try_from(floor).unwrap());
            Budget::window(0.5, std::time::Duration::from_secs(ttl), floor)
        } else {
            Budget::window(0.2, std::time::Duration::from_secs(10), 10.0)
        };
        for at in 0..=draw.below(5) {
            let mut route = json!({"name": format!("route {at}"), "condition": condition(draw, 2)});
            let timeout = draw.below(30_000);
            let timeout = draw
                .maybe(&mut route, "timeout", format!("{timeout}ms").into())
                .then_some(timeout);
            let class = json!([{"condition": response(draw, 2), "isFailure": draw.is()}]);
            draw.maybe(&mut route, "responseClasses", class);
            if draw.maybe(&mut route, "isRetryable", true.into()) {
                expected.push((budget, timeout.filter(|it| *it > 0)));
            }
            routes.push(route);
        }
        spec["routes"] = routes.into();
        let document = json!({
            "apiVersion": draw.one_of(&["linkerd.io/v1alpha2", "linkerd.io/v1alpha1"]),
            "kind": "ServiceProfile",
            "metadata": {"name": "orders.shop.svc.cluster.local", "namespace": "shop"},
            "spec": spec,
        });
        let checked = read(draw, &document);
        let told: Vec<_> = checked
            .mappings
            .iter()
            .map(|it| {
                let deadline = it
                    .policy
                    .deadline
                    .map(|it| u64::try_from(it.as_millis()).unwrap());
                (it.policy.budget, deadline)
            })
            .collect();
        assert_eq!(told, expected, "{document:#}");
    }
}

#[test]
fn annotations_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let draw = &Draw::new(seed);
        let words = draw.some_of(&["5xx", "gateway-error", "429", "500-503", "Gateway-Error"]);
        let mut annotations = json!({"retry.linkerd.io/http": words.join(",")});
        let limit = 1 + draw.below(9);
        let is_told = draw.maybe(
            &mut annotations,
            "retry.linkerd.io/limit",
            limit.to_string().into(),
        );
        let unit = draw.one_of(&["ms", "s", "m"]);
        let time = || Value::from(format!("{}{unit}", 1 + draw.below(500)));
        draw.maybe(&mut annotations, "retry.linkerd.io/timeout", time());
        draw.maybe(&mut annotations, "timeout.linkerd.io/request", time());
        draw.maybe(&mut annotations, "timeout.linkerd.io/response", time());
        draw.maybe(&mut annotations, "timeout.linkerd.io/idle", time());
        draw.maybe(
            &mut annotations,
            "retry.linkerd.io/grpc",
            "unavailable,internal".into(),
        );
        draw.maybe(
            &mut annotations,
            "config.linkerd.io/opaque-ports",
            "3306".into(),
        );
        let (version, kind) = if draw.is() {
            ("v1", "Service")
        } else {
            ("policy.linkerd.io/v1beta3", "HTTPRoute")
        };
        let document = json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": "orders", "annotations": annotations},
            "spec": {"ports": [{"port": 80}]},
        });
        let checked = read(draw, &document);
        let attempts: Vec<_> = checked
            .mappings
            .iter()
            .map(|it| u64::from(it.policy.attempts))
            .collect();
        assert_eq!(
            attempts,
            [if is_told { limit + 1 } else { 2 }],
            "{document:#}"
        );
    }
}
