//! Does everything that Envoy's descriptors allow of a retry policy come out as it was written?

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use becalm::Policy;
use becalm_check::Checked;
use serde_json::{Value, json};

use super::shapes::{Draw, camel, table, written};
use super::{FILES, read};

const WORDS: [&str; 15] = [
    "5xx",
    "gateway-error",
    "reset",
    "reset-before-request",
    "connect-failure",
    "envoy-ratelimited",
    "retriable-4xx",
    "refused-stream",
    "retriable-headers",
    "http3-post-connect-failure",
    "cancelled",
    "deadline-exceeded",
    "internal",
    "resource-exhausted",
    "unavailable",
];

/// What was written of a route.
#[derive(Debug)]
struct Expected {
    attempts: u32,
    deadline: Option<Duration>,
    attempt_timeout: Option<Duration>,
    base: Duration,
    cap: Duration,
}

impl Expected {
    fn is(&self, policy: &Policy) -> bool {
        (
            self.attempts,
            self.deadline,
            self.attempt_timeout,
            self.base,
            self.cap,
        ) == (
            policy.attempts,
            policy.deadline,
            policy.attempt_timeout,
            policy.base,
            policy.cap,
        )
    }
}

fn millis(millis: u64) -> (Duration, Value) {
    let duration = Duration::from_millis(millis);
    (
        duration,
        format!("{}.{:03}s", millis / 1000, millis % 1000).into(),
    )
}

/// A route with a retry policy, and what it says.
fn route(draw: &Draw, clusters: u64) -> (Value, Expected) {
    let mut retry = table();
    let retries = u32::try_from(draw.below(8)).unwrap();
    let is_told = draw.is();
    if is_told {
        retry["num_retries"] = if draw.is() {
            retries.into()
        } else {
            retries.to_string().into()
        };
    }
    let mut words = draw.some_of(&WORDS);
    if draw.is() {
        words.push("retriable-status-codes");
        retry["retriable_status_codes"] = json!([429, 500 + draw.below(99)]);
    }
    if words.contains(&"retriable-headers") {
        retry["retriable_headers"] = json!([{"name": "x-retry", "present_match": true}]);
    }
    retry["retry_on"] = words.join(draw.one_of(&[",", ", ", " ,"])).into();
    let mut action = json!({"cluster": format!("cluster-{}", draw.below(clusters))});
    let mut expected = Expected {
        attempts: if is_told { retries + 1 } else { 2 },
        deadline: Some(Duration::from_secs(15)),
        attempt_timeout: None,
        base: Duration::from_millis(25),
        cap: Duration::from_millis(250),
    };
    if draw.is() {
        let (timeout, text) = millis(draw.below(4) * 1000);
        action["timeout"] = text;
        expected.deadline = Some(timeout).filter(|it| !it.is_zero());
    }
    if draw.is() {
        let (timeout, text) = millis(1 + draw.below(20_000));
        retry["per_try_timeout"] = text;
        expected.attempt_timeout =
            Some(timeout).filter(|it| expected.deadline.is_none_or(|deadline| *it < deadline));
    }
    if draw.is() {
        let base = 1 + draw.below(2000);
        let (duration, text) = millis(base);
        retry["retry_back_off"] = json!({"base_interval": text});
        expected.base = duration;
        expected.cap = duration * 10;
        if draw.is() {
            let (duration, text) = millis(base + draw.below(9000));
            retry["retry_back_off"]["max_interval"] = text;
            expected.cap = duration;
        }
    }
    draw.maybe(&mut retry, "host_selection_retry_max_attempts", 3.into());
    draw.maybe(&mut retry, "per_try_idle_timeout", "1s".into());
    if draw.is() {
        let headers =
            json!([{"name": "Retry-After", "format": draw.one_of(&["SECONDS", "UNIX_TIMESTAMP"])}]);
        retry["rate_limited_retry_back_off"] =
            json!({"reset_headers": headers, "max_interval": "60s"});
    }
    draw.maybe(
        &mut action,
        "hedge_policy",
        json!({"hedge_on_per_try_timeout": true}),
    );
    draw.maybe(&mut action, "idle_timeout", "30s".into());
    action["retry_policy"] = retry;
    let route = json!({"match": {"prefix": "/"}, "route": action});
    (route, expected)
}

fn cluster(draw: &Draw, at: u64) -> Value {
    let name = format!("cluster-{at}");
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": 18998}});
    let mut cluster = json!({
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}]},
    });
    // At least one, or a route would make a single attempt.
    let mut thresholds = json!({"max_retries": 1 + draw.below(2000)});
    if draw.is() {
        let mut budget = table();
        draw.maybe(
            &mut budget,
            "budget_percent",
            json!({"value": 0.5 + f64::from(u32::try_from(draw.below(99)).unwrap())}),
        );
        draw.maybe(
            &mut budget,
            "min_retry_concurrency",
            (1 + draw.below(9)).into(),
        );
        thresholds = json!({"retry_budget": budget});
    }
    draw.maybe(&mut thresholds, "priority", "DEFAULT".into());
    draw.maybe(
        &mut cluster,
        "circuit_breakers",
        json!({"thresholds": [thresholds]}),
    );
    draw.maybe(
        &mut cluster,
        "outlier_detection",
        json!({"consecutive_5xx": 5}),
    );
    cluster
}

fn bootstrap(draw: &Draw) -> (Value, Vec<Expected>) {
    let clusters = 1 + draw.below(3);
    let (mut routes, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..=draw.below(5) {
        let (route, told) = route(draw, clusters);
        routes.push(route);
        expected.push(told);
    }
    let clusters: Vec<_> = (0..clusters).map(|at| cluster(draw, at)).collect();
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "in",
        "http_filters": [{
            "name": "envoy.filters.http.router",
            "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
        }],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
    });
    let filter =
        json!({"name": "envoy.filters.network.http_connection_manager", "typed_config": manager});
    let document = json!({"static_resources": {
        "listeners": [{
            "name": "in",
            "address": {"socket_address": {"address": "127.0.0.1", "port_value": 18999}},
            "filter_chains": [{"filters": [filter]}],
        }],
        "clusters": clusters,
    }});
    let document = if draw.is() { camel(document) } else { document };
    (document, expected)
}

fn same(checked: &Checked, expected: &[Expected], document: &Value) {
    assert_eq!(checked.mappings.len(), expected.len(), "{document:#}");
    for (mapping, expected) in checked.mappings.iter().zip(expected) {
        assert!(
            expected.is(&mapping.policy),
            "{expected:?} {:?}\n{document:#}",
            mapping.policy
        );
    }
}

#[test]
fn routes_of_envoy_are_read_as_they_were_written() {
    for seed in 0..FILES {
        let draw = &Draw::new(seed);
        let (document, expected) = bootstrap(draw);
        same(&read(draw, &document), &expected, &document);
    }
}

#[test]
fn what_is_generated_is_accepted_by_envoy_itself() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let envoy = root.join("target/pypi/bin/envoy");
    if !envoy.exists() {
        let missing = "there is no Envoy in target/pypi: scripts/test installs it";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("skipped: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/envoy.yaml");
    let mut files = vec![golden];
    for seed in 0..12 {
        let draw = &Draw::new(seed);
        let (document, _) = bootstrap(draw);
        // Of JSON Envoy reads no comments; the form is told by the name.
        let text = if seed % 2 == 0 {
            document.to_string()
        } else {
            written(&Draw::new(4), &document)
        };
        let name = if seed % 2 == 0 {
            format!("{seed}.json")
        } else {
            format!("{seed}.yaml")
        };
        std::fs::write(folder.path().join(&name), text).unwrap();
        files.push(folder.path().join(name));
    }
    for file in files {
        let output = Command::new(&envoy)
            .args(["--mode", "validate", "-c"])
            .arg(&file)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", file.display());
    }
}
