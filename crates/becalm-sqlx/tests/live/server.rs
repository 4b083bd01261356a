//! How does a test get a Postgres that it can kill?

use std::fs::File;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, Executor, PgConnection, PgPool};
use tempfile::TempDir;

/// A Postgres with one database, which forgets nothing that it has acknowledged. It ends with its test.
pub struct Postgres {
    directory: TempDir,
    port: u16,
    options: Vec<String>,
    process: Option<Child>,
}

impl Postgres {
    /// Started and ready, with these settings (`name=value`); `None` where none is installed and not everything is checked.
    pub async fn start(options: &[&str]) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let directory = TempDir::new().expect("a directory");
        if let Some(account) = Account::of_postgres() {
            account.owns(directory.path());
        }
        let mut server = Self {
            directory,
            port: free_port(),
            options: options.iter().map(|&option| option.into()).collect(),
            process: None,
        };
        let mut initdb = server.command("initdb");
        initdb.args(["--username=shop", "--auth=trust", "--no-sync", "--locale=C"]);
        let made = initdb.stdout(Stdio::null()).status();
        assert!(made.expect("initdb runs").success());
        server.start_again().await;
        Some(server)
    }

    pub fn url(&self) -> String {
        url(self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A connection without becalm.
    pub async fn plain(&self) -> PgConnection {
        let connected = PgConnection::connect(&self.url()).await;
        connected.expect("a connection")
    }

    pub async fn pool(&self, connections: u32) -> PgPool {
        pool(self.port, connections).await
    }

    /// Starts it, and waits until it answers.
    pub async fn start_again(&mut self) {
        let began = Instant::now();
        loop {
            let ended = |process: &mut Child| process.try_wait().expect("it is ours").is_some();
            // While one who was killed is dying, its memory is still in use.
            if self.process.as_mut().is_none_or(ended) {
                self.process = Some(self.spawn());
            }
            // It may have failed to start where another program took its port.
            if let Ok(mut own) = PgConnection::connect(&self.url()).await {
                let data = sqlx::query_scalar::<_, String>("SHOW data_directory");
                let data = data.fetch_one(&mut own).await;
                if data.is_ok_and(|data| Path::new(&data).starts_with(self.directory.path())) {
                    return;
                }
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "it does not start: {}",
                self.log()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Takes all of its processes away in the middle of what they do.
    pub fn kill(&mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        let id = process.id();
        // Stopped, it makes no more of them.
        let stopped = Command::new("kill")
            .args(["-STOP", &id.to_string()])
            .status();
        assert!(stopped.expect("kill runs").success());
        let is_stopped = || std::fs::read_to_string(format!("/proc/{id}/stat"));
        while is_stopped().is_ok_and(|state| !state.contains(") T ") && !state.contains(") Z ")) {}
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        let mut kill = Command::new("kill");
        kill.arg("-KILL").arg(id.to_string());
        kill.args(children.split_whitespace());
        let _ = kill.stderr(Stdio::null()).status();
        process.wait().expect("it ends");
    }

    /// Has it end all transactions and connections, and waits for its end.
    pub fn shut_down(&mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        let id = process.id().to_string();
        let told = Command::new("kill").args(["-INT", &id]).status();
        assert!(told.expect("kill runs").success());
        process.wait().expect("it ends");
    }

    /// Ends one of its processes hard, upon which it restarts all others but the first, and waits until it answers.
    pub async fn crash_a_backend(&self) {
        let mut victim = self.plain().await;
        let ask = sqlx::query_scalar::<_, i32>("SELECT pg_backend_pid()");
        let id = ask.fetch_one(&mut victim).await.expect("a number");
        let killed = Command::new("kill")
            .args(["-KILL", &id.to_string()])
            .status();
        assert!(killed.expect("kill runs").success());
        while victim.ping().await.is_ok() {}
        while PgConnection::connect(&self.url()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn spawn(&self) -> Child {
        let log = self.directory.path().join("log");
        let log = File::options().create(true).append(true).open(log);
        let mut postgres = self.command("postgres");
        postgres.args(["-h", "127.0.0.1", "-k", "", "-p", &self.port.to_string()]);
        // Two that wait for each other shall not do so for a second; the system does not crash.
        for option in ["deadlock_timeout=20ms", "fsync=off"] {
            postgres.args(["-c", option]);
        }
        for option in &self.options {
            postgres.args(["-c", option]);
        }
        let spawned = postgres.stderr(log.expect("a log")).spawn();
        spawned.expect("postgres runs")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program_directory().join(program));
        command.arg("-D").arg(self.directory.path().join("data"));
        command.current_dir(self.directory.path());
        if let Some(account) = Account::of_postgres() {
            account.runs(&mut command);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn url(port: u16) -> String {
    format!("postgres://shop@127.0.0.1:{port}/postgres?sslmode=disable")
}

/// sqlx's pool of whatever listens there.
pub async fn pool(port: u16, connections: u32) -> PgPool {
    pool_of(&url(port), connections).await
}

pub async fn pool_of(url: &str, connections: u32) -> PgPool {
    let pool = PgPoolOptions::new().max_connections(connections);
    let pool = pool.acquire_timeout(Duration::from_secs(60));
    pool.connect(url).await.expect("a pool")
}

pub async fn run(server: &Postgres, statements: &[&str]) {
    let mut plain = server.plain().await;
    for statement in statements {
        plain.execute(*statement).await.expect("it runs");
    }
}

fn is_installed() -> bool {
    let runs = Command::new(program_directory().join("postgres"))
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok();
    assert!(
        runs || std::env::var_os("CI").is_none(),
        "install Debian's postgresql: `postgres` does not run"
    );
    if !runs {
        eprintln!("left out: `postgres` does not run; it comes from Debian's postgresql");
    }
    runs
}

/// Where Debian puts the servers' programs, which are not in the path; elsewhere they are.
fn program_directory() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let versions = versions.into_iter().flatten();
    let newest = versions
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .max();
    newest.unwrap_or_default()
}

/// User and group of Debian's `postgres` where the test runs as root, which Postgres and `PgBouncer` refuse to do.
pub struct Account {
    user: u32,
    group: u32,
}

impl Account {
    pub fn of_postgres() -> Option<Self> {
        account().map(|(user, group)| Self { user, group })
    }

    pub fn owns(&self, path: &Path) {
        chown(path, Some(self.user), Some(self.group)).expect("it is root's");
    }

    pub fn runs(&self, command: &mut Command) {
        command.uid(self.user).gid(self.group);
    }
}

fn account() -> Option<(u32, u32)> {
    if std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() != 0) {
        return None;
    }
    let accounts = std::fs::read_to_string("/etc/passwd").expect("a list of accounts");
    let mut lines = accounts.lines();
    let line = lines.find_map(|line| line.strip_prefix("postgres:"));
    let line = line.expect("the account postgres: scripts/test installs it");
    let mut fields = line.split(':').skip(1);
    let mut number = || fields.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Below those that the system hands out, so that a server can come back to it. A socket of UDP holds its number against the tests of other
/// processes, also while the server is down.
pub fn free_port() -> u16 {
    static HELD: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());
    let first = 10_000 + std::process::id() * 16 % 20_000;
    let mut ports = (first..).map_while(|port| u16::try_from(port).ok());
    let mut held = HELD.lock().expect("no panic while it is held");
    let is_free = |port: &u16| {
        let address = ("127.0.0.1", *port);
        let socket = UdpSocket::bind(address);
        socket.is_ok_and(|socket| {
            held.push(socket);
            TcpListener::bind(address).is_ok()
        })
    };
    ports.find(is_free).expect("a free port")
}
