//! How many calls fail while their server restarts again and again, and what is lost or done twice?

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use becalm::reconnect::Pacer;
use becalm::{GaveUp, Policy, StopReason};
use becalm_sqlx::pool::Manager;
use becalm_sqlx::{Builder, Database, Failed, Marker, Resolve, Source, Status};
use sqlx::Executor;
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::server::{Postgres, run};
use crate::within;

const WRITERS: u32 = 16;

/// What was told, beside what the table then held.
#[derive(Debug, Default)]
struct Found {
    done: u64,
    /// By what ended them.
    failed: HashMap<String, u64>,
    in_doubt: u64,
    twice: u64,
    lost: u64,
    misreported: u64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed: u64 = self.failed.values().sum();
        write!(
            f,
            "{:>6} done, {failed:>3} failed, {:>3} in doubt; {} twice, {} lost, {} reported as failed though committed",
            self.done, self.in_doubt, self.twice, self.lost, self.misreported
        )?;
        for (why, times) in &self.failed {
            write!(f, "\n    {times} x {why}")?;
        }
        Ok(())
    }
}

impl Found {
    /// At most one of a thousand has failed, and none was lost or done twice.
    fn holds(&self, resolve: &Resolve) {
        assert_eq!(
            (self.twice, self.lost, self.misreported),
            (0, 0, 0),
            "{self}"
        );
        let failed: u64 = self.failed.values().sum();
        assert!(failed * 1000 <= self.done, "{self}");
        if let Resolve::Marker(_) = resolve {
            assert_eq!(self.in_doubt, 0, "{self}");
        }
        assert!(self.done > 0, "{self}");
    }
}

/// The writers write through so many restarts, which alternate between SIGKILL and a shutdown, with so many calls between them. The server is away
/// for so long each time, and up to 0.9 s longer.
async fn through<S: Source + Clone + 'static>(
    server: &mut Postgres,
    database: Database<S>,
    restarts: u32,
    calls: i64,
    away: Duration,
) -> Found {
    run(server, &["TRUNCATE effect"]).await;
    let (next, is_over) = (Arc::<AtomicI64>::default(), Arc::<AtomicBool>::default());
    let mut tasks = JoinSet::new();
    for _ in 0..WRITERS {
        let (database, next, is_over) = (database.clone(), Arc::clone(&next), Arc::clone(&is_over));
        tasks.spawn(async move {
            let mut told = Vec::new();
            while !is_over.load(Ordering::SeqCst) {
                let operation = next.fetch_add(1, Ordering::SeqCst);
                let write = database.transaction(|mut tx| async move {
                    // Most are in the middle when the server goes.
                    sleep(Duration::from_millis(5)).await;
                    let insert = sqlx::query("INSERT INTO effect VALUES ($1)").bind(operation);
                    insert.execute(&mut *tx).await.map(drop)
                });
                told.push((operation, write.await));
            }
            told
        });
    }
    for restart in 0..restarts {
        have_begun(&next, calls).await;
        if restart % 2 == 0 {
            server.kill();
        } else {
            server.shut_down();
        }
        sleep(away + Duration::from_millis(u64::from(restart % 4) * 300)).await;
        server.start_again().await;
    }
    have_begun(&next, calls).await;
    is_over.store(true, Ordering::SeqCst);
    let told = tasks.join_all().await.into_iter().flatten();
    compare(server, told).await
}

async fn have_begun(next: &AtomicI64, more: i64) {
    let enough = next.load(Ordering::SeqCst) + more;
    while next.load(Ordering::SeqCst) < enough {
        sleep(Duration::from_millis(1)).await;
    }
}

async fn compare(
    server: &Postgres,
    told: impl Iterator<Item = (i64, Result<(), GaveUp<Failed>>)>,
) -> Found {
    let all = sqlx::query_scalar::<_, i64>("SELECT operation FROM effect");
    let mut effects = HashMap::<i64, u64>::new();
    for operation in all
        .fetch_all(&mut server.plain().await)
        .await
        .expect("rows")
    {
        *effects.entry(operation).or_default() += 1;
    }
    let mut found = Found::default();
    for (operation, told) in told {
        let times = effects.get(&operation).copied().unwrap_or(0);
        found.twice += u64::from(times > 1);
        match told {
            Ok(()) => {
                found.done += 1;
                found.lost += u64::from(times == 0);
            }
            Err(gave_up) if gave_up.reason() == StopReason::NotIdempotent => found.in_doubt += 1,
            Err(gave_up) => {
                found.misreported += u64::from(times > 0);
                *found.failed.entry(gave_up.to_string()).or_default() += 1;
            }
        }
    }
    found
}

async fn started() -> Option<Postgres> {
    let server = Postgres::start(&["max_connections=100"]).await?;
    let tables = [
        "CREATE TABLE effect (operation bigint)",
        &Marker::new().ddl(),
    ];
    run(&server, &tables).await;
    Some(server)
}

/// Both pools as they come through so many restarts, with so many calls between them, by these ways.
async fn both_pools(ways: &[Resolve], restarts: u32, calls: i64) {
    let Some(mut server) = started().await else {
        return;
    };
    for resolve in ways {
        let options = server.url().parse().expect("an address");
        let paced = Database::builder(options).connections(WRITERS as usize);
        let found = through(
            &mut server,
            paced.resolve(resolve.clone()).build(),
            restarts,
            calls,
            Duration::ZERO,
        )
        .await;
        println!("the paced pool, {resolve:?}: {found}");
        found.holds(resolve);
        let sqlxs = PgPoolOptions::new().max_connections(WRITERS);
        let sqlxs = sqlxs.connect(&server.url()).await.expect("a pool");
        let sqlxs = Database::builder_over(sqlxs).resolve(resolve.clone());
        let found = through(&mut server, sqlxs.build(), restarts, calls, Duration::ZERO).await;
        println!("sqlx's pool,    {resolve:?}: {found}");
        found.holds(resolve);
    }
}

/// Pools that give up after 0.3 s, as often as there are attempts, are done before the server is back: becalm waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn calls_over_pools_of_little_patience_outlast_the_restarts_of_their_server() {
    let Some(mut server) = started().await else {
        return;
    };
    within(async {
        let resolve: Resolve = Marker::new().into();
        let (patience, away) = (Duration::from_millis(300), Duration::from_millis(2_500));
        let fast = Pacer::new(1_000, Duration::from_secs(1), 16).expect("a rate");
        let paced = Manager::new(server.url().parse().expect("an address"));
        let paced = paced.pacer(fast).patience(patience).pool(WRITERS as usize);
        let paced = Database::builder_over(paced).resolve(resolve.clone());
        let found = through(&mut server, paced.build(), 2, 64, away).await;
        found.holds(&resolve);
        let sqlxs = PgPoolOptions::new().max_connections(WRITERS);
        let sqlxs = sqlxs.acquire_timeout(patience).connect(&server.url()).await;
        let sqlxs = Database::builder_over(sqlxs.expect("a pool")).resolve(resolve.clone());
        let found = through(&mut server, sqlxs.build(), 2, 64, away).await;
        found.holds(&resolve);
    })
    .await;
}

/// `scripts/prove restarts`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes some minutes"]
async fn restarts_in_full() {
    let ways = [Marker::new().into(), Status::new().into(), Resolve::Stop];
    within(both_pools(&ways, 10, 1_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_restart_takes_is_charged_once_and_dead_idle_connections_cost_nothing() {
    let Some(mut server) = started().await else {
        return;
    };
    within(async {
        let outages = becalm::Policy::default().builder().count_demand().build();
        let outages = outages.expect("a policy");
        let pool = PgPoolOptions::new()
            .max_connections(WRITERS)
            .test_before_acquire(false);
        let pool = pool.connect(&server.url()).await.expect("a pool");
        let database = Database::builder_over(pool)
            .outages(outages.clone())
            .build();
        let all_hold = |database: &Database<sqlx::PgPool>| {
            let mut tasks = JoinSet::new();
            let barrier = Arc::new(tokio::sync::Barrier::new(WRITERS as usize + 1));
            for _ in 0..WRITERS {
                let (database, barrier) = (database.clone(), Arc::clone(&barrier));
                tasks.spawn(async move {
                    let attempt = AtomicI64::new(0);
                    let (attempt, barrier) = (&attempt, &barrier);
                    let write = database.transaction(|mut tx| async move {
                        tx.execute("SELECT 1").await?;
                        if attempt.fetch_add(1, Ordering::SeqCst) == 0 {
                            barrier.wait().await; // all have begun
                            barrier.wait().await; // and the server has gone
                        }
                        tx.execute("SELECT 1").await.map(drop)
                    });
                    write.await.expect("it is done");
                });
            }
            (tasks, barrier)
        };
        let (tasks, barrier) = all_hold(&database);
        barrier.wait().await;
        barrier.wait().await;
        tasks.join_all().await;
        let demand = outages.demand().expect("it is counted");
        assert_eq!((demand.first_tries, demand.attempts), (16, 16));
        // All sixteen lie idle, and die so.
        server.kill();
        server.start_again().await;
        let fill = outages.budget_fill();
        let (tasks, barrier) = all_hold(&database);
        barrier.wait().await;
        let demand = outages.demand().expect("it is counted");
        assert_eq!(
            (demand.first_tries, demand.attempts),
            (32, 32),
            "no attempt for a dead one"
        );
        assert!(outages.budget_fill() >= fill, "nor a token");
        // All sixteen are lost in flight, and pay one token together.
        server.kill();
        barrier.wait().await;
        server.start_again().await;
        tasks.join_all().await;
        let demand = outages.demand().expect("it is counted");
        assert_eq!((demand.first_tries, demand.attempts), (32, 48));
    })
    .await;
}

/// Where an attempt has less time than the server is away, and the pool too.
async fn wait_for_return<S: Source + Clone + 'static>(server: &mut Postgres, builder: Builder<S>) {
    let outages = Policy::exponential(Duration::from_millis(50));
    let outages = outages.attempt_timeout(Duration::from_millis(300));
    let database = builder
        .outages(outages.retrier().expect("a policy"))
        .build();
    let ask = database.transaction(|mut tx| async move { tx.execute("SELECT 1").await });
    ask.await.expect("it is there");
    server.kill();
    let mut tasks = JoinSet::new();
    for _ in 0..WRITERS {
        let database = database.clone();
        tasks.spawn(async move {
            let ask = database.transaction(|mut tx| async move { tx.execute("SELECT 1").await });
            ask.await.map(drop).expect("it waits");
        });
    }
    sleep(Duration::from_secs(3)).await;
    server.start_again().await;
    tasks.join_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_for_longer_than_an_attempt_takes_is_waited_for() {
    let Some(mut server) = started().await else {
        return;
    };
    within(async {
        let options = server.url().parse().expect("an address");
        let paced = Database::builder(options).connections(WRITERS as usize);
        wait_for_return(&mut server, paced).await;
        let pool = PgPoolOptions::new().max_connections(WRITERS);
        let pool = pool.acquire_timeout(Duration::from_secs(1));
        let pool = pool.connect(&server.url()).await.expect("a pool");
        wait_for_return(&mut server, Database::builder_over(pool)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_full_or_starts_is_waited_for_and_asked_by_one() {
    let Some(server) =
        Postgres::start(&["max_connections=5", "superuser_reserved_connections=0"]).await
    else {
        return;
    };
    within(async {
        let mut all = Vec::new();
        for _ in 0..5 {
            all.push(server.plain().await);
        }
        let outages = becalm::Policy::default().builder().count_demand().build();
        let outages = outages.expect("a policy");
        let options: sqlx::postgres::PgConnectOptions = server.url().parse().expect("an address");
        let database = Database::builder_over(Direct(options))
            .outages(outages.clone())
            .build();
        let mut tasks = JoinSet::new();
        for _ in 0..WRITERS {
            let database = database.clone();
            tasks.spawn(async move {
                let ask = |mut tx: becalm_sqlx::Tx<One>| async move {
                    tx.execute("SELECT 1").await.map(drop)
                };
                database.transaction(ask).await.expect("it is let in");
            });
        }
        sleep(Duration::from_secs(2)).await;
        let demand = outages.demand().expect("it is counted");
        assert_eq!(demand.attempts, u64::from(WRITERS), "they wait");
        assert!((outages.budget_fill() - 1.0).abs() < 1e-9);
        drop(all);
        tasks.join_all().await;
        assert!((outages.budget_fill() - 1.0).abs() < 1e-9, "uncharged");
    })
    .await;
}

/// A source without a pool, which dials for each and waits for none.
#[derive(Clone)]
struct Direct(sqlx::postgres::PgConnectOptions);

struct One(Box<sqlx::PgConnection>);

impl Source for Direct {
    type Connection = One;

    fn connection(&self) -> becalm_sqlx::Connecting<'_, One> {
        use sqlx::ConnectOptions;
        Box::pin(async {
            self.0
                .connect()
                .await
                .map(|connection| One(Box::new(connection)))
        })
    }
}

impl becalm_sqlx::Pooled for One {
    fn discard(self) {}
}

impl std::ops::Deref for One {
    type Target = sqlx::PgConnection;

    fn deref(&self) -> &sqlx::PgConnection {
        &self.0
    }
}

impl std::ops::DerefMut for One {
    fn deref_mut(&mut self) -> &mut sqlx::PgConnection {
        &mut self.0
    }
}
