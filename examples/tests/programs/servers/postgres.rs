//! How does a test get a Postgres that it can stop?

use std::fs::File;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{free_port, signal};

/// A Postgres with one database. It ends with its test.
pub struct Postgres {
    directory: TempDir,
    port: u16,
    process: Option<Child>,
}

impl Postgres {
    pub fn start() -> Self {
        let directory = TempDir::new().expect("a directory");
        if let Some((user, group)) = account() {
            chown(directory.path(), Some(user), Some(group)).expect("it is root's");
        }
        let mut server = Self {
            directory,
            port: free_port(),
            process: None,
        };
        let mut initdb = server.command("initdb");
        initdb.args(["--username=shop", "--auth=trust", "--no-sync", "--locale=C"]);
        let made = initdb.stdout(Stdio::null()).status();
        assert!(made.expect("initdb runs").success());
        server.start_again();
        server
    }

    pub fn url(&self) -> String {
        format!("postgres://shop@127.0.0.1:{}/postgres", self.port)
    }

    /// Ends all sessions in the middle of their statements, as a crash would.
    pub fn stop_at_once(&mut self) {
        if let Some(mut process) = self.process.take() {
            signal(&process, "QUIT");
            process.wait().expect("it ends");
        }
    }

    pub fn start_again(&mut self) {
        let log = self.directory.path().join("log");
        let log = File::options().create(true).append(true).open(log);
        let mut postgres = self.command("postgres");
        postgres.args(["-h", "127.0.0.1", "-k", "", "-p", &self.port.to_string()]);
        // Two that wait for each other shall not do so for a second.
        postgres.args(["-c", "deadlock_timeout=20ms", "-c", "fsync=off"]);
        self.process = Some(
            postgres
                .stderr(log.expect("a log"))
                .spawn()
                .expect("postgres runs"),
        );
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program_directory().join(program));
        command.arg("-D").arg(self.directory.path().join("data"));
        command.current_dir(self.directory.path());
        if let Some((user, group)) = account() {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop_at_once();
    }
}

/// Where Debian puts the servers' programs, which are not in the path; elsewhere they are.
fn program_directory() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let newest = versions
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .max();
    newest.unwrap_or_default()
}

/// User and group of Debian's `postgres` where the test runs as root, which Postgres refuses to do.
fn account() -> Option<(u32, u32)> {
    if std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() != 0) {
        return None;
    }
    let accounts = std::fs::read_to_string("/etc/passwd").expect("a list of accounts");
    let line = accounts
        .lines()
        .find_map(|line| line.strip_prefix("postgres:"));
    let line = line.expect("the account postgres: scripts/test installs it");
    let mut fields = line.split(':').skip(1);
    let mut number = || fields.next()?.parse().ok();
    Some((number()?, number()?))
}
