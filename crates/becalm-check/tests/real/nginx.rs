//! nginx.

use std::time::Instant;

use becalm_check::Finding;
use becalm_http_faults::{Does, Server, Version};
use tempfile::TempDir;
use tokio::process::Command;

use crate::http::ask;
use crate::predicted::{Fails, assert_timed_out, attempts, is_refused, read};
use crate::processes::{end, free_port, is_there, starts};

/// Directives of a location, the servers of its upstream (`S`: one that answers as told; `D`: nobody), and requests.
type Case = (&'static str, &'static str, &'static [(&'static str, Fails)]);

const GET: &str = "GET";
const POST: &str = "POST";

const CASES: &[Case] = &[
    (
        "",
        "S S S",
        &[
            (GET, Fails::HangsUp),
            (POST, Fails::HangsUp),
            (GET, Fails::Status(503)),
        ],
    ),
    (
        "proxy_next_upstream error timeout http_503;",
        "S S S",
        &[
            (GET, Fails::Status(503)),
            (POST, Fails::Status(503)),
            (GET, Fails::Status(502)),
            ("PATCH", Fails::Status(503)),
            ("PUT", Fails::Status(503)),
            ("DELETE", Fails::HangsUp),
            ("LOCK", Fails::HangsUp),
            ("PROPFIND", Fails::HangsUp),
        ],
    ),
    (
        "proxy_next_upstream error timeout http_503 non_idempotent;",
        "S S S",
        &[
            (POST, Fails::Status(503)),
            (POST, Fails::HangsUp),
            (GET, Fails::Status(500)),
        ],
    ),
    (
        "proxy_next_upstream http_503; proxy_next_upstream_tries 2;",
        "S S S",
        &[(GET, Fails::Status(503))],
    ),
    (
        "proxy_next_upstream http_503; proxy_next_upstream_tries 9;",
        "S S",
        &[(GET, Fails::Status(503))],
    ),
    (
        "proxy_next_upstream http_503; proxy_next_upstream_tries 0;",
        "S S",
        &[(GET, Fails::Status(503))],
    ),
    (
        "proxy_next_upstream http_503;",
        "S",
        &[(GET, Fails::Status(503))],
    ),
    (
        "proxy_next_upstream http_503;",
        "S; S|down; S|backup",
        &[(GET, Fails::Status(503))],
    ),
    ("proxy_next_upstream off;", "S S", &[(GET, Fails::HangsUp)]),
    (
        "proxy_next_upstream error; proxy_next_upstream off;",
        "S S",
        &[(GET, Fails::HangsUp)],
    ),
    (
        "proxy_next_upstream error; proxy_next_upstream http_503;",
        "S S",
        &[(GET, Fails::Status(503)), (GET, Fails::HangsUp)],
    ),
    (
        "proxy_next_upstream http_500 http_502 http_504 http_403 http_404 http_429;",
        "S S",
        &[
            (GET, Fails::Status(500)),
            (GET, Fails::Status(502)),
            (GET, Fails::Status(504)),
            (GET, Fails::Status(403)),
            (GET, Fails::Status(404)),
            (GET, Fails::Status(429)),
            (GET, Fails::Status(503)),
            (GET, Fails::HangsUp),
        ],
    ),
    (
        "proxy_read_timeout 150ms;",
        "S S S",
        &[(GET, Fails::Stalls), (POST, Fails::Stalls)],
    ),
    (
        "proxy_read_timeout 150ms; proxy_next_upstream error;",
        "S S",
        &[(GET, Fails::Stalls)],
    ),
    (
        "proxy_read_timeout 400ms; proxy_next_upstream_timeout 500ms;",
        "S S S",
        &[(GET, Fails::Stalls)],
    ),
    (
        "",
        "D D D",
        &[(GET, Fails::Refuses), (POST, Fails::Refuses)],
    ),
    (
        "proxy_next_upstream timeout;",
        "D D",
        &[(GET, Fails::Refuses)],
    ),
    (
        "set $to orders; proxy_pass http://$to; proxy_next_upstream http_503;",
        "S S S",
        &[(GET, Fails::Status(503)), (POST, Fails::Status(503))],
    ),
    (
        "set $to http://orders; proxy_pass $to;",
        "S S",
        &[(GET, Fails::HangsUp)],
    ),
    (
        "proxy_pass http://$mapped; proxy_next_upstream http_503;",
        "S S S",
        &[(GET, Fails::Status(503))],
    ),
    // Refused.
    ("proxy_pass http://orders:80;", "S S", &[]),
    ("proxy_pass orders;", "S S", &[]),
    ("proxy_next_upsteam error;", "S S", &[]),
    ("Proxy_next_upstream error;", "S S", &[]),
    ("if ($uri) { proxy_next_upstream error; }", "S S", &[]),
    (
        "limit_except GET { proxy_next_upstream_tries 2; }",
        "S S",
        &[],
    ),
    ("proxy_next_upstream_retries 5;", "S S", &[]),
    ("proxy_request_buffering no;", "S S", &[]),
    ("proxy_next_upstream http_501;", "S S", &[]),
    ("proxy_next_upstream;", "S S", &[]),
    (
        "proxy_next_upstream_tries 2; proxy_next_upstream_tries 3;",
        "S S",
        &[],
    ),
    ("proxy_next_upstream_tries -1;", "S S", &[]),
    ("proxy_next_upstream_tries two;", "S S", &[]),
    ("proxy_next_upstream_timeout 1x;", "S S", &[]),
    ("proxy_read_timeout 1s1m;", "S S", &[]),
    ("proxy_next_upstream error", "S S", &[]),
    ("proxy_next_upstream 'error'timeout;", "S S", &[]),
    ("}", "S S", &[]),
];

fn configuration(directory: &TempDir, case: &Case, alive: u16, dead: u16, port: u16) -> String {
    let servers = case
        .1
        .split([' ', ';'])
        .filter(|it| !it.is_empty())
        .map(|it| {
            let port = if it.starts_with('S') { alive } else { dead };
            let more = it.split_once('|').map_or("", |(_, more)| more);
            format!("server 127.0.0.1:{port} max_fails=0 {more};\n")
        });
    format!(
        "daemon off; worker_processes 1; user root;
pid {place}/nginx.pid;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {place}/a; proxy_temp_path {place}/b; fastcgi_temp_path {place}/c;
    uwsgi_temp_path {place}/d; scgi_temp_path {place}/e;
    add_header X-Asked $upstream_addr always; # an address for each attempt
    upstream orders {{
        {servers}
    }}
    map $request_method $mapped {{ default orders; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            {pass}
            {said}
        }}
    }}
}}
",
        place = directory.path().display(),
        servers = servers.collect::<String>(),
        pass = if case.0.contains("proxy_pass") {
            ""
        } else {
            "proxy_pass http://orders;"
        },
        said = case.0
    )
}

#[tokio::test]
async fn nginx_asks_as_many_servers_as_the_mapping_says() {
    if !is_there(
        Command::new("nginx").arg("-v"),
        "Debian's package nginx-light",
    )
    .await
    {
        return;
    }
    for case in CASES {
        let directory = TempDir::new().expect("a directory");
        let (port, dead) = (free_port(), free_port());
        let path = directory.path().join("nginx.conf");
        for (method, fails) in case
            .2
            .iter()
            .copied()
            .map(Some)
            .chain([None])
            .take(case.2.len().max(1))
            .map(|it| it.unwrap_or((GET, Fails::HangsUp)))
        {
            let does = match fails {
                Fails::Status(status) => Does::Answer(status),
                Fails::Stalls => Does::Stall,
                _ => Does::CloseAfterRequest,
            };
            let server = Server::start(Version::Http1, vec![does; 20]).await;
            let text = configuration(&directory, case, server.port, dead, port);
            let checked = read("nginx@1.22", &text);
            std::fs::write(&path, &text).expect("a file");
            let mut nginx = Command::new("nginx");
            nginx.arg("-p").arg(directory.path()).arg("-c").arg(&path);
            nginx.arg("-e").arg(directory.path().join("error.log"));
            let process = starts(&mut nginx, port).await;
            assert_eq!(
                process.is_none(),
                is_refused(&checked),
                "{case:?}: {:?}",
                checked.findings
            );
            let Some(process) = process else {
                break;
            };
            let began = Instant::now();
            let (_, head) = ask(port, method).await;
            let took = began.elapsed();
            let asked = head.lines().find_map(|it| it.strip_prefix("X-Asked: "));
            let asked = asked.map_or(0, |it| it.split(", ").count());
            // Where a variable leads is not known here, and nothing is claimed of it.
            if case.0.contains('$') {
                assert!(asked > 1 || method == POST, "{case:?}: {head}");
                assert!(checked.mappings.is_empty(), "{case:?}");
                let told = |it: &Finding| it.sentence.contains("not known here");
                assert!(checked.findings.iter().all(told), "{:?}", checked.findings);
                end(process).await;
                continue;
            }
            let expected = attempts(checked.mappings.first(), method, fails);
            assert_eq!(
                u32::try_from(asked),
                Ok(expected),
                "{case:?} {method} {fails:?}: {head}"
            );
            if fails != Fails::Refuses {
                assert_eq!(server.count(), asked, "{case:?} {method} {fails:?}");
            }
            if fails == Fails::Stalls {
                let mapping = checked.mappings.first();
                assert_timed_out(&format!("{case:?}"), mapping, expected, took);
            }
            end(process).await;
        }
    }
}
