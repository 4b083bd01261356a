//! A service that nobody here wrote: gunicorn, unmodified, with a handler that sleeps.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Sleeps as if it worked, after it has asked what it depends on, if that is told; without a timeout of its own,
/// as so many.
const APP: &str = r#"
import os, time, urllib.request
depends = os.environ.get("DEPENDS")
work = float(os.environ["WORK"])
def app(environ, start_response):
    if depends:
        urllib.request.urlopen(depends).read()
    time.sleep(work)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"#;

/// A gunicorn of its own group. Dropped, it is gone.
pub struct Gunicorn {
    process: Child,
    pub url: String,
    _folder: tempfile::TempDir,
}

impl Gunicorn {
    /// Starts it with sync workers that work so long on each request; `None` where it is not installed.
    pub fn start(workers: u32, work: &str, depends: Option<&str>) -> Option<Self> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let program = root.join("target/pypi/bin/gunicorn");
        if !program.exists() {
            let missing = "there is no gunicorn in target/pypi: scripts/test installs it";
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            eprintln!("not tried: {missing}");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("becalm_app.py"), APP).unwrap();
        let mut command = Command::new(program);
        command
            .args([
                "--bind",
                "127.0.0.1:0",
                "--backlog",
                "400",
                "--no-control-socket",
            ])
            .args(["--workers", &workers.to_string(), "becalm_app:app"])
            .current_dir(folder.path())
            .env("WORK", work)
            .stderr(Stdio::piped());
        if let Some(depends) = depends {
            command.env("DEPENDS", depends);
        }
        let mut process = command.spawn().expect("gunicorn starts");
        let lines = BufReader::new(process.stderr.take().expect("it is piped")).lines();
        let mut lines = lines.map(|line| line.expect("a text"));
        let said = lines.find_map(|line| Some(line.split_once("Listening at: ")?.1.to_owned()));
        let url = said.expect("it listens");
        let url = url.split_whitespace().next().expect("a URL").to_owned();
        // What it says further is nobody's business, and must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self {
            process,
            url,
            _folder: folder,
        })
    }

    pub fn address(&self) -> SocketAddr {
        let address = self.url.strip_prefix("http://").expect("of HTTP");
        address.parse().expect("an address")
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Gunicorn {
    fn drop(&mut self) {
        let id = Pid::from_raw(i32::try_from(self.process.id()).unwrap());
        // It ends its workers at once, and then itself; also one that a test that failed has left standing still.
        for signal in [Signal::SIGQUIT, Signal::SIGCONT] {
            let _ = kill(id, signal);
        }
        let _ = self.process.wait();
    }
}
