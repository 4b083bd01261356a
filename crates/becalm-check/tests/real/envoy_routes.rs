//! Envoy: routes whose streams end early, whose redirects Envoy follows, and that lead to several clusters.

use std::time::Duration;

use becalm_check::Checked;
use becalm_http_faults::{Does, Server, Version};
use tempfile::TempDir;

use crate::envoy::{SYSTEM, envoy, is_installed};
use crate::http::ask;
use crate::predicted::{Fails, attempts, is_refused, read};
use crate::processes::{end, free_port, starts};

/// What stands in the file beside the route.
#[derive(Debug, Clone, Copy, Default)]
struct Case<'a> {
    manager: &'a str,
    /// In place of `cluster: orders`.
    to: &'a str,
    route: &'a str,
    /// Of its virtual host.
    host: &'a str,
    /// Of the cluster `orders`.
    orders: &'a str,
}

fn configuration(case: Case<'_>, to: u16, port: u16) -> String {
    let and = |more: &str| match more {
        "" => String::new(),
        more => format!(", {more}"),
    };
    let cluster = |name: &str, more: &str| {
        format!(
            "  - {{name: {name}, type: STATIC, connect_timeout: 1s, load_assignment: {{cluster_name: {name}, endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {to}}}}}}}}}]}}]}}{}}}\n",
            and(more)
        )
    };
    format!(
        "static_resources:
  listeners:
  - name: in
    address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: http
        typed_config:
          \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: in
          {manager}
          http_filters:
          - {{name: router, typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}}}
          route_config: {{virtual_hosts: [{{name: shop, domains: [\"*\"]{host}, routes: [{{match: {{prefix: /}}, route: {{{to}{route}}}}}]}}]}}
  clusters:
{orders}{spare}",
        manager = case.manager,
        host = and(case.host),
        to = if case.to.is_empty() { "cluster: orders" } else { case.to },
        route = and(case.route),
        orders = cluster("orders", case.orders),
        spare = cluster("spare", ""),
    )
}

/// What the file says, and how many requests came to a server that does this.
async fn counted(case: Case<'_>, script: Vec<Does>) -> (Checked, usize) {
    let server = Server::start(Version::Http1, script).await;
    let port = free_port();
    let text = configuration(case, server.port, port);
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("envoy.yaml");
    std::fs::write(&path, &text).expect("a file");
    let checked = read(SYSTEM, &text);
    assert!(!is_refused(&checked), "{case:?}: {:?}", checked.findings);
    let process = starts(&mut envoy(&path), port).await;
    let process = process.expect("it takes the file");
    ask(port, "GET").await;
    end(process).await;
    (checked, server.count())
}

fn says<'c>(checked: &'c Checked, code: &str) -> Option<&'c str> {
    let mut findings = checked.findings.iter();
    findings.find(|it| it.code == code).map(|it| &*it.sentence)
}

const STALLED: &str = "timeout: 20s, retry_policy: {retry_on: 5xx, num_retries: 4, per_try_timeout: 0.4s, retry_back_off: {base_interval: 0.01s, max_interval: 0.01s}}";

#[tokio::test]
async fn a_stream_that_is_idle_ends_before_the_retries_that_the_finding_tells() {
    if !is_installed().await {
        return;
    }
    let of_route = |idle: &str| format!("idle_timeout: {idle}, {STALLED}");
    // An idle time, where it stands, and whether all attempts are made.
    for (idle, is_of_route, has_room) in [
        ("1s", true, false),
        ("1s", false, false),
        ("0.6s", true, false),
        ("8s", true, true),
        ("8s", false, true),
        ("0s", true, true),
    ] {
        let (route, manager) = if is_of_route {
            (of_route(idle), "stream_idle_timeout: 0.5s".to_owned())
        } else {
            (STALLED.to_owned(), format!("stream_idle_timeout: {idle}"))
        };
        let case = Case {
            manager: &manager,
            route: &route,
            ..Case::default()
        };
        let (checked, seen) = counted(case, vec![Does::Stall; 20]).await;
        let mut mapping = checked.mappings[0].clone();
        assert_eq!(
            says(&checked, "ends-before-retries").is_none(),
            has_room,
            "{case:?}: {:?}",
            checked.findings
        );
        if !has_room {
            let idle: f64 = idle.trim_end_matches('s').parse().expect("a number");
            mapping.policy.deadline = Some(Duration::from_secs_f64(idle));
        }
        let expected = attempts(Some(&mapping), "GET", Fails::Stalls);
        assert_eq!(u32::try_from(seen), Ok(expected), "{case:?}");
    }
}

const TWICE: &str =
    "retry_policy: {retry_on: 5xx, num_retries: 2, retry_back_off: {base_interval: 0.01s}}";

#[tokio::test]
async fn redirects_are_followed_as_often_as_the_note_says() {
    if !is_installed().await {
        return;
    }
    let away = Does::AnswerWith(302, "location", "http://shop/again".to_owned());
    for (policy, most) in [
        ("", 0),
        ("internal_redirect_policy: {}, ", 1),
        ("internal_redirect_policy: {max_internal_redirects: 3}, ", 3),
        ("internalRedirectPolicy: {maxInternalRedirects: 2}, ", 2),
        ("internal_redirect_policy: {max_internal_redirects: 0}, ", 0),
    ] {
        let route = format!("{policy}{TWICE}");
        let case = Case {
            route: &route,
            ..Case::default()
        };
        let (checked, seen) = counted(case, vec![away.clone(); 20]).await;
        assert_eq!(seen, 1 + most, "{case:?}");
        let told = says(&checked, "passed-on-again");
        assert_eq!(told.is_some(), most > 0, "{case:?}: {told:?}");
        if let Some(told) = told {
            assert!(told.contains(&format!("{most} times at most")), "{told}");
        }
        // Where a redirect leads has the retries of its route.
        let script = std::iter::once(away.clone()).chain(vec![Does::Answer(503); 20]);
        let (checked, seen) = counted(case, script.collect()).await;
        let retried = attempts(checked.mappings.first(), "GET", Fails::Status(503));
        let expected = if most > 0 { 1 + retried } else { 1 };
        assert_eq!(u32::try_from(seen), Ok(expected), "{case:?}");
    }
}

const OWN_POLICY: &str = r#"typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {"@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: {http_protocol_options: {}}, retry_policy: {retry_on: 5xx, num_retries: 3}}}"#;

#[tokio::test]
async fn of_several_clusters_the_one_that_is_chosen_has_its_own_policy() {
    if !is_installed().await {
        return;
    }
    let host = "retry_policy: {retry_on: 5xx, num_retries: 1}";
    for (route, host) in [(TWICE, ""), (TWICE, host), ("", host)] {
        for (chosen, other) in [("orders", "spare"), ("spare", "orders")] {
            let to = format!(
                "weighted_clusters: {{clusters: [{{name: {chosen}, weight: 100}}, {{name: {other}, weight: 0}}]}}"
            );
            let case = Case {
                to: &to,
                route,
                host,
                orders: OWN_POLICY,
                ..Case::default()
            };
            let (checked, seen) = counted(case, vec![Does::Answer(503); 20]).await;
            let is_it = |it: &&becalm_check::Mapping| it.names.iter().any(|it| it == chosen);
            let mapping = checked.mappings.iter().find(is_it);
            let expected = attempts(mapping, "GET", Fails::Status(503));
            assert!(mapping.is_some(), "{case:?}: {:?}", checked.mappings);
            assert_eq!(u32::try_from(seen), Ok(expected), "{case:?}");
        }
    }
}

/// A route may add the headers by which a client asks for retries, beside a policy of its own and without one.
#[tokio::test]
async fn headers_that_a_route_adds_repeat_and_are_told() {
    if !is_installed().await {
        return;
    }
    let most = "{header: {key: x-envoy-max-retries, value: \"3\"}}";
    let all = format!(
        "request_headers_to_add: [{{header: {{key: x-envoy-retry-on, value: 5xx}}}}, {most}]"
    );
    let one = format!("request_headers_to_add: [{most}]");
    for (host, route, seen) in [(&all, "", 4), (&one, TWICE, 4), (&one, "", 1)] {
        let case = Case {
            route,
            host,
            ..Case::default()
        };
        let (checked, counted) = counted(case, vec![Does::Answer(503); 20]).await;
        assert_eq!(counted, seen, "{host} {route}");
        let is_told = checked
            .findings
            .iter()
            .any(|it| it.code == "retries-not-read" && it.sentence.contains("x-envoy-"));
        assert!(is_told, "{:?}", checked.findings);
    }
}
