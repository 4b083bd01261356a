//! Does a browser show first, at a desk and on a telephone, what to do, three figures and the picture?

#[expect(dead_code, reason = "pointers and keys are tested with the charts")]
#[path = "../../becalm-report/tests/browser/mod.rs"]
mod browser;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use browser::{Browser, View};
use serde_json::Value;
use tempfile::TempDir;

/// Files, and the command among them.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a directory"));
        let route = include_str!("../../becalm-check/tests/files/05-istio-forty.yaml");
        folder.put("orders.toml", SERVICE);
        folder.put("istio.yaml", route);
        folder
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
        command
            .args(arguments.split(' '))
            .current_dir(self.0.path());
        command
    }

    fn page(&self, arguments: &str) -> String {
        let output = self.command(arguments).output().expect("it starts");
        assert!(output.status.code() == Some(0), "{arguments}: {output:?}");
        std::fs::read_to_string(self.path("page.html")).expect("a page")
    }
}

/// Of what is read first, the edges: the conclusion, the figures, a picture, and the fold.
const EDGES: &str =
    "['.bc-conclusion', '.bc-figures', 'figure svg.bc-wide, figure .bc-wide', '.bc-fold']
    .map(it => document.querySelector(it)).map(it => it ? it.getBoundingClientRect() : {})
    .flatMap((it, at) => at < 3 ? [it.bottom || 0] : [it.top || 0])";

/// Names of axes and pictures that had no room.
const CUT: &str = "[...document.querySelectorAll('figure svg text')]
    .filter(it => it.getBoundingClientRect().width > 0).map(it => it.textContent).filter(it => it.endsWith('…'))";

/// Shows a page at a desk and on a telephone, and looks at what stands before the fold.
fn look(browser: &mut Browser, name: &str, html: &str) {
    for (width, height) in [(1400, 900), (400, 800)] {
        let dark = false;
        browser.open(
            html,
            View {
                width,
                height,
                dark,
            },
        );
        browser.screenshot(&format!("fold-{name}-{width}.png"), false);
        let edges = browser.evaluate(EDGES);
        let edges = edges.as_array().expect("a list").iter();
        let edges: Vec<f64> = edges.filter_map(Value::as_f64).collect();
        let [conclusion, figures, picture, fold] = edges[..] else {
            panic!("{edges:?}")
        };
        let height = f64::from(height);
        for seen in [conclusion, figures] {
            assert!(seen > 0.0 && seen <= height, "{name}, {width}: {edges:?}");
            assert!(seen <= fold, "{name}, {width}: {edges:?}");
        }
        let is_seen = picture > 0.0 || name == "check";
        let is_seen = is_seen && picture <= height && picture <= fold;
        assert!(is_seen || width == 400, "{name}, {width}: {edges:?}");
        let cut = browser.evaluate(CUT);
        // A long name of a policy is cut.
        if !name.starts_with("fit") {
            continue;
        }
        assert_eq!(cut.as_array().map(Vec::len), Some(0), "{name}: {cut}");
    }
    assert_eq!(browser.complaints(), [""; 0], "{name}");
}

/// Policies in what decides: one, three, five.
const POLICIES: [&str; 3] = [
    "own",
    "own,full;budget=none,none",
    "own,full;budget=none,none,full;attempts=8;budget=ratio:0.2,equal;attempts=3",
];

#[test]
fn s5_a_study_and_a_check_say_first_what_to_set() {
    let folder = Folder::new();
    let mut browser = Browser::start();
    for (policies, count) in POLICIES.iter().zip([1, 3, 5]) {
        let asked =
            format!("storm orders.toml --compare {policies} --runs 2 --quick --report page.html");
        look(
            &mut browser,
            &format!("storm-{count}"),
            &folder.page(&asked),
        );
    }
    for (name, asked) in [
        (
            "sweep",
            "storm orders.toml --sweep load=0.5..1.5,outage=1s..4s --runs 1 --report page.html",
        ),
        (
            "check",
            "check istio.yaml --service orders.toml --report page.html",
        ),
    ] {
        look(&mut browser, name, &folder.page(asked));
    }
}

/// A log in which a request begins each `gap_us`, and `at_once` of them are served at a time.
fn log(count: u64, gap_us: u64, at_once: u64) -> String {
    let mut log = String::from("start_us,duration_us,status\n");
    for number in 0..count {
        let start = 1_760_000_000_000_000 + number * gap_us;
        let takes = gap_us * at_once + number * 7_919 % gap_us;
        let _ = writeln!(log, "{start},{takes},200");
    }
    log
}

#[test]
fn s5_a_fit_says_first_what_the_service_serves_or_why_that_is_not_known() {
    let folder = Folder::new();
    folder.put("many.csv", &log(4_000, 10_000, 3));
    folder.put("few.csv", &log(12, 10_000, 3));
    let mut browser = Browser::start();
    for name in ["many", "few"] {
        let page = folder.page(&format!("fit --one-pool {name}.csv --report page.html"));
        look(&mut browser, &format!("fit-{name}"), &page);
        let first = page.split("<nav class=\"bc-fold\"").next();
        let is_told = first.is_some_and(|it| it.contains("Beware: "));
        assert!(is_told || name == "many", "why it is not known");
    }
}

/// Answers each request.
fn service() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut reader = BufReader::new(&stream);
                let mut lines = reader.by_ref().lines().map_while(Result::ok);
                while lines.by_ref().any(|line| line.is_empty()) {
                    let _ = (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                }
            });
        }
    });
    address
}

/// Calls until the drill is over, each twice if need be.
fn call(drill: &mut Child) {
    let mut stdout = BufReader::new(drill.stdout.take().expect("piped"));
    let mut line = String::new();
    stdout
        .read_line(&mut line)
        .expect("it says where it listens");
    let address = line
        .split("listens at ")
        .nth(1)
        .and_then(|it| it.split(": ").next());
    let address: SocketAddr = address.unwrap_or(&line).parse().expect("an address");
    thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    for call in 0_u32.. {
        if drill.try_wait().expect("a child").is_some() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
        thread::spawn(move || {
            let asked = |_| {
                let mut stream = TcpStream::connect(address).ok()?;
                stream
                    .set_read_timeout(Some(Duration::from_millis(300)))
                    .ok()?;
                write!(
                    stream,
                    "GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: {call}\r\n\r\n"
                )
                .ok()?;
                stream.read(&mut [0; 12]).ok().filter(|it| *it > 0)
            };
            (0..2).find_map(asked)
        });
    }
}

const SHORT: &str = "--before 1s --trigger 500ms --after 3s --html page.html";

#[test]
fn s5_a_drill_says_first_who_came_back() {
    let folder = Folder::new();
    let mut browser = Browser::start();
    let page = folder.page(&format!("drill --tail 0s --blip 0s {SHORT}"));
    look(&mut browser, "drill", &page);
    let target = format!("drill --target http://{} --load 50 {SHORT}", service());
    look(&mut browser, "drill-target", &folder.page(&target));
    listen(&mut browser, &folder);
    #[cfg(feature = "ws")]
    for only in ["appointments", "drain"] {
        let asked =
            format!("drill ws --clients 20 --outage 1s --watch 2s --only {only} --html page.html");
        look(
            &mut browser,
            &format!("drill-ws-{only}"),
            &folder.page(&asked),
        );
    }
}

fn listen(browser: &mut Browser, folder: &Folder) {
    let asked = format!(
        "drill --listen 127.0.0.1:0 --upstream http://{} --quiet {SHORT}",
        service()
    );
    let mut drill = folder
        .command(&asked)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    call(&mut drill);
    let page = std::fs::read_to_string(folder.path("page.html")).expect("a page");
    look(browser, "drill-listen", &page);
}

const SERVICE: &str = r#"
name = "orders"
horizon = "30s"

[[service]]
name = "orders"
time = "exponential:10ms"
queue = 100

[[population]]
name = "users"
target = "orders"
arrivals = "poisson:60"
timeout = "200ms"

[[trigger]]
from = "10s"
length = "3s"
effect = "hang"
service = "orders"
"#;
