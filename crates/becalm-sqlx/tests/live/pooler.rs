//! Does it all hold behind `PgBouncer`? Debian's own, in both modes, cut on either side.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use becalm::Policy;
use becalm_sqlx::{Database, Failed};
use sqlx::{Connection, Executor, PgConnection};
use tempfile::TempDir;

use crate::proxy::Proxy;
use crate::server::{self, Account, Postgres};
use crate::within;
use crate::writers::{Found, Way, World};

/// A pooler in front of a Postgres.
pub struct Pooler {
    port: u16,
    process: Child,
    _directory: TempDir,
}

impl Pooler {
    /// One in this mode, ready. The settings are those of docs/transactions.md.
    async fn start(mode: &str, server: u16) -> Option<Self> {
        let settings = if mode == "transaction" {
            "server_reset_query = DEALLOCATE ALL\nserver_reset_query_always = 1\n"
        } else {
            ""
        };
        Self::start_with(mode, server, settings).await
    }

    async fn start_with(mode: &str, server: u16, of_mode: &str) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let directory = TempDir::new().expect("a directory");
        let port = server::free_port();
        let path = directory.path();
        let users = path.join("users");
        std::fs::write(&users, "\"shop\" \"\"\n").expect("it is written");
        let settings = format!(
            "[databases]\npostgres = host=127.0.0.1 port={server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = {mode}\n\
             ignore_startup_parameters = extra_float_digits\nserver_login_retry = 1\n{of_mode}",
            users.display()
        );
        let file = path.join("pgbouncer.ini");
        std::fs::write(&file, settings).expect("it is written");
        let process = Self::spawn(path, &file);
        let pooler = Self {
            port,
            process,
            _directory: directory,
        };
        let began = Instant::now();
        while PgConnection::connect(&server::url(port)).await.is_err() {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "it does not start"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Some(pooler)
    }

    fn spawn(path: &Path, file: &Path) -> Child {
        let mut command = Command::new(program());
        command
            .arg(file)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // As Postgres, it does not run as root.
        if let Some(account) = Account::of_postgres() {
            for path in [path, file, &path.join("users")] {
                account.owns(path);
            }
            account.runs(&mut command);
        }
        command.spawn().expect("it runs")
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Debian puts it where the path of a user may not lead.
fn program() -> &'static str {
    if Path::new("/usr/sbin/pgbouncer").exists() {
        "/usr/sbin/pgbouncer"
    } else {
        "pgbouncer"
    }
}

fn is_installed() -> bool {
    let version = Command::new(program())
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let runs = version.is_ok();
    assert!(
        runs || std::env::var_os("CI").is_none(),
        "install Debian's pgbouncer"
    );
    if !runs {
        eprintln!(
            "left out: `pgbouncer` does not run; it comes from Debian's package of that name"
        );
    }
    runs
}

/// What sqlx needs in a mode: where a connection meets many servers it cannot prepare statements that last.
fn url(mode: &str, port: u16) -> String {
    let cache = if mode == "transaction" {
        "&statement-cache-capacity=0"
    } else {
        ""
    };
    format!("{}{cache}", server::url(port))
}

/// So many writers behind a pooler in this mode, cut so many times on each side; and as often the server is killed.
pub async fn cut(way: Way, mode: &str, writers: u32, cuts: u32) -> Option<Found> {
    let mut world = World::new().await?;
    let behind = Proxy::to(world.port()).await;
    let pooler = Pooler::start(mode, behind.port()).await?;
    let before = Proxy::to(pooler.port).await;
    // As a database has by default.
    let outages = Policy::exponential(Duration::from_millis(50));
    let url = url(mode, before.port());
    world.write_to(way, writers, &url, outages).await;
    for round in 0..3 * cuts {
        world.have_begun(i64::from(writers) * 3).await;
        if round % 3 == 2 {
            world.restart().await;
            continue;
        }
        let cut = if round % 3 == 0 { &before } else { &behind };
        cut.swallow();
        tokio::time::sleep(Duration::from_millis(5)).await;
        cut.cut();
    }
    world.have_begun(i64::from(writers)).await;
    Some(world.found().await)
}

async fn both_modes(ways: &[Way], writers: u32, cuts: u32) {
    for mode in ["session", "transaction"] {
        for way in ways {
            let Some(found) = cut(*way, mode, writers, cuts).await else {
                return;
            };
            println!(
                "{way:?}, pool_mode = {mode}, {cuts} cuts on each side, {cuts} restarts: {found}"
            );
            match way {
                Way::Marker => found.by_marker(),
                Way::Stop => found.by_stopping(),
                _ => found.by_status(),
            }
            found.none_failed();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_pooler_none_is_done_twice_or_lost() {
    within(both_modes(&[Way::Stop, Way::Status, Way::Marker], 8, 3)).await;
}

/// A part of `scripts/prove restarts`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes some minutes"]
async fn pooler_restarts_in_full() {
    within(both_modes(&[Way::Stop, Way::Status, Way::Marker], 16, 30)).await;
}

#[tokio::test]
async fn what_a_setting_of_the_pooler_refuses_ends_the_call_at_once() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        let Some(pooler) = Pooler::start("transaction", server.port()).await else {
            return;
        };
        let nowhere = url("transaction", pooler.port).replace("/postgres?", "/nowhere?");
        let shop = Database::new(nowhere.parse().expect("an address"));
        let began = Instant::now();
        let ask = shop.transaction(|mut tx| async move { tx.execute("SELECT 1").await.map(drop) });
        let gave_up = ask.await.expect_err("there is no such database");
        assert_eq!(gave_up.reason(), becalm::StopReason::Permanent, "{gave_up}");
        assert!(began.elapsed() < Duration::from_secs(10), "{gave_up}");
    })
    .await;
}

/// Two clients that meet one server take a name for what they prepare. Whether the second may.
async fn second_prepares(settings: &str, is_kept: bool) -> Option<Result<i32, sqlx::Error>> {
    let server = Postgres::start(&[]).await?;
    let settings = format!("{settings}default_pool_size = 1\n");
    let pooler = Pooler::start_with("transaction", server.port(), &settings).await?;
    let url = url("transaction", pooler.port);
    let mut last = None;
    for _ in 0..2 {
        let shop = Database::new(url.parse().expect("an address"));
        let ask = shop.transaction(|mut tx| async move {
            let ask = sqlx::query_scalar("SELECT $1").bind(17).persistent(is_kept);
            ask.fetch_one(&mut *tx).await
        });
        let asked = ask.await.map_err(becalm::GaveUp::into_error);
        last = Some(asked.map_err(|failed| match failed {
            Some(Failed::Body(error)) => error,
            other => panic!("{other:?}"),
        }));
        std::mem::forget(shop); // its connection stays
    }
    last
}

#[tokio::test]
async fn what_sqlx_prepares_is_deallocated_or_not_named() {
    within(async {
        let Some(named) = second_prepares("", true).await else {
            return;
        };
        let code = named.expect_err("the name is taken");
        let code = code
            .as_database_error()
            .and_then(sqlx::error::DatabaseError::code);
        assert_eq!(code.as_deref(), Some("42P05"), "the witness");
        let unnamed = second_prepares("", false)
            .await
            .expect("both are installed");
        assert_eq!(unnamed.expect("it has no name"), 17);
        let settings = "server_reset_query = DEALLOCATE ALL\nserver_reset_query_always = 1\n";
        let deallocated = second_prepares(settings, true)
            .await
            .expect("both are installed");
        assert_eq!(deallocated.expect("the name is free"), 17);
    })
    .await;
}
