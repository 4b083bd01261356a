//! From the log of an unmodified server to a scenario that `becalm storm` reads.

use std::fs;
use std::io::{Cursor, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use becalm_fit::log::{ADVICE, Log, Reader, Said};
use becalm_fit::{Fit, Fitted, Options};
use becalm_sim::scenario::file;

use super::gunicorn::PROGRAM;
use super::process::Server;

/// Ten milliseconds of a worker.
const APPLICATION: &str = r#"
import time
def app(environ, start_response):
    time.sleep(0.01)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"hi"]
"#;
const WORKERS: u32 = 4;

fn nginx(upstream: u16) -> String {
    format!(
        r"daemon off; worker_processes 1; pid nginx.pid; user root; error_log error.log;
        events {{ worker_connections 4096; }}
        http {{
            {ADVICE}
            access_log becalm.log becalm;
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {{ listen 127.0.0.1:HERE; location / {{ proxy_pass http://127.0.0.1:{upstream}; }} }}
        }}"
    )
}

/// What nginx's log says of gunicorn, which was called so often a second for so long. `None` where one of them is missing.
fn circle(per_second: f64, requests: u64) -> Option<Fitted> {
    let application = [("shop.py", APPLICATION.to_owned())];
    let workers = WORKERS.to_string();
    let arguments = [
        "shop:app",
        "--workers",
        &workers,
        "--bind",
        "127.0.0.1:HERE",
        "--no-control-socket",
    ];
    let gunicorn = Server::start(
        PROGRAM,
        "PyPI's package gunicorn into target/pypi, as scripts/test does",
        &arguments,
        &application,
    )?;
    let files = [("nginx.conf", nginx(gunicorn.port))];
    let arguments = ["-p", ".", "-c", "nginx.conf", "-e", "error.log"];
    let nginx = Server::start("nginx", "Debian's package nginx-light", &arguments, &files)?;
    call(nginx.port, per_second, requests);
    let count = usize::try_from(requests).expect("few");
    let text = nginx.lines("becalm.log", ",200,", count);
    let reader = Reader::open("becalm.log", Cursor::new(text), &Said::Nothing);
    let mut log = Log::new([reader.expect("a log of nginx")]);
    let mut fit = Fit::new(Options::default());
    while let Some(request) = log.read().expect("each line is nginx's") {
        fit.push(request);
    }
    Some(fit.finish())
}

/// Calls at random moments, whatever becomes of those before.
fn call(port: u16, per_second: f64, requests: u64) {
    let (next, begun) = (AtomicU64::new(0), Instant::now());
    let mut state = 1_u64;
    let mut at = 0.0;
    let moments: Vec<Duration> = (0..requests)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            #[expect(clippy::cast_precision_loss)] // 53 bits
            let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
            at -= (1.0 - uniform).ln() / per_second;
            Duration::from_secs_f64(at)
        })
        .collect();
    thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                while let Some(moment) =
                    moments.get(usize::try_from(next.fetch_add(1, Ordering::Relaxed)).expect("few"))
                {
                    thread::sleep(moment.saturating_sub(begun.elapsed()));
                    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
                    let request = b"GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n";
                    stream.write_all(request).expect("it reads");
                    let mut answer = String::new();
                    stream.read_to_string(&mut answer).expect("it answers");
                    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                }
            });
        }
    });
}

/// What a storm reads of the scenario.
fn is_read(fitted: &Fitted) {
    let scenario = fitted.scenario("gunicorn");
    let none = |_: &str| fs::read_to_string("/nonexistent");
    let read = file::read(&scenario, &none).unwrap_or_else(|it| panic!("{it:?}: {scenario}"));
    assert_eq!(read.services.len(), 1);
    for name in ["127.0.0.1", "shop", "HTTP"] {
        assert!(!scenario.contains(name), "{name}: {scenario}");
    }
}

#[test]
fn the_log_of_an_unmodified_gunicorn_becomes_a_scenario() {
    if let Some(fitted) = circle(200.0, 600) {
        assert_eq!((fitted.requests, fitted.ends.answered), (600, 600));
        is_read(&fitted);
    }
}

/// What it says depends on the machine, which has to be quiet.
#[test]
#[ignore = "a minute of real time, by hand: scripts/prove fit-gunicorn"]
fn workers_and_capacity_of_gunicorn_are_found() {
    for load in [0.4, 0.65, 0.85] {
        // Ten milliseconds and what gunicorn and the system add.
        let per_second = load * f64::from(WORKERS) / 0.0112;
        let Some(fitted) = circle(per_second, 5_000) else {
            return;
        };
        is_read(&fitted);
        println!(
            "{:.0} %, {per_second:.0}/s: {:?}, workers {} ({}), capacity {:.0}/s {:?}, {:.1} ms",
            load * 100.0,
            fitted.knee,
            fitted.workers.value,
            fitted.workers.how,
            fitted.capacity.value,
            fitted.capacity.interval(),
            fitted.time.value * 1e3
        );
        for warning in &fitted.warnings {
            println!("    {warning}");
        }
    }
}
