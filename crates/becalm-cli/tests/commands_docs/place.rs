//! Where does a recipe run? In a folder of its own, with becalm in the path, and never for ever.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::servers::postgres::Postgres;

/// Far longer than anything here takes: only a hang reaches it.
const HANG: Duration = Duration::from_secs(120);

/// A folder to run recipes in, with becalm in the path.
pub struct Place {
    folder: TempDir,
    settings: Vec<(String, String)>,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("bin")).expect("a folder");
        let place = Self {
            folder,
            settings: Vec::new(),
        };
        let becalm = place.path("bin/becalm");
        symlink(env!("CARGO_BIN_EXE_becalm"), becalm).expect("a link");
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.settings.push((name.into(), value.into()));
    }

    /// The database that the commands of Postgres find, as their manuals say.
    pub fn set_database(&mut self, server: &Postgres) {
        let url = server.url();
        let (_, port) = url.rsplit_once(':').expect("a port");
        let port = port.split('/').next().expect("a port");
        self.set("PGHOST", "127.0.0.1");
        self.set("PGPORT", port);
        self.set("PGUSER", "shop");
    }

    /// A program before all others of its name.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, script).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it can run");
    }

    fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").expect("a path");
        let bin = self.path("bin");
        // What hangs is told to end, and becalm ends what it runs.
        let mut command = Command::new("timeout");
        command
            .arg(HANG.as_secs().to_string())
            .arg(program)
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("HOME", self.folder.path())
            .envs(self.settings.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn start(&self, script: &str) -> Child {
        let mut command = self.command("sh");
        command.args(["-c", script]).spawn().expect("sh runs")
    }

    #[track_caller]
    pub fn run(&self, script: &str) -> String {
        finish(self.start(script), script)
    }

    /// Waits until a program has made a file.
    pub fn await_file(&self, name: &str) {
        let start = Instant::now();
        while !self.path(name).exists() {
            assert!(start.elapsed() < HANG, "there is no {name}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What it prints, if it succeeds.
#[track_caller]
pub fn finish(child: Child, script: &str) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{script}: {status}: {stderr}");
    String::from_utf8(stdout).expect("UTF-8")
}
