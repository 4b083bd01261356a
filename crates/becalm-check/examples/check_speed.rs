//! How long does it take to check a file of a thousand lines, of each system, two thousand services, and one line of 16 MiB?
//! `scripts/prove check` runs this in a release build.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use becalm_check::{File, Settings, System, check};

const LINES: usize = 1000;
/// The bar.
const BAR: Duration = Duration::from_millis(50);
/// Of so many runs the median is told.
const RUNS: usize = 11;

fn main() -> ExitCode {
    let mut is_met = true;
    for system in System::all() {
        let (name, text) = file(system.name);
        let mut times = Vec::new();
        let mut mappings = 0;
        for _ in 0..RUNS {
            let begun = Instant::now();
            let checked = check(&[File::new(&name, &text)], &Settings::default());
            times.push(begun.elapsed());
            mappings = checked.mappings.len();
        }
        times.sort();
        let [first, .., last] = &times[..] else {
            continue;
        };
        let median = times[RUNS / 2];
        let millis = |it: Duration| it.as_secs_f64() * 1000.0;
        println!(
            "{:22} {:5} lines, {mappings:4} mappings: {:6.2} ms ({:.2} to {:.2})",
            system.name,
            text.lines().count(),
            millis(median),
            millis(*first),
            millis(*last)
        );
        is_met &= median <= BAR && mappings > 0;
    }
    for (what, name, text, bar) in giants() {
        let begun = Instant::now();
        let checked = check(&[File::new(name, &text)], &Settings::default());
        let took = begun.elapsed();
        println!(
            "{what}: {} findings, {} mappings in {:.2} s, of {} s at most",
            checked.findings.len(),
            checked.mappings.len(),
            took.as_secs_f64(),
            bar.as_secs()
        );
        is_met &= took <= bar;
    }
    println!(
        "at most {} ms: {}",
        BAR.as_millis(),
        if is_met { "kept" } else { "not kept" }
    );
    if is_met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Two thousand services of Istio with a rule each, as documents and as a list of a cluster, and one line that is as long as a file may be.
fn giants() -> Vec<(&'static str, &'static str, String, Duration)> {
    let resource = |at: usize| {
        format!(
            "apiVersion: networking.istio.io/v1\n  kind: VirtualService\n  metadata: {{name: s{at}, namespace: n{at}}}\n  spec: {{hosts: [s{at}], http: [{{route: [{{destination: {{host: s{at}}}}}], retries: {{attempts: 3, retryOn: 5xx}}}}]}}\n\
             - apiVersion: networking.istio.io/v1\n  kind: DestinationRule\n  metadata: {{name: s{at}, namespace: n{at}}}\n  spec: {{host: s{at}, trafficPolicy: {{connectionPool: {{http: {{maxRetries: 5}}}}}}}}\n"
        )
    };
    let items: Vec<_> = (0..SERVICES)
        .map(|at| format!("- {}", resource(at)))
        .collect();
    let list = format!("apiVersion: v1\nkind: List\nitems:\n{}", items.concat());
    let documents = items
        .concat()
        .replace("\n- ", "\n---\n")
        .replace("\n  ", "\n");
    let documents = documents.trim_start_matches("- ").to_owned();
    let entry = "{\"name\":[{\"service\":\"shop.v1.Orders\"}],\"timeout\":\"5s\"},";
    let entries = entry.repeat((16 << 20) / entry.len() - 1);
    let line = format!("{{\"values\":[{}]}}", entries.trim_end_matches(','));
    let entry = "{\"name\":[{}]},";
    let entries = entry.repeat((16 << 20) / entry.len() - 2);
    let findings = format!("{{\"methodConfig\":[{}]}}", entries.trim_end_matches(','));
    vec![
        (
            "2,000 services, as documents",
            "all.yaml",
            documents,
            Duration::from_secs(1),
        ),
        (
            "2,000 services, as a list",
            "stdin",
            list,
            Duration::from_secs(1),
        ),
        (
            "one line of 16 MiB",
            "config.json",
            line,
            Duration::from_secs(2),
        ),
        (
            "one line of 16 MiB, a finding in each entry",
            "config.json",
            findings,
            Duration::from_secs(2),
        ),
    ]
}

const SERVICES: usize = 2000;

/// A file of the system, with its name: what stands in its golden file, as often as it takes.
fn file(system: &str) -> (String, String) {
    match system {
        "envoy" => (
            "envoy.yaml".into(),
            repeated(ENVOY, "                  ROUTE", ROUTE),
        ),
        "grpc" => (
            "grpc.json".into(),
            repeated(
                "{\"methodConfig\": [\nENTRY\n{\"name\": [{}]}]}\n",
                "ENTRY",
                ENTRY,
            ),
        ),
        "nginx" => (
            "nginx.conf".into(),
            repeated(
                "events {}\nhttp {\nupstream orders { server 127.0.0.1:81; server 127.0.0.1:82; }\nserver {\nlisten 127.0.0.1:80;\nLOCATION\n}\n}\n",
                "LOCATION",
                LOCATION,
            ),
        ),
        "haproxy" => (
            "haproxy.cfg".into(),
            repeated("defaults\n  mode http\nBACKEND\n", "BACKEND", BACKEND),
        ),
        "aws-config" => (
            "config".into(),
            repeated(
                "[default]\nregion = eu-central-1\nPROFILE\n",
                "PROFILE",
                PROFILE,
            ),
        ),
        "becalm" => (
            "policy.toml".into(),
            repeated("attempts = 4\nCOMMENT\n", "COMMENT", "# a comment"),
        ),
        other => documents(other),
    }
}

/// The text with so many of the part, numbered, that it has a thousand lines.
fn repeated(text: &str, place: &str, part: &str) -> String {
    let times = LINES.div_ceil(part.lines().count());
    let parts: Vec<_> = (0..times)
        .map(|at| part.replace("NUMBER", &at.to_string()))
        .collect();
    text.replace(place, &parts.join("\n"))
}

/// The golden file, as documents one after the other.
fn documents(system: &str) -> (String, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let is_of = |path: &Path| {
        path.file_stem().is_some_and(|it| it == system)
            && path.extension().is_some_and(|it| it != "expected")
    };
    let mut files = fs::read_dir(folder)
        .expect("a folder")
        .map(|it| it.expect("a file").path());
    let path = files
        .find(|it| is_of(it))
        .expect("each system has a golden file");
    let text = fs::read_to_string(&path).expect("a text");
    let times = LINES.div_ceil(text.lines().count() + 1);
    let name = path
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    (name, vec![text; times].join("---\n"))
}

const ENVOY: &str = r#"static_resources:
  listeners:
  - name: in
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          route_config:
            virtual_hosts:
            - name: shop
              domains: ["*"]
              routes:
                  ROUTE
  clusters:
  - name: orders
    connect_timeout: 1s
    circuit_breakers:
      thresholds:
      - retry_budget: {budget_percent: {value: 20}}
"#;

const ROUTE: &str = r#"              - match: {prefix: /NUMBER}
                route:
                  cluster: orders
                  timeout: 15s
                  retry_policy:
                    retry_on: "5xx,reset,retriable-status-codes"
                    retriable_status_codes: [429]
                    num_retries: 3
                    per_try_timeout: 2s
                    retry_back_off: {base_interval: 0.1s, max_interval: 1s}"#;

const ENTRY: &str = r#"{
  "name": [{"service": "shop.v1.OrdersNUMBER"}],
  "timeout": "10s",
  "retryPolicy": {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"]
  }
},"#;

const LOCATION: &str = "location /NUMBER {
  proxy_pass http://orders;
  proxy_read_timeout 5s;
  proxy_next_upstream error timeout http_503 non_idempotent;
  proxy_next_upstream_tries 3;
}";

const BACKEND: &str = "backend orders-NUMBER
  retries 3
  retry-on all-retryable-errors
  option redispatch
  timeout server 5s
  server a 127.0.0.1:8081 check";

const PROFILE: &str = "
[profile team-NUMBER]
region = eu-central-1
retry_mode = adaptive
max_attempts = 10
s3 =
  max_concurrent_requests = 20";
