//! What has become of the transactions of many writers while their connections were cut, or their server killed?

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use becalm::observe::About;
use becalm::{Budget, Effect, Event, Observer, Policy};
use becalm_sqlx::{Database, Marker, Resolve, Status};
use sqlx::PgPool;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::proxy::Proxy;
use crate::server::{self, Postgres, run};

/// How a lost answer to `COMMIT` is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Repeated, as if it were idempotent.
    Blind,
    Stop,
    /// By a status that is believed whatever has happened to the server: a witness, and no way to do it.
    Naive,
    Status,
    Marker,
}

/// What a writer was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Done,
    Failed,
    InDoubt,
}

/// What was told, beside what the table says.
#[derive(Debug, Default)]
pub struct Found {
    /// How many attempts were repeated that may have been committed.
    repeated: u64,
    done: u64,
    failed: u64,
    in_doubt: u64,
    /// How many of these had been committed.
    in_doubt_committed: u64,
    twice: u64,
    lost: u64,
    misreported: u64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            repeated,
            done,
            failed,
            in_doubt,
            in_doubt_committed,
            twice,
            lost,
            misreported,
        } = self;
        write!(
            f,
            "{done:>6} done, {repeated:>4} repeated in doubt, {failed:>4} failed, {in_doubt:>4} stopped in doubt ({in_doubt_committed} of them committed); \
             {twice} twice, {lost} lost, {misreported} reported as failed though committed"
        )
    }
}

impl Found {
    pub fn by_marker(&self) {
        let wrong = (self.twice, self.lost, self.misreported, self.in_doubt);
        assert_eq!(wrong, (0, 0, 0, 0), "{self}");
        assert!(self.done > 0, "{self}");
    }

    pub fn by_status(&self) {
        assert_eq!(
            (self.twice, self.lost, self.misreported),
            (0, 0, 0),
            "{self}"
        );
        assert!(self.done > 0, "{self}");
    }

    pub fn none_failed(&self) {
        assert_eq!(self.failed, 0, "{self}");
    }

    pub fn by_stopping(&self) {
        self.by_status();
        assert!(self.in_doubt > 0, "{self}");
    }
}

/// Counts what was repeated in doubt.
#[derive(Debug, Clone, Default)]
struct Repeated(Arc<AtomicU64>);

impl Observer for Repeated {
    fn on_event(&self, _: &About<'_>, event: &Event<'_>) {
        if let Event::Retry {
            effect: Effect::Unknown,
            ..
        } = event
        {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Writers, and the server that they write to.
pub struct World {
    repeated: Repeated,
    server: Postgres,
    next: Arc<AtomicI64>,
    is_over: Arc<AtomicBool>,
    tasks: JoinSet<Vec<(i64, Told)>>,
}

/// So many writers, while a proxy swallows answers and cuts so many times.
pub async fn cut(way: &Way, writers: u32, cuts: u32) -> Option<Found> {
    let mut world = World::new().await?;
    let proxy = Proxy::to(world.server.port()).await;
    world.write(*way, writers, proxy.port()).await;
    for _ in 0..cuts {
        world.have_begun(i64::from(writers) * 3).await;
        proxy.swallow();
        sleep(Duration::from_millis(5)).await;
        proxy.cut();
    }
    Some(world.found().await)
}

/// So many writers, while their server is killed and started so many times.
pub async fn killed(way: &Way, writers: u32, times: u32) -> Option<Found> {
    let mut world = World::new().await?;
    let port = world.server.port();
    world.write(*way, writers, port).await;
    for _ in 0..times {
        world.have_begun(i64::from(writers) * 10).await;
        world.restart().await;
    }
    world.have_begun(i64::from(writers)).await;
    Some(world.found().await)
}

impl World {
    pub async fn new() -> Option<Self> {
        let server = Postgres::start(&["max_connections=100"]).await?;
        run(
            &server,
            &[
                "CREATE TABLE effect (operation bigint)",
                &Marker::new().ddl(),
            ],
        )
        .await;
        Some(Self {
            repeated: Repeated::default(),
            server,
            next: Arc::default(),
            is_over: Arc::default(),
            tasks: JoinSet::new(),
        })
    }

    /// Kills the server, and starts it again.
    pub async fn restart(&mut self) {
        self.server.kill();
        self.server.start_again().await;
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    async fn write(&mut self, way: Way, writers: u32, port: u16) {
        // Everything is to be done in the end, but for what is in doubt.
        let outages = Policy::exponential(Duration::from_millis(20)).attempts(Policy::UNLIMITED);
        let outages = outages.cap(Duration::from_millis(200)).budget(Budget::None);
        let outages = outages.deadline(Duration::from_secs(60));
        self.write_to(way, writers, &server::url(port), outages)
            .await;
    }

    pub async fn write_to(&mut self, way: Way, writers: u32, url: &str, outages: Policy) {
        let pool = server::pool_of(url, writers).await;
        let resolve = match way {
            Way::Blind => Resolve::Idempotent,
            Way::Stop | Way::Naive => Resolve::Stop,
            Way::Status => Status::new().into(),
            Way::Marker => Marker::new().into(),
        };
        let outages = outages.builder().observer(self.repeated.clone()).build();
        let database = Database::builder_over(pool).outages(outages.expect("a policy"));
        let database = database.resolve(resolve).build();
        for _ in 0..writers {
            let (database, next) = (database.clone(), Arc::clone(&self.next));
            let is_over = Arc::clone(&self.is_over);
            self.tasks.spawn(async move {
                let mut told = Vec::new();
                while !is_over.load(Ordering::SeqCst) {
                    let operation = next.fetch_add(1, Ordering::SeqCst);
                    let said = match way {
                        Way::Naive => naively(database.source(), operation).await,
                        _ => once(&database, operation).await,
                    };
                    told.push((operation, said));
                }
                told
            });
        }
    }

    /// Comes back when so many more have begun.
    pub async fn have_begun(&self, more: i64) {
        let enough = self.next.load(Ordering::SeqCst) + more;
        while self.next.load(Ordering::SeqCst) < enough {
            sleep(Duration::from_millis(1)).await;
        }
    }

    pub async fn found(self) -> Found {
        self.is_over.store(true, Ordering::SeqCst);
        let told = self.tasks.join_all().await;
        let mut plain = self.server.plain().await;
        let all = sqlx::query_scalar::<_, i64>("SELECT operation FROM effect");
        let mut effects = HashMap::<i64, u64>::new();
        for operation in all.fetch_all(&mut plain).await.expect("rows") {
            *effects.entry(operation).or_default() += 1;
        }
        let mut found = Found {
            repeated: self.repeated.0.load(Ordering::SeqCst),
            ..Found::default()
        };
        for (operation, told) in told.into_iter().flatten() {
            let times = effects.get(&operation).copied().unwrap_or(0);
            found.twice += u64::from(times > 1);
            match told {
                Told::Done => {
                    found.done += 1;
                    found.lost += u64::from(times == 0);
                }
                Told::Failed => {
                    found.failed += 1;
                    found.misreported += u64::from(times > 0);
                }
                Told::InDoubt => {
                    found.in_doubt += 1;
                    found.in_doubt_committed += u64::from(times > 0);
                }
            }
        }
        found
    }
}

const INSERT: &str = "INSERT INTO effect VALUES ($1)";

async fn once(database: &Database<PgPool>, operation: i64) -> Told {
    let write = database.transaction(|mut tx| async move {
        let insert = sqlx::query(INSERT).bind(operation);
        insert.execute(&mut *tx).await.map(drop)
    });
    match write.await.map_err(becalm::GaveUp::into_error) {
        Ok(()) => Told::Done,
        Err(Some(failed)) if failed.may_have_committed() => Told::InDoubt,
        Err(_) => Told::Failed,
    }
}

/// What people write who have read of `pg_xact_status`.
async fn naively(pool: &PgPool, operation: i64) -> Told {
    loop {
        let Ok(mut tx) = pool.begin().await else {
            sleep(Duration::from_millis(1)).await;
            continue;
        };
        let insert = sqlx::query(INSERT).bind(operation);
        if insert.execute(&mut *tx).await.is_err() {
            continue;
        }
        let xid = sqlx::query_scalar::<_, String>("SELECT pg_current_xact_id()::text");
        let Ok(xid) = xid.fetch_one(&mut *tx).await else {
            continue;
        };
        if tx.commit().await.is_ok() || is_committed(pool, &xid).await {
            return Told::Done;
        }
    }
}

async fn is_committed(pool: &PgPool, xid: &str) -> bool {
    loop {
        let status = sqlx::query_scalar::<_, Option<String>>("SELECT pg_xact_status($1::xid8)");
        match status.bind(xid).fetch_one(pool).await {
            Ok(Some(status)) if status == "in progress" => sleep(Duration::from_millis(5)).await,
            Ok(status) => return status.as_deref() == Some("committed"),
            Err(sqlx::Error::Database(_)) => return false, // it is in the future
            Err(_) => sleep(Duration::from_millis(5)).await,
        }
    }
}
