//! How does a test get a server that ends with it?

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A server with a directory of its own.
pub struct Server {
    directory: TempDir,
    process: Option<Child>,
    pub port: u16,
}

/// So long a server may take for what it does in milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

impl Server {
    /// Starts it in a directory with these files, `HERE` in them replaced by its own port, its output in `stdout.log`. `None` where
    /// the program does not run, but for where everything is checked.
    pub fn start(
        program: &str,
        from: &str,
        arguments: &[&str],
        files: &[(&str, String)],
    ) -> Option<Self> {
        let mut version = Command::new(program);
        let version = version
            .arg("-v")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if version.status().is_err() {
            let sentence = format!("`{program}` does not run; install {from}");
            assert!(std::env::var_os("CI").is_none(), "{sentence}");
            eprintln!("left out: {sentence}");
            return None;
        }
        let mut server = Self {
            directory: TempDir::new().expect("a directory"),
            process: None,
            port: free_port(),
        };
        let port = server.port.to_string();
        for (name, text) in files {
            fs::write(server.path(name), text.replace("HERE", &port)).expect("a file");
        }
        let output = File::create(server.path("stdout.log")).expect("a file");
        let process = Command::new(program)
            .args(arguments.iter().map(|it| it.replace("HERE", &port)))
            .current_dir(server.directory.path())
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(File::create(server.path("stderr.log")).expect("a file"))
            .spawn();
        server.process = Some(process.expect("it starts"));
        until("it listens", || {
            let process = server.process.as_mut().expect("it was started");
            let ended = process.try_wait().expect("it is ours");
            let said = || fs::read_to_string(server.directory.path().join("stderr.log"));
            assert!(ended.is_none(), "it could not start: {:?}", said());
            TcpStream::connect(("127.0.0.1", server.port)).ok()
        });
        Some(server)
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.directory.path().join(file)
    }

    /// What the file says, as soon as so many of its lines have this in them.
    pub fn lines(&self, file: &str, with: &str, count: usize) -> String {
        until(file, || {
            let text = fs::read_to_string(self.path(file)).unwrap_or_default();
            let lines = text.lines().filter(|line| line.contains(with));
            (lines.count() >= count && text.ends_with('\n')).then_some(text)
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // TERM, so that it ends its workers.
            let mut kill = Command::new("kill");
            let _ = kill.arg(process.id().to_string()).status();
            let begun = Instant::now();
            while matches!(process.try_wait(), Ok(None)) {
                if begun.elapsed() > PATIENCE {
                    let _ = process.kill();
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// What this gives at last.
pub fn until<T>(what: &str, mut get: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(got) = get() {
            return got;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it has one").port()
}
