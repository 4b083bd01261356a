//! nginx: connections that are passed on, and requests that an `error_page` passes on again.

use std::path::Path;

use becalm_check::Mapping;
use becalm_http_faults::{Does, Server, Version};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::http::ask;
use crate::predicted::{Fails, attempts, is_refused, read};
use crate::processes::{end, free_port, is_there, starts};

const MODULE: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";

/// Directives of a server, and how many servers its upstream has. None of these listens.
const STREAMS: &[(&str, usize)] = &[
    ("", 3),
    ("proxy_next_upstream on;", 2),
    ("proxy_next_upstream_tries 2;", 3),
    ("proxy_next_upstream_tries 0;", 3),
    ("proxy_next_upstream_tries 9;", 2),
    ("proxy_next_upstream off;", 3),
    ("proxy_next_upstream_timeout 5s;", 3),
    ("", 1),
    // Refused.
    ("proxy_next_upstream error;", 2),
    ("proxy_next_upstream_tries two;", 2),
    ("proxy_next_upsteam on;", 2),
    ("Proxy_next_upstream on;", 2),
];

async fn has_nginx() -> bool {
    let mut nginx = Command::new("nginx");
    is_there(nginx.arg("-v"), "Debian's package nginx-light").await
}

async fn run(directory: &TempDir, path: &Path, port: u16) -> Option<Child> {
    let mut nginx = Command::new("nginx");
    nginx.arg("-p").arg(directory.path()).arg("-c").arg(path);
    nginx.arg("-e").arg(directory.path().join("error.log"));
    starts(&mut nginx, port).await
}

#[tokio::test]
async fn nginx_passes_a_connection_on_as_often_as_the_mapping_says() {
    let mut module = Command::new("test");
    module.arg("-e").arg(MODULE);
    if !has_nginx().await || !is_there(&mut module, "Debian's package libnginx-mod-stream").await {
        return;
    }
    for case in STREAMS {
        let directory = TempDir::new().expect("a directory");
        let (path, log) = (
            directory.path().join("nginx.conf"),
            directory.path().join("log"),
        );
        let port = free_port();
        let server = |_| format!("server 127.0.0.1:{} max_fails=0;\n", free_port());
        let servers = (0..case.1).map(server).collect::<Vec<_>>().concat();
        let text = format!(
            "load_module {MODULE};\ndaemon off; worker_processes 1; user root;\npid {place}/nginx.pid;\nevents {{ worker_connections 64; }}\n\
             stream {{\nlog_format asked '$upstream_addr';\naccess_log {place}/log asked;\nupstream db {{\n{servers}}}\n\
             server {{\nlisten 127.0.0.1:{port};\nproxy_pass db;\nproxy_connect_timeout 1s;\n{}\n}}\n}}\n",
            case.0,
            place = directory.path().display(),
        );
        std::fs::write(&path, &text).expect("a file");
        let checked = read("nginx@1.22", &text);
        let process = run(&directory, &path, port).await;
        assert_eq!(
            process.is_none(),
            is_refused(&checked),
            "{case:?}: {:?}",
            checked.findings
        );
        let Some(process) = process else {
            continue;
        };
        let mut stream = TcpStream::connect(("127.0.0.1", port))
            .await
            .expect("it listens");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        end(process).await;
        let log = std::fs::read_to_string(log).expect("a log");
        let expected = attempts(checked.mappings.first(), "GET", Fails::Refuses);
        let line = log.lines().last().expect("a line");
        assert_eq!(
            u32::try_from(line.split(", ").count()),
            Ok(expected),
            "{case:?}: {log}"
        );
    }
}

/// Directives of the server, how the servers fail, and whether what failed is passed on again.
const PAGES: &[(&str, Fails, bool)] = &[
    ("error_page 502 @again;", Fails::HangsUp, true),
    (
        "error_page 502 503 = @again; proxy_intercept_errors on; proxy_next_upstream http_503;",
        Fails::Status(503),
        true,
    ),
    (
        "error_page 502 @again; proxy_next_upstream_tries 2;",
        Fails::HangsUp,
        true,
    ),
    (
        "error_page 502 @again; proxy_next_upstream off;",
        Fails::HangsUp,
        true,
    ),
    ("error_page 404 @again;", Fails::HangsUp, false),
    ("", Fails::HangsUp, false),
];

#[tokio::test]
async fn nginx_passes_a_request_on_again_as_it_is_told() {
    if !has_nginx().await {
        return;
    }
    for case in PAGES {
        let does = match case.1 {
            Fails::Status(status) => Does::Answer(status),
            _ => Does::CloseAfterRequest,
        };
        let server = Server::start(Version::Http1, vec![does; 20]).await;
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("nginx.conf");
        let port = free_port();
        let servers =
            |count: usize| format!("server 127.0.0.1:{} max_fails=0;\n", server.port).repeat(count);
        let text = format!(
            "daemon off; worker_processes 1; user root;\npid {place}/nginx.pid;\nevents {{ worker_connections 64; }}\nhttp {{\naccess_log off;\n\
             client_body_temp_path {place}/a; proxy_temp_path {place}/b; fastcgi_temp_path {place}/c; uwsgi_temp_path {place}/d; scgi_temp_path {place}/e;\n\
             upstream orders {{\n{}}}\nupstream spare {{\n{}}}\nserver {{\nlisten 127.0.0.1:{port};\n{}\n\
             location / {{\nproxy_pass http://orders;\n}}\nlocation @again {{\nproxy_pass http://spare;\n}}\n}}\n}}\n",
            servers(3),
            servers(2),
            case.0,
            place = directory.path().display(),
        );
        std::fs::write(&path, &text).expect("a file");
        let checked = read("nginx@1.22", &text);
        let process = run(&directory, &path, port)
            .await
            .expect("it takes the file");
        ask(port, "GET").await;
        end(process).await;
        let of = |name: &str| {
            let is_it = |it: &&Mapping| it.names.iter().any(|it| it == name);
            attempts(checked.mappings.iter().find(is_it), "GET", case.1)
        };
        let told = checked
            .findings
            .iter()
            .find(|it| it.code == "passed-on-again");
        assert_eq!(told.is_some(), case.2, "{case:?}: {:?}", checked.findings);
        let expected = of("orders") + if case.2 { of("spare") } else { 0 };
        assert_eq!(u32::try_from(server.count()), Ok(expected), "{case:?}");
        if let Some(told) = told {
            let counts = format!(
                "up to {} attempts on top of the {}",
                of("spare"),
                of("orders")
            );
            assert!(
                told.sentence.contains(&counts),
                "{case:?}: {}",
                told.sentence
            );
        }
    }
}
