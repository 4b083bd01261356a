//! What does a server cost that is full for an hour (53300)? In virtual time: no charge, no storm of dials, and all come back.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::reconnect::NoConnection;
use becalm::{Failure, Policy};
use becalm_sqlx::pool::{Dial, Manager};
use becalm_sqlx::{Connecting, Database, Pooled, Source};
use deadpool::managed::{self, PoolError};
use sqlx::error::{DatabaseError, ErrorKind};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Error, PgConnection};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::pools::most_in_a_second;
use crate::server::{Postgres, run};

/// A server that is full up to a moment of virtual time. From then on time is the real one, and so is the server.
#[derive(Clone)]
struct Full {
    options: PgConnectOptions,
    until: Instant,
    dials: Arc<Mutex<Vec<Instant>>>,
    is_real: Arc<AtomicBool>,
}

impl Dial for Full {
    type Connection = PgConnection;
    type Error = Error;

    async fn dial(&self) -> Result<PgConnection, Error> {
        self.dials.lock().expect("unpoisoned").push(Instant::now());
        if Instant::now() < self.until {
            sleep(Duration::from_millis(3)).await;
            return Err(Error::Database(Box::new(TooMany)));
        }
        if !self.is_real.swap(true, Ordering::SeqCst) {
            tokio::time::resume();
        }
        self.options.dial().await
    }

    async fn is_alive(connection: &mut PgConnection) -> Result<(), Error> {
        PgConnectOptions::is_alive(connection).await
    }

    fn classify(error: &Error) -> Failure {
        <PgConnectOptions as Dial>::classify(error)
    }
}

/// `too_many_connections`, as Postgres says it.
#[derive(Debug)]
struct TooMany;

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl StdError for TooMany {}

impl DatabaseError for TooMany {
    fn message(&self) -> &'static str {
        "sorry, too many clients already"
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some("53300".into())
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }
}

/// The paced pool of such dials.
struct Paced(managed::Pool<Manager<Full>>);

/// One of its connections.
struct Held(managed::Object<Manager<Full>>);

impl Deref for Held {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.0
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}

impl Pooled for Held {
    fn discard(self) {
        drop(managed::Object::take(self.0));
    }
}

impl Source for Paced {
    type Connection = Held;

    fn connection(&self) -> Connecting<'_, Held> {
        Box::pin(async {
            self.0.get().await.map(Held).map_err(|error| match error {
                PoolError::Backend(
                    NoConnection::TooLate(Some(error), _) | NoConnection::GaveUp(_, Some(error)),
                ) => Arc::into_inner(error).unwrap_or(Error::PoolTimedOut),
                _ => Error::PoolTimedOut,
            })
        })
    }

    fn has_room(&self) -> bool {
        self.0.status().size < self.0.status().max_size
    }
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn one_that_is_full_for_an_hour_costs_nothing_and_all_come_back() {
    let Some(server) = Postgres::start(&[]).await else {
        return;
    };
    run(&server, &["CREATE TABLE done (what bigint)"]).await;
    tokio::time::pause();
    let began = Instant::now();
    let full = Full {
        options: server.url().parse().expect("an address"),
        until: began + HOUR,
        dials: Arc::default(),
        is_real: Arc::default(),
    };
    let outages = Policy::exponential(Duration::from_millis(50)).builder();
    let outages = outages.build().expect("a valid policy");
    // Before a success earns something.
    let budget = outages.clone();
    let at_its_end = tokio::spawn(async move {
        sleep(HOUR.saturating_sub(Duration::from_secs(1))).await;
        budget.budget_fill()
    });
    let database = Arc::new(
        Database::builder_over(Paced(Manager::new(full.clone()).pool(10)))
            .outages(outages)
            .patience(2 * HOUR)
            .build(),
    );
    let mut tasks = JoinSet::new();
    for number in 0..100_i64 {
        let database = Arc::clone(&database);
        tasks.spawn(async move {
            // They come all through the hour.
            sleep(Duration::from_secs(
                u64::try_from(number).expect("small") * 30,
            ))
            .await;
            let write = database.transaction(|mut tx| async move {
                let insert = sqlx::query("INSERT INTO done VALUES ($1)").bind(number);
                insert.execute(&mut *tx).await.map(drop)
            });
            write.await.map_err(|gave_up| gave_up.to_string())
        });
    }
    let ended = tasks.join_all().await;
    let failed: Vec<_> = ended.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let left = at_its_end.await.expect("no panic");
    assert!((left - 1.0).abs() < 1e-9, "it is charged: {left}");
    let dials = full.dials.lock().expect("unpoisoned").clone();
    let while_full = dials.iter().filter(|at| **at < full.until);
    let (count, most) = (
        while_full.clone().count(),
        most_in_a_second(while_full.map(|at| *at - began)),
    );
    println!("{count} dials in the hour, at most {most} in a second");
    // At the cap of a second: two in a second on average, however many wait.
    assert!((3_600..9_000).contains(&count), "{count}");
    assert!(most <= 10, "{most}");
    let count = sqlx::query_scalar::<_, i64>("SELECT count(DISTINCT what) FROM done");
    let count = count.fetch_one(&mut server.plain().await).await;
    assert_eq!(count.expect("a count"), 100);
}
