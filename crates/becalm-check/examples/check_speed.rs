//! How long does it take to check a file of a thousand lines, of each system, two thousand services, and one line of 16 MiB?
//! `scripts/prove check` runs this in a release build.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use becalm_check::{File, Settings, System, check};

const LINES: usize = 1000;
/// The bar.
const BAR: Duration = Duration::from_millis(50);
/// Of so many runs the median is told.
const RUNS: usize = 11;

fn main() -> ExitCode {
    let mut is_met = true;
    // A part of the name of a line of 16 MiB.
    let only = std::env::args().nth(1).unwrap_or_default();
    for system in System::all().filter(|_| only.is_empty()) {
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
    for (what, name, text, bar) in giants(&only) {
        let begun = on_a_core();
        let checked = check(&[File::new(name, &text)], &Settings::default());
        let took = on_a_core().saturating_sub(begun);
        println!(
            "{what}: {} findings, {} mappings in {:.2} s, of {} s at most",
            checked.findings.len() + checked.more.iter().map(|it| it.findings).sum::<usize>(),
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

fn mib() -> usize {
    std::env::args()
        .nth(2)
        .and_then(|it| it.parse().ok())
        .unwrap_or(16)
}
/// How long this program was on a core, where Linux says it: others may be there, too.
fn on_a_core() -> Duration {
    let told = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = told.split(' ').next().and_then(|it| it.parse().ok());
    nanos.map_or_else(since_start, Duration::from_nanos)
}

fn since_start() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Two thousand services of Istio with a rule each, as documents and as a list of a cluster, and one line that is as long as a file may be.
fn giants(only: &str) -> Vec<(&'static str, &'static str, String, Duration)> {
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
    let second = Duration::from_secs(1);
    let services = [
        (
            "2,000 services, as documents",
            "all.yaml",
            documents,
            second,
        ),
        ("2,000 services, as a list", "stdin", list, second),
    ];
    let lines = LONG.iter().filter(|it| it.0.contains(only));
    let lines = lines.map(|(what, name, before, entry, after)| {
        let length = entry.replace("NUMBER", "1000000").len();
        let many = ((mib() << 20) - before.len() - after.len()) / length;
        let entries = (0..many).map(|at| entry.replace("NUMBER", &at.to_string()));
        let entries: String = entries.collect();
        let line = format!("{before}{}{after}", entries.trim_end_matches(','));
        let bar = if *what == LADEN { 8 } else { 2 };
        (*what, *name, line, Duration::from_secs(bar))
    });
    let services = services.into_iter().filter(|it| it.0.contains(only));
    services.chain(lines).collect()
}

/// A line with hundreds of thousands of sections. No file that is meant is such: the bar says that it does not grow faster than its length.
const LADEN: &str = "profiles";

/// Lines of 16 MiB: what they are, the name of the file, what stands before the entries, an entry, what stands after them.
const LONG: &[(&str, &str, &str, &str, &str)] = &[
    (
        "one line of 16 MiB: JSON",
        "config.json",
        "{\"values\":[",
        "{\"name\":[{\"service\":\"shop.v1.Orders\"}],\"timeout\":\"5s\"},",
        "]}",
    ),
    (
        "JSON, a finding in each entry",
        "config.json",
        "{\"methodConfig\":[",
        "{\"name\":[{}]},",
        "]}",
    ),
    (
        "JSON, one key again and again",
        "config.json",
        "{\"methodConfig\":[{",
        "\"retries\":1,",
        "}]}",
    ),
    (
        "JSON, a field that is not there in each entry",
        "config.json",
        "{\"apiVersion\":\"networking.istio.io/v1\",\"kind\":\"VirtualService\",\"spec\":{\"x\":[",
        "{\"retries\":1},",
        "]}}",
    ),
    (
        "YAML in braces",
        "routes.yaml",
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec: {hosts: [a], http: [",
        "{route: [{destination: {host: a}}], retries: {attemps: 3}},",
        "]}",
    ),
    (
        "YAML in braces, a policy and two findings in each entry",
        "routes.yaml",
        "{apiVersion: networking.istio.io/v1, kind: VirtualService, spec: {hosts: [a], http: [",
        "{route: [{destination: {host: aNUMBER}}], retries: {attempts: 3, perTryTimeout: 2s}},",
        "]}}\n",
    ),
    (
        "YAML in braces, quoted, after a comment",
        "routes.yaml",
        "# routes\n{apiVersion: networking.istio.io/v1, kind: VirtualService, spec: {hosts: [a], http: [",
        "{route: [{destination: {host: 'aNUMBER'}}], retries: {attempts: 3, perTryTimeout: 2s}},",
        "]}}\n",
    ),
    (
        "JSON, a policy and two findings in each entry",
        "routes.json",
        "{\"apiVersion\":\"networking.istio.io/v1\",\"kind\":\"VirtualService\",\"spec\":{\"http\":[",
        "{\"route\":[{\"destination\":{\"host\":\"aNUMBER\"}}],\"retries\":{\"attempts\":3,\"perTryTimeout\":\"2s\"}},",
        "]}}\n",
    ),
    (
        "YAML in braces below keys, with commas at ends",
        "routes.yaml",
        "apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec:\n  hosts: [a]\n  http: [",
        "{route: [{destination: {host: 'aNUMBER',}}], retries: {attempts: 3, perTryTimeout: 2s}}, ",
        "]\n",
    ),
    ("numbers in a list", "list.yaml", "[", "1,", "]"),
    (
        "properties",
        "application.properties",
        "resilience4j.retry.instances.a.maxAttempts=",
        "3 retries ",
        "",
    ),
    (
        "nginx",
        "nginx.conf",
        "events {} http { server { ",
        "location /a { proxy_pass http://b; proxy_next_upstream error non_idempotent; } ",
        "} }",
    ),
    (
        "nginx, words of one directive",
        "nginx.conf",
        "events {} http { server { location / { proxy_pass http://b; proxy_next_upstream ",
        "error ",
        "; } } }",
    ),
    (
        "HAProxy, words of one line",
        "haproxy.cfg",
        "defaults\n  mode http\nbackend a\n  server a 127.0.0.1:1\n  retry-on ",
        "conn-failure ",
        "\n",
    ),
    (
        "Resilience4j, a config that is not there for each instance",
        "application.properties",
        "",
        "resilience4j.retry.instances.iNUMBER.baseConfig=b\n",
        "",
    ),
    (
        "profiles",
        "config",
        "[default]\nregion = eu\n",
        "[profile pNUMBER]\nregion = eu\n",
        "",
    ),
    (
        "a profile",
        "config",
        "[default]\nretry_mode = ",
        "standard ",
        "\n",
    ),
];

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
