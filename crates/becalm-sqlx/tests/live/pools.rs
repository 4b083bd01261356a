//! Do pools come back without a storm?

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::Failure;
use becalm::reconnect::NoConnection;
use becalm_sqlx::Database;
use becalm_sqlx::pool::{Dial, Manager, Oversized, Pool};
use deadpool::managed::PoolError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Executor, PgConnection};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::server::{Postgres, run};
use crate::within;

/// A server in virtual time, which is down up to a moment and counts who dials.
#[derive(Clone)]
struct Fake {
    /// Before, it takes connections and says nothing.
    silent_until: Option<Instant>,
    up_at: Instant,
    dials: Arc<Mutex<Vec<Instant>>>,
}

#[derive(Debug, PartialEq)]
struct Down;

impl Dial for Fake {
    type Connection = ();
    type Error = Down;

    async fn dial(&self) -> Result<(), Down> {
        self.dials.lock().expect("unpoisoned").push(Instant::now());
        if self
            .silent_until
            .is_some_and(|until| Instant::now() < until)
        {
            std::future::pending::<()>().await;
        }
        sleep(Duration::from_millis(3)).await;
        if Instant::now() < self.up_at {
            Err(Down)
        } else {
            Ok(())
        }
    }

    async fn is_alive((): &mut ()) -> Result<(), Down> {
        Ok(())
    }

    fn classify(_: &Down) -> Failure {
        Failure::transient().unsent()
    }
}

/// The most of these moments that lie within a second.
pub fn most_in_a_second(moments: impl IntoIterator<Item = Duration>) -> usize {
    let mut moments: Vec<_> = moments.into_iter().collect();
    moments.sort();
    let (mut within, mut most) = (VecDeque::new(), 0);
    for moment in moments {
        within.push_back(moment);
        while within
            .front()
            .is_some_and(|first| *first + Duration::from_secs(1) <= moment)
        {
            within.pop_front();
        }
        most = most.max(within.len());
    }
    most
}

#[tokio::test(start_paused = true)]
async fn a_hundred_pools_dial_less_than_ten_times_a_second_each_and_all_come_back() {
    let began = Instant::now();
    let fake = Fake {
        silent_until: None,
        up_at: began + Duration::from_secs(3),
        dials: Arc::default(),
    };
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let pool = Manager::new(fake.clone()).pool(10);
        for _ in 0..10 {
            let pool = pool.clone();
            tasks.spawn(async move {
                let held = pool.get().await.expect("no acquire time-out");
                sleep(Duration::from_secs(60)).await; // all of them are wanted
                drop(held);
                began.elapsed()
            });
        }
    }
    let back = tasks
        .join_all()
        .await
        .into_iter()
        .max()
        .expect("a thousand");
    let back = back
        .checked_sub(Duration::from_secs(60 + 3))
        .expect("later");
    assert!(back < Duration::from_secs(4), "all are back after {back:?}");
    let dials = fake.dials.lock().expect("unpoisoned");
    let first = dials
        .iter()
        .filter(|at| **at < began + Duration::from_secs(1))
        .count();
    assert!((200..=1000).contains(&first), "{first}");
    let most = most_in_a_second(dials.iter().map(|at| *at - began));
    assert!(most <= 1000, "{most}");
}

#[tokio::test(start_paused = true)]
async fn who_stops_waiting_takes_no_wait_with_them_and_patience_ends_with_the_last_error() {
    let fake = Fake {
        silent_until: None,
        up_at: Instant::now() + Duration::from_secs(3600),
        dials: Arc::default(),
    };
    let pool = Manager::new(fake.clone()).pool(10);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        let _ = tokio::time::timeout(Duration::from_millis(20), pool.get()).await;
    }
    // At the cap of a second: two in a second on average, and not one for each who came.
    let dials = fake.dials.lock().expect("unpoisoned").len();
    assert!((10..50).contains(&dials), "{dials}");
    let pool = Manager::new(fake).patience(Duration::from_secs(2)).pool(1);
    let began = Instant::now();
    let error = pool.get().await.map(drop).expect_err("it is down");
    assert!(
        matches!(error, PoolError::Backend(NoConnection::TooLate(Some(_), _))),
        "{error:?}"
    );
    assert!(
        (2..3).contains(&began.elapsed().as_secs()),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_is_not_answered_holds_up_nobody_for_longer_than_ten_seconds() {
    let began = Instant::now();
    let fake = Fake {
        silent_until: Some(began + Duration::from_secs(1)),
        up_at: began,
        dials: Arc::default(),
    };
    let pool = Manager::new(fake).pool(2);
    let (one, other) = tokio::join!(pool.get(), pool.get());
    assert!(one.is_ok() && other.is_ok());
    let after = began.elapsed().as_millis();
    assert!((10_000..11_000).contains(&after), "{after} ms");
}

fn paced(server: &Postgres) -> Manager {
    let options: PgConnectOptions = server.url().parse().expect("an address");
    Manager::new(options)
}

#[tokio::test]
async fn transactions_run_over_a_paced_pool_and_outlast_a_restart() {
    let Some(mut server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        run(&server, &["CREATE TABLE done (what text)"]).await;
        let shop = Database::over(paced(&server).pool(4));
        for round in 0..3 {
            if round > 0 {
                server.kill();
                server.start_again().await;
            }
            for what in ["a", "b"] {
                let write = shop.transaction(|mut tx| async move {
                    let insert = sqlx::query("INSERT INTO done VALUES ($1)").bind(what);
                    insert.execute(&mut *tx).await.map(drop)
                });
                write.await.expect("it is done");
            }
        }
        let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM done");
        let count = count.fetch_one(&mut server.plain().await).await;
        assert_eq!(count.expect("a count"), 6);
        // Dropped in the middle, it is rolled back before another has its connection.
        let began = tokio::sync::Notify::new();
        let hangs = shop.transaction(|mut tx| {
            let began = &began;
            async move {
                tx.execute("LOCK TABLE done").await?;
                began.notify_one();
                std::future::pending::<sqlx::Result<()>>().await
            }
        });
        tokio::select! {
            _ = hangs => panic!("it hangs"),
            () = began.notified() => (),
        }
        let mut plain = server.plain().await;
        plain
            .execute("INSERT INTO done VALUES ('free')")
            .await
            .expect("the lock is gone");
    })
    .await;
}

#[tokio::test]
async fn a_connection_at_the_end_of_its_life_is_not_handed_out_again() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        async fn id(pool: &Pool) -> i32 {
            let mut held = pool.get().await.expect("a connection");
            let ask = sqlx::query_scalar("SELECT pg_backend_pid()");
            ask.fetch_one(&mut *held).await.expect("a number")
        }
        let lasting = paced(&server).pool(1);
        assert_eq!(id(&lasting).await, id(&lasting).await);
        let brief = paced(&server).lifetime(Duration::ZERO).pool(1);
        assert_ne!(id(&brief).await, id(&brief).await);
    })
    .await;
}

#[tokio::test]
async fn pools_that_want_more_than_the_server_has_are_told_so_with_the_numbers() {
    let Some(server) = Postgres::start(&["max_connections=100"]).await else {
        return;
    };
    within(async {
        let mut plain = server.plain().await;
        let found = Oversized::check(&mut plain, 100, 10).await.expect("an answer");
        let warning = found.expect("it is too many").to_string();
        assert_eq!(
            warning,
            "100 processes with pools of 10 want 1000 connections, and the server lets in 97 (max_connections is 100, 3 of \
             them reserved): make the pools smaller, or put a pooler between"
        );
        for (processes, pool, is_too_many) in [(97, 1, false), (98, 1, true), (1, 97, false)] {
            let found = Oversized::check(&mut plain, processes, pool).await;
            assert_eq!(found.expect("an answer").is_some(), is_too_many, "{processes} x {pool}");
        }
        let limit = "ALTER ROLE shop CONNECTION LIMIT 5";
        plain.execute(limit).await.expect("a limit");
        let found = Oversized::check(&mut plain, 1, 6).await.expect("an answer");
        assert_eq!(found.expect("it is too many").allowed, 5);
    })
    .await;
}

#[cfg(feature = "tokio-postgres")]
#[tokio::test]
async fn connections_of_tokio_postgres_are_pooled_and_replaced_too() {
    let Some(mut server) = Postgres::start(&[]).await else {
        return;
    };
    within(async {
        let config: tokio_postgres::Config = server.url().parse().expect("an address");
        let pool = Manager::new(config).pool(2);
        for round in 0..2 {
            if round > 0 {
                server.kill();
                server.start_again().await;
            }
            let held = pool.get().await.expect("a connection");
            let row = held.query_one("SELECT 17", &[]).await.expect("a row");
            assert_eq!(row.get::<_, i32>(0), 17);
        }
        let config = server.url().replace("/postgres?", "/nowhere?");
        let config: tokio_postgres::Config = config.parse().expect("an address");
        let nowhere = Manager::new(config).pool(1);
        match nowhere.get().await.map(drop) {
            Err(PoolError::Backend(NoConnection::GaveUp(_, Some(error)))) => {
                let code = error.code().map(tokio_postgres::error::SqlState::code);
                assert_eq!(code, Some("3D000"), "there is no such database");
            }
            other => panic!("{other:?}"),
        }
    })
    .await;
}

/// Dials as it should, and says on standard output when.
struct Told(PgConnectOptions);

impl Dial for Told {
    type Connection = PgConnection;
    type Error = sqlx::Error;

    async fn dial(&self) -> Result<PgConnection, sqlx::Error> {
        say("dial");
        self.0.dial().await
    }

    async fn is_alive(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        PgConnectOptions::is_alive(connection).await
    }

    fn classify(error: &sqlx::Error) -> Failure {
        <PgConnectOptions as Dial>::classify(error)
    }
}

fn now() -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("after 1970")
}

fn say(what: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "told {what} {}", now().as_nanos());
}

/// One of the processes of `pools_in_full`: ten pools of ten, of which every connection is in use all the time.
#[tokio::test]
#[ignore = "a process of pools_in_full"]
async fn a_process_of_pools() {
    let Ok(url) = std::env::var("BECALM_POOLS_OF") else {
        return;
    };
    let mut tasks = JoinSet::new();
    for _ in 0..10 {
        let options: PgConnectOptions = url.parse().expect("an address");
        let pool = Manager::new(Told(options)).pool(10);
        for _ in 0..10 {
            let pool = pool.clone();
            tasks.spawn(async move {
                loop {
                    match pool.get().await {
                        Ok(mut held) => {
                            say("back");
                            // It holds it until the server goes away.
                            while held.execute("SELECT 1").await.is_ok() {
                                sleep(Duration::from_millis(200)).await;
                            }
                            say("lost");
                        }
                        Err(error) => {
                            say(&format!("error:{}", error.to_string().replace(' ', "_")));
                        }
                    }
                }
            });
        }
    }
    // Its standard input ends with the test.
    let ended = tokio::task::spawn_blocking(|| io::stdin().lines().count());
    tokio::select! {
        _ = tasks.join_next() => panic!("they go on for ever"),
        _ = ended => std::process::exit(0),
    }
}

/// `scripts/prove pools`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a thousand connections"]
async fn pools_in_full() {
    let options = ["max_connections=1100", "shared_buffers=64MB"];
    let mut server = Postgres::start(&options)
        .await
        .expect("Postgres is installed");
    let told = Arc::<Mutex<Vec<(String, Duration)>>>::default();
    let mut processes = Vec::new();
    for _ in 0..10 {
        let this = std::env::current_exe().expect("a path");
        let mut process = Command::new(this);
        process.args([
            "--exact",
            "pools::a_process_of_pools",
            "--ignored",
            "--nocapture",
        ]);
        process.env("BECALM_POOLS_OF", server.url());
        let process = process.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = process.expect("it runs");
        let lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let told = Arc::clone(&told);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let Some((what, at)) = line
                    .strip_prefix("told ")
                    .and_then(|line| line.split_once(' '))
                else {
                    continue;
                };
                let at = Duration::from_nanos(at.parse().expect("nanoseconds"));
                told.lock().expect("unpoisoned").push((what.into(), at));
            }
        });
        processes.push(process);
    }
    let count = |what: &str, since: Duration| {
        let told = told.lock().expect("unpoisoned");
        told.iter()
            .filter(|(said, at)| said == what && *at >= since)
            .count()
    };
    within(async {
        while count("back", Duration::ZERO) < 1000 {
            sleep(Duration::from_millis(20)).await;
        }
        sleep(Duration::from_secs(1)).await;
        let down = now();
        server.kill();
        sleep(Duration::from_secs(3)).await;
        let up = now();
        server.start_again().await;
        let answers = now();
        while count("back", down) < 1000 {
            sleep(Duration::from_millis(20)).await;
        }
        let told = told.lock().expect("unpoisoned");
        let since = |what: &'static str| {
            let since = told.iter().filter(move |(said, at)| said == what && *at >= down);
            since.map(|(_, at)| *at)
        };
        let last = since("back").max().expect("a thousand");
        let after = last.saturating_sub(up);
        let first = since("dial").filter(|at| *at < down + Duration::from_secs(1)).count();
        let most = most_in_a_second(since("dial"));
        let errors: Vec<_> = told.iter().filter(|(said, _)| said.starts_with("error")).collect();
        println!(
            "100 pools of 10 in 10 processes, Postgres killed for 3 s and ready {:?} after its start: {first} dials in the first \
             second, at most {most} in any; all 1,000 back {:?} after its start; {} errors to callers",
            answers.saturating_sub(up),
            after,
            errors.len()
        );
        assert!(most <= 1000, "{most}");
        assert!(after <= Duration::from_secs(4), "{after:?}");
        assert!(errors.is_empty(), "{errors:?}");
    })
    .await;
    for mut process in processes {
        drop(process.stdin.take());
        process.wait().expect("it ends");
    }
}
