//! How do the tests of `becalm run` start it, watch it and never wait for ever?

#![allow(dead_code)] // each test program uses a part

pub mod namespaces;
#[cfg(target_os = "linux")] // setsid(1), and /proc
pub mod terminal;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use namespaces::{CONTAINER, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Far longer than anything here takes: only a hang reaches it.
pub const HANG: Duration = Duration::from_secs(120);

/// `becalm run` with these flags; the command is for [`sh`](RunCommand::sh).
pub struct RunCommand(Command);

pub fn becalm() -> RunCommand {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becalm"));
    command
        .arg("run")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    RunCommand(command)
}

/// The command, without a wait between the attempts.
pub fn becalm_at_once() -> RunCommand {
    becalm().flags("--base 0")
}

/// The command as the first process of a container.
pub fn becalm_in_container() -> RunCommand {
    let unshare = unshare(CONTAINER);
    let mut words = unshare.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command.args([env!("CARGO_BIN_EXE_becalm"), "run"]);
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    RunCommand(command)
}

impl RunCommand {
    /// Flags without spaces in them.
    pub fn flags(mut self, flags: &str) -> Self {
        self.0.args(flags.split_whitespace());
        self
    }

    pub fn flag(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.arg(name).arg(value);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Standard input is the test's to write; otherwise it is empty.
    pub fn stdin_piped(mut self) -> Self {
        self.0.stdin(Stdio::piped());
        self
    }

    pub fn with(mut self, change: impl FnOnce(&mut Command)) -> Self {
        change(&mut self.0);
        self
    }

    /// Runs a script under it, to the end.
    pub fn sh(self, script: &str) -> Done {
        self.start_sh(script).finish()
    }

    /// Starts a script under it.
    pub fn start_sh(mut self, script: &str) -> Running {
        self.0.args(["--", "/bin/sh", "-c", script]);
        self.start()
    }

    /// Runs it as it stands, to the end.
    pub fn run(self) -> Done {
        self.start().finish()
    }

    pub fn start(mut self) -> Running {
        let mut child = self.0.spawn().unwrap();
        let watchdog = Watchdog::over(child.id());
        let stdout = child.stdout.take().map(BufReader::new);
        let stderr = child.stderr.take().map(BufReader::new);
        Running {
            child,
            stdout,
            stderr,
            watchdog,
        }
    }
}

/// Kills a process that outlives [`HANG`], so that a test fails instead of hanging.
struct Watchdog(Sender<()>);

impl Watchdog {
    fn over(id: u32) -> Self {
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            if ended.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout) {
                let _ = kill(pid(id), Signal::SIGKILL);
            }
        });
        Self(sender)
    }
}

/// A `becalm run` under way.
pub struct Running {
    pub child: Child,
    stdout: Option<BufReader<std::process::ChildStdout>>,
    stderr: Option<BufReader<std::process::ChildStderr>>,
    watchdog: Watchdog,
}

impl Running {
    /// becalm's process.
    pub fn id(&self) -> String {
        self.child.id().to_string()
    }

    /// The next line of standard output, without its end.
    pub fn line(&mut self) -> String {
        line_of(self.stdout.as_mut().unwrap())
    }

    /// The next bytes of standard output.
    pub fn read_exact(&mut self, bytes: &mut [u8]) {
        self.stdout.as_mut().unwrap().read_exact(bytes).unwrap();
    }

    /// Leaves standard output without a reader.
    pub fn close_stdout(&mut self) {
        self.stdout = None;
    }

    /// The next line of standard error, without its end.
    pub fn error_line(&mut self) -> String {
        line_of(self.stderr.as_mut().unwrap())
    }

    /// Sends becalm a signal.
    pub fn signal(&self, signal: Signal) {
        kill(pid(self.child.id()), signal).unwrap();
    }

    /// Stays to the end.
    pub fn finish(mut self) -> Done {
        drop(self.child.stdin.take());
        let stderr = self.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stderr.read_to_end(&mut bytes).unwrap();
                bytes
            })
        });
        let mut stdout = Vec::new();
        if let Some(pipe) = &mut self.stdout {
            pipe.read_to_end(&mut stdout).unwrap();
        }
        let stderr = stderr
            .map(|thread| thread.join().unwrap())
            .unwrap_or_default();
        let status = self.child.wait().unwrap();
        let _ = self.watchdog.0.send(());
        Done(Output {
            status,
            stdout,
            stderr,
        })
    }
}

fn line_of(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    line.trim_end_matches('\n').to_owned()
}

/// A `becalm run` that has ended.
pub struct Done(pub Output);

impl Done {
    /// The exit code as a shell tells it: 128 and the number of the signal that ended becalm.
    pub fn code(&self) -> i32 {
        let status = self.0.status;
        status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap())
    }

    /// The signal that ended becalm.
    pub fn died_by(&self) -> Option<i32> {
        self.0.status.signal()
    }

    pub fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }
}

/// Runs under a longer and longer time until it came to what is asked about. How soon a command says
/// its first word is the machine's affair, and a time that is cut before it tests nothing.
pub fn in_time(run: impl Fn(&str) -> Done, came: impl Fn(&Done) -> bool) -> Done {
    for time in ["100ms", "1s"] {
        let done = run(time);
        if came(&done) {
            return done;
        }
    }
    let done = run("10s");
    assert!(came(&done), "not in 10 s either: {:?}", done.0);
    done
}

/// The lines of the last run in a report.
pub fn report(path: &Path) -> Vec<Value> {
    let mut lines = reports(path);
    let is_summary = |line: &Value| line["type"] == "summary";
    let before = lines.iter().rev().skip(1).position(is_summary);
    lines.split_off(before.map_or(0, |from_the_end| lines.len() - 1 - from_the_end))
}

/// The lines of all runs in a report.
pub fn reports(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A folder for one test, and a path in it.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file of this name, with this content.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

pub fn pid(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap())
}

/// The process that stands guard for a becalm, once it does.
pub fn guard_of(becalm: &str) -> String {
    let is_guard = |id: &String| {
        let read = |file: &str| {
            let text = std::fs::read_to_string(format!("/proc/{id}/{file}"));
            text.unwrap_or_default()
        };
        let stat = read("stat");
        let mut fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        fields.nth(1) == Some(becalm) && read("cmdline").starts_with("becalm-guard\0")
    };
    let start = std::time::Instant::now();
    loop {
        let ids = std::fs::read_dir("/proc").unwrap().flatten();
        let mut ids = ids.filter_map(|entry| entry.file_name().into_string().ok());
        if let Some(id) = ids.find(is_guard) {
            return id;
        }
        assert!(start.elapsed() < HANG, "nobody stands guard");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process runs: the dead that nobody has buried do not.
pub fn is_running(id: &str) -> bool {
    assert!(!id.is_empty(), "there is no such process");
    match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => !stat.rsplit(')').next().unwrap().starts_with(" Z"),
        Err(_) => false,
    }
}
