//! Does four times as much take about four times the work? Each document may be compared with few others.
//!
//! Work is what is looked at: nodes of trees, directives and lines, which no machine's speed changes.

use std::fs;
use std::path::Path;

use crate::document::LOOKED_AT;
use crate::{File, Settings, check};

/// What four times as many may take: entries of a sort and of the longer lists add a little.
const MOST: u64 = 5;

#[test]
fn documents_and_files_of_each_system() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .filter(|it| it.extension().is_some_and(|it| it != "expected"))
        .collect();
    paths.sort();
    let mut not_linear = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        not_linear.extend(more_than_linear(name, |at| numbered(&text, at)));
        not_linear.extend(more_than_linear(name, |_| text.clone()));
    }
    assert!(not_linear.is_empty(), "{}", not_linear.join("\n"));
}

/// What is attached to one thing, and what is about one name.
#[test]
fn resources_that_are_about_others() {
    for (name, resources) in [
        ("linkerd", LINKERD),
        ("gateway-api", GATEWAY_API),
        ("envoy-gateway", ENVOY_GATEWAY),
        ("envoy-gateway", ONE_GATEWAY),
        ("istio", ISTIO),
        ("envoy", ENVOY),
        ("envoy", ENVOY_RDS),
    ] {
        // Of many names, and of the same names in many namespaces.
        let same = resources
            .replace("NUMBER", "")
            .replace(", namespace: a", "");
        let within = "metadata: {namespace: nNUMBER, name: ";
        let same = same.replace("metadata: {name: ", within);
        for resources in [resources, &same] {
            let numbered = |at: usize| resources.replace("NUMBER", &at.to_string());
            let not_linear = more_than_linear(&format!("{name}.yaml"), numbered);
            assert!(not_linear.is_empty(), "{}", not_linear.join("\n"));
        }
    }
}

/// What stands once and holds in many places, and what leads from many places to many.
#[test]
fn parts_of_one_file() {
    for (name, before, part, after) in [
        (
            "nginx.conf",
            "http { server { ",
            "location /NUMBER { error_page 502 @bNUMBER; proxy_pass http://a; } location @bNUMBER { proxy_pass http://b; }",
            "} }",
        ),
        (
            "nginx.conf",
            "http { server { ",
            "error_page 502 @b; ",
            "location @b { proxy_pass http://b; } } }",
        ),
        (
            "nginx.conf",
            "http { server { ",
            "include NUMBER.conf; location /NUMBER { proxy_pass http://b; }",
            "} }",
        ),
        (
            "haproxy.cfg",
            "",
            "defaults dNUMBER\n  retries 3\nfrontend fNUMBER\n  use_backend bNUMBER if { path / }\n  http-request disable-l7-retry if a\nbackend bNUMBER from dNUMBER\n  server a 127.0.0.1:1\n",
            "",
        ),
        (
            "haproxy.cfg",
            "",
            "frontend fNUMBER\n  use_backend %[path]\nbackend bNUMBER\n  server a 127.0.0.1:1\n",
            "",
        ),
        (
            "application.properties",
            "spring.cloud.gateway.routes[0].filters[1000]=CircuitBreaker\n",
            "spring.cloud.gateway.routes[0].filters[NUMBER]=Retry=3\n",
            "",
        ),
        (
            "application.properties",
            "",
            "resilience4j.retry.instances.iNUMBER.baseConfig=cNUMBER\nresilience4j.retry.configs.cNUMBER.maxAttempts=4\n\
             resilience4j.timelimiter.instances.iNUMBER.timeoutDuration=1s\nresilience4j.bulkhead.instances.iNUMBER.maxConcurrentCalls=4\n",
            "",
        ),
        (
            "application.properties",
            "",
            "resilience4j.retry.instances.iNUMBER.baseConfig=not-here\n",
            "",
        ),
    ] {
        let work = |many: usize| {
            let parts = (0..many).map(|at| part.replace("NUMBER", &at.to_string()));
            let text = format!("{before}{}{after}", parts.collect::<String>());
            work(&[(name.to_owned(), text)])
        };
        let (four, one) = (work(400), work(100));
        assert!(one > 400, "{part}: {one} looks at what is read");
        assert!(four <= MOST * one, "{part}: {four} of {one}");
    }
}

#[test]
fn profiles_beside_their_credentials() {
    let work = |many: usize| {
        let all = |part: &str| -> String {
            let parts = (0..many).map(|at| part.replace("NUMBER", &at.to_string()));
            parts.collect()
        };
        work(&[
            (
                "config".to_owned(),
                all("[profile pNUMBER]\nretry_mode = standard\n"),
            ),
            (
                "credentials".to_owned(),
                all("[pNUMBER]\nmax_attempts = 3\n"),
            ),
        ])
    };
    let (four, one) = (work(400), work(100));
    assert!(
        one > 400 && four <= MOST * one,
        "{four} of {one} lines that are read"
    );
}

/// What takes too much, as documents of one file and as files.
fn more_than_linear(name: &str, text: impl Fn(usize) -> String) -> Vec<String> {
    let documents = |many: usize| {
        let texts: Vec<_> = (0..many).map(&text).collect();
        work(&[(name.to_owned(), texts.join("\n---\n"))])
    };
    let files = |many: usize| {
        let files = (0..many).map(|at| (format!("{at}/{name}"), text(at)));
        work(&files.collect::<Vec<_>>())
    };
    let mut all = vec![("files", files(100), files(25))];
    // A file of JSON holds one.
    if Path::new(name).extension().is_some_and(|it| it != "json") {
        all.push(("documents", documents(100), documents(25)));
    }
    let too_many = all.into_iter().filter(|(_, four, one)| *four > MOST * one);
    too_many
        .map(|(what, four, one)| format!("{name}: {what}: {four} of {one}"))
        .collect()
}

fn work(files: &[(String, String)]) -> u64 {
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| File::new(name, text))
        .collect();
    LOOKED_AT.set(1);
    let _ = check(&files, &Settings::default());
    LOOKED_AT.get()
}

/// The text with a number at each word that follows `name:`, `host:` or the like, wherever it stands.
fn numbered(text: &str, at: usize) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let mut names: Vec<&str> = Vec::new();
    for key in ["name: ", "host: ", "cluster: ", "hosts: [", "\"name\": \""] {
        for (start, _) in text.match_indices(key) {
            let rest = &text[start + key.len()..];
            let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
            if word.len() > 2 && !word.contains("envoy.") {
                names.push(word);
            }
        }
    }
    let mut out = String::new();
    for part in text.split_inclusive(|c| !is_word(c)) {
        let word = part.trim_end_matches(|c| !is_word(c));
        out += word;
        if names.contains(&word) {
            out += &at.to_string();
        }
        out += &part[word.len()..];
    }
    out
}

const LINKERD: &str = "{apiVersion: v1, kind: Service, metadata: {name: sNUMBER, namespace: a, annotations: {retry.linkerd.io/http: 5xx}}}
---
{apiVersion: linkerd.io/v1alpha2, kind: ServiceProfile, metadata: {name: pNUMBER.a.svc.cluster.local}, spec: {routes: [{name: a, condition: {}, isRetryable: true}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: rNUMBER, annotations: {retry.linkerd.io/http: 5xx}}, spec: {parentRefs: [{name: sNUMBER}], rules: [{}]}}";

const GATEWAY_API: &str = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: rNUMBER}, spec: {rules: [{backendRefs: [{name: bNUMBER}], retry: {attempts: 2}}]}}
---
{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackendTrafficPolicy, metadata: {name: pNUMBER}, spec: {targetRefs: [{name: bNUMBER}], retryConstraint: {budget: {percent: 20}}}}";

const ENVOY_GATEWAY: &str = "{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: BackendTrafficPolicy, metadata: {name: pNUMBER}, spec: {targetRefs: [{kind: HTTPRoute, name: rNUMBER}], retry: {numRetries: 2}}}
---
{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: BackendTrafficPolicy, metadata: {name: gNUMBER}, spec: {targetRefs: [{kind: Gateway, name: eNUMBER}], retry: {numRetries: 2}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: rNUMBER}, spec: {parentRefs: [{name: eNUMBER}], rules: [{}]}}";

/// Many policies, each of a route of the one gateway.
const ONE_GATEWAY: &str = "{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: BackendTrafficPolicy, metadata: {name: pNUMBER}, spec: {targetRefs: [{kind: HTTPRoute, name: rNUMBER}], retry: {numRetries: 2}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: rNUMBER}, spec: {parentRefs: [{name: eg}], rules: [{}]}}";

const ISTIO: &str = "{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: sNUMBER, namespace: a}, spec: {hosts: [sNUMBER], http: [{route: [{destination: {host: sNUMBER}}], retries: {attempts: 3}}]}}
---
{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {name: sNUMBER, namespace: a}, spec: {host: sNUMBER, trafficPolicy: {connectionPool: {http: {maxRetries: 5}}}}}";

const ENVOY: &str = "static_resources:
  listeners:
  - filter_chains: [{filters: [{typed_config: {route_config: {name: tNUMBER, virtual_hosts: [{name: a, domains: ['*'], routes: [{match: {prefix: /}, route: {cluster: cNUMBER, retry_policy: {retry_on: 5xx}}}]}]}}}]}]
  clusters: [{name: cNUMBER, connect_timeout: 1s}]";

const ENVOY_RDS: &str = "static_resources:
  listeners:
  - filter_chains: [{filters: [{typed_config: {rds: {route_config_name: tNUMBER, config_source: {ads: {}}}}}]}]
---
{name: tNUMBER, virtual_hosts: [{name: a, domains: ['*'], routes: [{match: {prefix: /}, route: {cluster: cNUMBER, retry_policy: {retry_on: 5xx}}}]}]}";
