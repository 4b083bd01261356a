//! Envoy: what its filters ask for, and the connections of `tcp_proxy`.

use becalm_check::{Checked, Mapping};
use becalm_http_faults::{Server, Version};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::envoy::{SYSTEM, does, envoy, is_installed};
use crate::http::ask_with;
use crate::predicted::{Fails, attempts, is_refused, read};
use crate::processes::{end, free_port, starts};

const CLUSTER: &str = "asked";

/// A filter whose requests are counted, and how they fail.
struct Case {
    filter: &'static str,
    is_grpc: bool,
    fails: Fails,
    /// Of the request that makes the filter ask.
    head: &'static str,
}

const fn http(filter: &'static str, fails: Fails) -> Case {
    Case {
        filter,
        is_grpc: false,
        fails,
        head: "",
    }
}

const DOWN: Fails = Fails::Status(503);

const HTTP_AUTHZ: &str = "{name: a, typed_config: {\"@type\": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz, http_service: {server_uri: {uri: \"http://asked/\", cluster: asked, timeout: 5s}, REST}}}";
const GRPC_AUTHZ: &str = "{name: a, typed_config: {\"@type\": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz, transport_api_version: V3, grpc_service: {envoy_grpc: {cluster_name: asked}, timeout: 5s, REST}}}";
const JWKS: &str = "{name: a, typed_config: {\"@type\": type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication, providers: {a: {issuer: a, remote_jwks: {http_uri: {uri: \"http://asked/keys\", cluster: asked, timeout: 5s}, REST}}}, rules: [{match: {prefix: /}, requires: {provider_name: a}}]}}";

/// `{"alg":"RS256"}`, `{"iss":"a"}`, and an invented signature.
const TOKEN: &str = "Authorization: Bearer eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.c2ln\r\n";

/// Of a retry policy: short waits, which are how long an attempt lasts, too.
const WAITS: &str = "retry_back_off: {base_interval: 0.01s, max_interval: 0.3s}";

fn cases() -> Vec<(Case, String)> {
    let with = |case: Case, retry: &str| {
        let retry = match retry {
            "" => String::new(),
            retry => format!("retry_policy: {{{retry}{WAITS}}}"),
        };
        let filter = case.filter.replace(
            ", REST",
            &match &*retry {
                "" => String::new(),
                retry => format!(", {retry}"),
            },
        );
        (case, filter)
    };
    let grpc = |fails| Case {
        is_grpc: true,
        ..http(GRPC_AUTHZ, fails)
    };
    let jwks = |fails| Case {
        head: TOKEN,
        ..http(JWKS, fails)
    };
    let unavailable = Fails::Code(14);
    vec![
        with(http(HTTP_AUTHZ, DOWN), ""),
        with(http(HTTP_AUTHZ, DOWN), "num_retries: 2, "),
        with(http(HTTP_AUTHZ, DOWN), "retry_on: 5xx, num_retries: 2, "),
        with(http(HTTP_AUTHZ, DOWN), "retry_on: 5xx, "),
        with(http(HTTP_AUTHZ, Fails::Status(403)), "retry_on: 5xx, "),
        with(
            http(HTTP_AUTHZ, Fails::HangsUp),
            "retry_on: reset, num_retries: 3, ",
        ),
        with(
            http(HTTP_AUTHZ, Fails::Stalls),
            "retry_on: 5xx, num_retries: 2, ",
        ),
        with(grpc(unavailable), ""),
        with(grpc(unavailable), "num_retries: 2, "),
        with(grpc(unavailable), "retry_on: unavailable, num_retries: 2, "),
        with(grpc(unavailable), "retry_on: internal, num_retries: 2, "),
        with(jwks(DOWN), ""),
        with(jwks(DOWN), "num_retries: 2, "),
        with(jwks(DOWN), "retry_on: retriable-4xx, num_retries: 2, "),
        with(jwks(Fails::HangsUp), "num_retries: 2, "),
        with(jwks(Fails::Status(404)), "num_retries: 2, "),
        with(jwks(DOWN), " "),
    ]
}

/// A listener with these network filters, and the cluster that is asked.
fn bootstrap(filters: &str, port: u16, to: u16, more: &str) -> String {
    format!(
        "static_resources:
  listeners:
  - name: in
    address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters: [{filters}]
  clusters:
  - {{name: {CLUSTER}, type: STATIC, connect_timeout: 1s, load_assignment: {{cluster_name: {CLUSTER}, endpoints: [{{lb_endpoints: [{{endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {to}}}}}}}}}]}}]}}{more}}}
"
    )
}

fn manager(filter: &str) -> String {
    format!(
        "{{name: http, typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager, stat_prefix: in, \
         http_filters: [{filter}, {{name: router, typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}}}], \
         route_config: {{virtual_hosts: [{{name: shop, domains: [\"*\"], routes: [{{match: {{prefix: /}}, direct_response: {{status: 200}}}}]}}]}}}}}}"
    )
}

/// That of what is asked; the routes have none.
fn mapping(checked: &Checked) -> Option<&Mapping> {
    assert!(checked.mappings.len() <= 1, "{:?}", checked.mappings);
    checked.mappings.first()
}

const HTTP2: &str = ", typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {\"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, explicit_http_config: {http2_protocol_options: {}}}}";

#[tokio::test]
async fn filters_ask_as_often_as_the_mapping_says() {
    if !is_installed().await {
        return;
    }
    let mut wrong = Vec::new();
    for (case, filter) in cases() {
        let (version, more) = if case.is_grpc {
            (Version::Http2, HTTP2)
        } else {
            (Version::Http1, "")
        };
        let server = Server::start(version, vec![does(case.fails); 20]).await;
        let port = free_port();
        let text = bootstrap(&manager(&filter), port, server.port, more);
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("envoy.yaml");
        std::fs::write(&path, &text).expect("a file");
        let checked = read(SYSTEM, &text);
        assert!(!is_refused(&checked), "{filter}: {:?}", checked.findings);
        let process = starts(&mut envoy(&path), port).await;
        let process = process.expect("it takes the file");
        let (status, _) = ask_with(port, "GET", case.head).await;
        end(process).await;
        let expected = attempts(mapping(&checked), "GET", case.fails);
        if status == 200 || u32::try_from(server.count()) != Ok(expected) {
            wrong.push(format!(
                "{filter} {:?}: {} of {expected}, {status}",
                case.fails,
                server.count()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Fields of a `tcp_proxy` whose server does not listen.
const CONNECTIONS: &[&str] = &[
    "",
    ", max_connect_attempts: 1",
    ", max_connect_attempts: 4",
    ", maxConnectAttempts: \"3\"",
    ", max_connect_attempts: 3, backoff_options: {base_interval: 0.02s}",
    // Refused.
    ", max_connect_attempts: 0",
];

#[tokio::test]
async fn tcp_proxy_connects_as_often_as_the_mapping_says() {
    if !is_installed().await {
        return;
    }
    for fields in CONNECTIONS {
        let directory = TempDir::new().expect("a directory");
        let (path, log) = (
            directory.path().join("envoy.yaml"),
            directory.path().join("log"),
        );
        let port = free_port();
        let filter = format!(
            "{{name: tcp, typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy, stat_prefix: in, cluster: {CLUSTER}{fields}, \
             access_log: [{{name: file, typed_config: {{\"@type\": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog, path: {}, log_format: {{text_format_source: {{inline_string: \"%UPSTREAM_REQUEST_ATTEMPT_COUNT%\\n\"}}}}}}}}]}}}}",
            log.display()
        );
        let text = bootstrap(&filter, port, free_port(), "");
        std::fs::write(&path, &text).expect("a file");
        let checked = read(SYSTEM, &text);
        let process = starts(&mut envoy(&path), port).await;
        assert_eq!(
            process.is_none(),
            is_refused(&checked),
            "{fields}: {:?}",
            checked.findings
        );
        let Some(process) = process else {
            continue;
        };
        let stream = TcpStream::connect(("127.0.0.1", port)).await;
        let mut answer = Vec::new();
        let _ = stream.expect("it listens").read_to_end(&mut answer).await;
        end(process).await;
        let log = std::fs::read_to_string(log).expect("a log");
        let expected = attempts(mapping(&checked), "GET", Fails::Refuses);
        // The connection that found that it listens is one, too, and may leave before its last attempt.
        let counted = log.lines().map(|it| it.parse().expect("a count"));
        assert_eq!(counted.max(), Some(expected), "{fields}");
    }
}
