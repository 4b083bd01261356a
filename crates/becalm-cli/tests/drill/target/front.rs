//! Services as teams have them: nginx in front, which writes the log, and behind it what does the work.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::gunicorn::Gunicorn;

/// The line that `becalm fit` recommends.
pub const FORMAT: &str =
    "$msec,$request_time,$status,$remote_addr,$request_id,$upstream_addr,$upstream_response_time";

/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);

/// What works behind nginx: on four requests at once, for 10 ms each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    Gunicorn,
    PhpFpm,
    Uvicorn,
}

impl Behind {
    /// How many requests wait, as a scenario has it: the first two take a connection when a worker is free, and the others
    /// are the backlog's; uvicorn takes all.
    pub const fn queue(self) -> &'static str {
        match self {
            Self::Gunicorn | Self::PhpFpm => "400",
            Self::Uvicorn => "\"unlimited\"",
        }
    }
}

/// A service with its nginx. Dropped, both are gone.
pub struct Front {
    _nginx: Server,
    _behind: Works,
    pub url: String,
    /// The process that stands still when the service does.
    pub id: u32,
    pub log: PathBuf,
    _folder: tempfile::TempDir,
}

/// Whatever does the work.
enum Works {
    Gunicorn { _server: Gunicorn },
    Server { _server: Server },
}

/// A process that ends with SIGTERM, at once and with its children.
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let id = Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        let _ = kill(id, Signal::SIGTERM);
        let began = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) {
            if began.elapsed() > PATIENCE {
                let _ = self.0.kill();
            }
            sleep(Duration::from_millis(20));
        }
    }
}

const PHP: &str = "<?php usleep(10000); echo 'ok';";

const ASGI: &str = "
import asyncio
places = asyncio.Semaphore(4)
async def app(scope, receive, send):
    if scope['type'] != 'http':
        return
    async with places:
        await asyncio.sleep(0.010)
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'2')]})
    await send({'type': 'http.response.body', 'body': b'ok'})
";

impl Front {
    /// Starts both; `None` where one of them is not installed.
    pub fn start(behind: Behind) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let (works, id, passes) = match behind {
            Behind::Gunicorn => {
                let server = Gunicorn::start(4, "0.010", None)?;
                let (id, passes) = (server.id(), format!("proxy_pass {};", server.url));
                (Works::Gunicorn { _server: server }, id, passes)
            }
            Behind::PhpFpm => php_fpm(folder.path())?,
            Behind::Uvicorn => uvicorn(folder.path())?,
        };
        let port = free();
        let log = folder.path().join("access.log");
        let nginx = nginx(folder.path(), &log, port, &passes)?;
        Some(Self {
            _nginx: nginx,
            _behind: works,
            url: format!("http://127.0.0.1:{port}"),
            id,
            log,
            _folder: folder,
        })
    }
}

fn php_fpm(folder: &Path) -> Option<(Works, u32, String)> {
    let (script, conf, port) = (folder.join("work.php"), folder.join("fpm.conf"), free());
    fs::write(&script, PHP).unwrap();
    let text = format!(
        "[global]\nerror_log = {0}/fpm.log\ndaemonize = no\n[work]\nuser = nobody\ngroup = nogroup\nlisten = 127.0.0.1:{port}\n\
         listen.backlog = 400\npm = static\npm.max_children = 4\n",
        folder.display()
    );
    fs::write(&conf, text).unwrap();
    // Its workers are nobody.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("php-fpm8.2");
    command
        .arg("--allow-to-run-as-root")
        .arg("--fpm-config")
        .arg(&conf);
    let server = started(command, port, "php-fpm8.2, Debian's package php8.2-fpm")?;
    let passes = format!(
        "fastcgi_pass 127.0.0.1:{port}; fastcgi_param SCRIPT_FILENAME {}; fastcgi_param REQUEST_METHOD $request_method;",
        script.display()
    );
    let id = server.0.id();
    Some((Works::Server { _server: server }, id, passes))
}

fn uvicorn(folder: &Path) -> Option<(Works, u32, String)> {
    fs::write(folder.join("becalm_asgi.py"), ASGI).unwrap();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let port = free();
    let mut command = Command::new(root.join("target/pypi/bin/uvicorn"));
    command
        .args([
            "becalm_asgi:app",
            "--no-access-log",
            "--log-level",
            "error",
            "--port",
            &port.to_string(),
        ])
        .current_dir(folder);
    let server = started(command, port, "uvicorn, PyPI's package, in target/pypi")?;
    let id = server.0.id();
    Some((
        Works::Server { _server: server },
        id,
        format!("proxy_pass http://127.0.0.1:{port};"),
    ))
}

fn nginx(folder: &Path, log: &Path, port: u16, passes: &str) -> Option<Server> {
    let here = folder.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String = temporary
        .map(|it| format!("{it}_temp_path {here}/{it};\n"))
        .concat();
    let text = format!(
        "daemon off;\nworker_processes 1;\npid {here}/nginx.pid;\nerror_log {here}/error.log;\nevents {{ worker_connections 8192; }}\n\
         http {{\nlog_format becalm '{FORMAT}';\naccess_log {log} becalm;\n{temporary}server {{ listen 127.0.0.1:{port} backlog=1024; \
         location / {{ proxy_next_upstream off; {passes} }} }}\n}}\n",
        log = log.display()
    );
    let conf = folder.join("nginx.conf");
    fs::write(&conf, text).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).arg("-c").arg(&conf);
    started(command, port, "nginx, Debian's package nginx-light")
}

/// A server that listens by now; `None` where it is not installed, as `what` says.
pub fn started(mut command: Command, port: u16, what: &str) -> Option<Server> {
    let Ok(process) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
        let missing = format!("there is no {what}");
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("not tried: {missing}");
        return None;
    };
    let server = Server(process);
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(began.elapsed() < PATIENCE, "{what} listens");
        sleep(Duration::from_millis(20));
    }
    Some(server)
}

/// A port on which nobody listens.
pub fn free() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
