//! How does a test get an nginx that it can reload and restart?

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::sleep;

use super::{free_port, is_installed, listens, signal, terminate};

/// An `nginx` before one server, with one worker. It ends with its test.
pub struct Nginx {
    directory: TempDir,
    process: Option<Child>,
    /// Over HTTP/1, and over HTTP/2 in clear; the latter two close a connection after seven requests, or
    /// as soon as nothing has come for some milliseconds. Or for WebSockets.
    pub ports: Vec<u16>,
}

impl Nginx {
    /// `None` where there is no nginx, but for where everything is checked.
    ///
    /// Under `/limited` a second request within a second is rejected, and so it is under `/limited-with-hint`, with
    /// `Retry-After: 1`.
    pub async fn start(upstream: u16) -> Option<Self> {
        Self::start_with(4, |ports| for_http(upstream, ports)).await
    }

    /// In front of WebSockets; its second port gives a connection up on which nothing comes for a second. It waits 300 ms
    /// for the connections of a worker that is to end.
    pub async fn for_websockets(upstream: u16) -> Option<Self> {
        Self::start_with(2, |ports| for_websockets(upstream, ports)).await
    }

    async fn start_with(
        ports: usize,
        configuration: impl FnOnce(&[u16]) -> String,
    ) -> Option<Self> {
        if !is_installed("nginx", "Debian's package nginx-light") {
            return None;
        }
        let mut server = Self {
            directory: TempDir::new().expect("a directory"),
            process: None,
            ports: (0..ports).map(|_| free_port()).collect(),
        };
        fs::write(server.path("nginx.conf"), configuration(&server.ports)).expect("a file");
        server.start_again().await;
        Some(server)
    }

    pub async fn start_again(&mut self) {
        let mut nginx = Command::new("nginx");
        nginx.arg("-p").arg(self.directory.path());
        nginx.arg("-c").arg(self.path("nginx.conf"));
        nginx.arg("-e").arg(self.path("error.log"));
        let process = nginx.stderr(Stdio::null()).spawn().expect("nginx runs");
        let process = self.process.insert(process);
        for port in &self.ports {
            listens(process, *port).await;
        }
    }

    /// Starts a new worker; the old one ends its requests, closes idle connections and goes.
    pub fn reload(&self) {
        signal(self.process.as_ref().expect("it runs"), "HUP");
    }

    /// Its worker reads nothing more and answers nothing, or goes on.
    pub fn stall(&self, is_stalled: bool) {
        let master = self.process.as_ref().expect("it runs").id();
        let workers = fs::read_to_string(format!("/proc/{master}/task/{master}/children"));
        let workers = workers.expect("Linux tells of children");
        let sent = Command::new("kill")
            .arg(if is_stalled { "-STOP" } else { "-CONT" })
            .args(workers.split_whitespace())
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// Closes all connections, in the middle of their requests.
    pub fn stop_at_once(&mut self) {
        terminate(&mut self.process);
    }

    /// The status of each request that came, answered by whomever, as soon as it knows of so many.
    pub async fn statuses(&self, of: usize) -> Vec<u16> {
        loop {
            let log = fs::read_to_string(self.path("access.log")).expect("a log");
            let statuses = log.lines().map(|line| line.parse().expect("a status"));
            let statuses = statuses.collect::<Vec<_>>();
            if statuses.len() >= of {
                return statuses;
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.directory.path().join(file)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.stop_at_once();
    }
}

fn for_http(upstream: u16, ports: &[u16]) -> String {
    let [http1, http2, closing1, closing2] = ports else {
        panic!("four ports")
    };
    format!(
        "daemon off; worker_processes 1; pid nginx.pid; user root;
        events {{ worker_connections 512; }}
        http {{
            log_format status $status;
            access_log access.log status;
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            limit_req_zone $server_addr zone=slow:1m rate=1r/s;
            upstream shop {{ server 127.0.0.1:{upstream}; keepalive 16; }}
            proxy_http_version 1.1;
            proxy_set_header Connection '';
            server {{
                listen 127.0.0.1:{http1};
                listen 127.0.0.1:{http2} http2;
                location / {{ proxy_pass http://shop; }}
                location /limited {{ limit_req zone=slow; proxy_pass http://shop; }}
                location /limited-with-hint {{
                    limit_req zone=slow; add_header Retry-After 1 always; proxy_pass http://shop;
                }}
            }}
            server {{
                listen 127.0.0.1:{closing1};
                listen 127.0.0.1:{closing2} http2;
                keepalive_requests 7;
                keepalive_timeout 10ms;
                location / {{ proxy_pass http://shop; }}
            }}
        }}"
    )
}

fn for_websockets(upstream: u16, ports: &[u16]) -> String {
    let [patient, impatient] = ports else {
        panic!("two ports")
    };
    format!(
        "daemon off; worker_processes 1; pid nginx.pid; user root;
        worker_shutdown_timeout 300ms;
        events {{ worker_connections 512; }}
        http {{
            access_log off;
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
            server {{
                listen 127.0.0.1:{patient};
                location / {{ proxy_pass http://127.0.0.1:{upstream}; }}
            }}
            server {{
                listen 127.0.0.1:{impatient};
                location / {{ proxy_pass http://127.0.0.1:{upstream}; proxy_read_timeout 1s; }}
            }}
        }}"
    )
}
