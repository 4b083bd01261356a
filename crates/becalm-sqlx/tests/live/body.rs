//! Does a body get its handle in every form that people write, and what happens to one that goes astray?

use std::future::IntoFuture;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::preset::Preset;
use becalm::{Backoff, Breaker, Policy, StopReason};
use becalm_sqlx::{Database, Failed, Isolation};
use sqlx::pool::PoolConnection;
use sqlx::{Connection, Executor, PgConnection, PgPool, Postgres as Db};
use tokio::sync::Notify;

use crate::server::{Postgres, run};
use crate::within;

/// A handle of a transaction over sqlx's pool.
type Tx = becalm_sqlx::Tx<PoolConnection<Db>>;

async fn shop() -> Option<(Postgres, PgPool)> {
    let server = Postgres::start(&[]).await?;
    run(&server, &["CREATE TABLE done (what text)"]).await;
    let pool = server.pool(1).await;
    Some((server, pool))
}

async fn done(server: &Postgres) -> Vec<String> {
    let all = sqlx::query_scalar("SELECT what FROM done ORDER BY what");
    all.fetch_all(&mut server.plain().await)
        .await
        .expect("rows")
}

async fn insert(tx: &mut PgConnection, what: &str) -> sqlx::Result<()> {
    let insert = sqlx::query("INSERT INTO done VALUES ($1)").bind(what);
    insert.execute(tx).await.map(drop)
}

#[derive(Debug)]
enum ShopError {
    SoldOut,
    Database(sqlx::Error),
}

impl std::fmt::Display for ShopError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for ShopError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::SoldOut => None,
            Self::Database(error) => Some(error),
        }
    }
}

impl From<sqlx::Error> for ShopError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

async fn named(mut tx: Tx) -> Result<u32, ShopError> {
    insert(&mut tx, "named").await?;
    let mut savepoint = tx.begin().await?;
    insert(&mut savepoint, "taken back").await?;
    savepoint.rollback().await?;
    Ok(17)
}

#[tokio::test]
async fn a_body_is_a_closure_that_borrows_or_a_function_and_runs_in_a_task() {
    let Some((server, pool)) = shop().await else {
        return;
    };
    within(async {
        let shop = Database::over(pool);
        let (what, left) = (String::from("borrowed"), &Mutex::new(3));
        let borrowed = shop.transaction(|mut tx| {
            let what = &what;
            async move {
                *left.lock().expect("unpoisoned") -= 1;
                insert(&mut tx, what).await
            }
        });
        borrowed.await.expect("it is done");
        assert_eq!(*left.lock().expect("unpoisoned"), 2);
        let spawned = tokio::spawn({
            let shop = shop.clone();
            async move {
                let what = String::from("spawned");
                let what = &what;
                let body = |mut tx: Tx| async move { insert(&mut tx, what).await };
                shop.transaction(body).await.expect("it is done");
                shop.transaction(named).await.expect("it is done")
            }
        });
        assert_eq!(spawned.await.expect("no panic"), 17);
        assert_eq!(done(&server).await, ["borrowed", "named", "spawned"]);
    })
    .await;
}

#[tokio::test]
async fn an_error_of_the_body_rolls_back_and_comes_out_as_it_is() {
    let Some((server, pool)) = shop().await else {
        return;
    };
    within(async {
        let shop = Database::over(pool);
        let refused = shop.transaction(|mut tx| async move {
            insert(&mut tx, "never").await?;
            Err::<(), _>(ShopError::SoldOut)
        });
        let gave_up = refused.await.expect_err("sold out");
        assert_eq!(
            (gave_up.reason(), gave_up.attempts()),
            (StopReason::Permanent, 1)
        );
        assert!(matches!(
            gave_up.into_error(),
            Some(Failed::Body(ShopError::SoldOut))
        ));
        // A statement has failed, and the body does not say so: COMMIT would roll it back without an error.
        let ignored = shop.transaction(|mut tx| async move {
            insert(&mut tx, "never").await?;
            let _ = tx.execute("SELECT 1 / 0").await;
            Ok::<_, sqlx::Error>(())
        });
        let gave_up = ignored.await.expect_err("it was rolled back");
        assert!(
            matches!(gave_up.error(), Some(Failed::Gone(_))),
            "{gave_up}"
        );
        assert_eq!(done(&server).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_handle_that_is_kept_or_forgotten_is_an_error_and_nothing_is_committed() {
    let Some((server, _)) = shop().await else {
        return;
    };
    within(async {
        let shop = Database::over(server.pool(2).await);
        let kept = Arc::new(Mutex::new(None));
        let keep = shop.transaction(|mut tx| {
            let kept = Arc::clone(&kept);
            async move {
                insert(&mut tx, "kept").await?;
                *kept.lock().expect("unpoisoned") = Some(tx);
                Ok::<_, sqlx::Error>(())
            }
        });
        let gave_up = keep.await.expect_err("it is kept");
        assert!(
            matches!(gave_up.error(), Some(Failed::HandleKept)),
            "{gave_up}"
        );
        drop(kept); // rolled back, and given back
        let forget = shop.transaction(|mut tx| async move {
            insert(&mut tx, "forgotten").await?;
            std::mem::forget(tx);
            Ok::<_, sqlx::Error>(())
        });
        let gave_up = forget.await.expect_err("it is forgotten");
        assert!(
            matches!(gave_up.error(), Some(Failed::HandleKept)),
            "{gave_up}"
        );
        for what in ["a", "b"] {
            let body = |mut tx: Tx| async move { insert(&mut tx, what).await };
            shop.transaction(body)
                .await
                .expect("over the one that came back");
        }
        assert_eq!(done(&server).await, ["a", "b"]);
    })
    .await;
}

#[tokio::test]
async fn a_transaction_that_is_dropped_is_rolled_back_and_its_connection_serves_the_next() {
    let Some((server, pool)) = shop().await else {
        return;
    };
    within(async {
        let shop = Database::over(pool);
        let began = Notify::new();
        let hangs = shop.transaction(|mut tx| {
            let began = &began;
            async move {
                insert(&mut tx, "dropped").await?;
                began.notify_one();
                std::future::pending::<sqlx::Result<()>>().await
            }
        });
        tokio::select! {
            _ = hangs => panic!("it hangs"),
            () = began.notified() => (),
        }
        let body = |mut tx: Tx| async move { insert(&mut tx, "next").await };
        shop.transaction(body).await.expect("there is a connection");
        assert_eq!(done(&server).await, ["next"]);
    })
    .await;
}

async fn conflict(tx: &mut PgConnection) -> sqlx::Result<()> {
    let raise = "DO $$ BEGIN RAISE EXCEPTION 'in the way' USING ERRCODE = '40001'; END $$";
    tx.execute(raise).await.map(drop)
}

#[tokio::test]
async fn the_connection_is_back_in_its_pool_while_the_transaction_waits() {
    let Some((_server, pool)) = shop().await else {
        return;
    };
    within(async {
        let patient = Policy::default()
            .backoff(Backoff::Fixed)
            .base(Duration::from_secs(600));
        let patient = patient
            .cap(Duration::from_secs(600))
            .jitter(becalm::Jitter::None);
        let shop =
            Database::builder_over(pool.clone()).conflicts(patient.retrier().expect("a policy"));
        let shop = shop.build();
        let failed = Notify::new();
        let waits = shop.transaction(|mut tx| {
            let failed = &failed;
            async move {
                let conflict = conflict(&mut tx).await;
                failed.notify_one();
                conflict
            }
        });
        let other = async {
            failed.notified().await;
            pool.acquire().await.expect("the only one there is")
        };
        tokio::select! {
            _ = waits => panic!("it waits for ten minutes"),
            _ = other => (),
        }
    })
    .await;
}

#[tokio::test]
async fn conflicts_take_nothing_from_the_budget_of_outages_and_open_no_breaker() {
    let Some((_server, pool)) = shop().await else {
        return;
    };
    within(async {
        let outages = Policy::default().breaker(Breaker::consecutive(1));
        let outages = outages.builder().count_demand().build().expect("a policy");
        let conflicts = Preset::by_name("contention")
            .expect("a preset")
            .policy()
            .attempts(3);
        let shop = Database::builder_over(pool).outages(outages.clone());
        let shop = shop.conflicts(conflicts.retrier().expect("a policy"));
        let shop = shop.build();
        let fails = shop.transaction(|mut tx| async move { conflict(&mut tx).await });
        let gave_up = fails.await.expect_err("it is always in the way");
        let ended = (gave_up.reason(), gave_up.attempts());
        assert_eq!(ended, (StopReason::AttemptsExhausted, 3), "{gave_up}");
        assert!(matches!(gave_up.error(), Some(Failed::Body(_))));
        let demand = outages.demand().expect("it is counted");
        assert_eq!((demand.first_tries, demand.attempts), (1, 1));
        assert!((outages.budget_fill() - 1.0).abs() < 1e-9);
        let next = shop.transaction(|mut tx| async move { insert(&mut tx, "next").await });
        next.await.expect("the breaker is closed");
    })
    .await;
}

#[tokio::test]
async fn isolation_read_only_and_what_is_left_of_the_deadline_are_the_servers() {
    let Some((_server, pool)) = shop().await else {
        return;
    };
    within(async {
        let shop = Database::builder_over(pool).isolation(Isolation::RepeatableRead);
        let shop = shop.build();
        let settings = |mut tx: Tx| async move {
            let ask = "SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only'), \
                 (SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout')";
            sqlx::query_as::<_, (String, String, i64)>(ask).fetch_one(&mut *tx).await
        };
        let plain = shop.transaction(settings).await.expect("settings");
        assert_eq!(plain, ("repeatable read".into(), "off".into(), 0));
        let set = shop.transaction(settings).isolation(Isolation::Serializable);
        let set = set.read_only().deadline(Duration::from_secs(40)).await;
        let (isolation, read_only, timeout) = set.expect("settings");
        assert_eq!((&*isolation, &*read_only), ("serializable", "on"));
        assert!((30_000..=40_000).contains(&timeout), "{timeout}");
        let writes = shop.transaction(|mut tx| async move { insert(&mut tx, "never").await });
        let gave_up = writes.read_only().await.expect_err("it is read only");
        assert!(matches!(gave_up.error(), Some(Failed::Body(_))), "{gave_up}");
    })
    .await;
}

#[tokio::test]
async fn a_deadline_ends_the_statement_on_the_server_too() {
    let Some((server, pool)) = shop().await else {
        return;
    };
    within(async {
        let shop = Database::over(pool);
        let sleeps = |mut tx: Tx| async move { tx.execute("SELECT pg_sleep(600)").await };
        let cut = shop.transaction(sleeps).deadline(Duration::from_millis(400));
        let gave_up = cut.await.expect_err("it sleeps for ten minutes");
        assert_eq!(gave_up.reason(), StopReason::DeadlineExceeded, "{gave_up}");
        assert!(matches!(gave_up.error(), Some(Failed::TimedOut)), "{gave_up}");
        let mut plain = server.plain().await;
        let active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(600)%' \
             AND pid <> pg_backend_pid()";
        while sqlx::query_scalar::<_, i64>(active).fetch_one(&mut plain).await.expect("a count") > 0 {
            tokio::task::yield_now().await;
        }
        let next = shop.transaction(|mut tx| async move { insert(&mut tx, "next").await });
        next.await.expect("its connection is back");
    })
    .await;
}

#[tokio::test]
async fn an_attempt_timeout_of_outages_cuts_the_attempt_and_the_next_follows() {
    let Some((_server, pool)) = shop().await else {
        return;
    };
    within(async {
        let outages = Policy::default().attempt_timeout(Duration::from_millis(400));
        let shop = Database::builder_over(pool).outages(outages.retrier().expect("a policy"));
        let shop = shop.build();
        let attempts = Mutex::new(0);
        let hangs_once = shop.transaction(|mut tx| {
            let attempts = &attempts;
            async move {
                let is_first = {
                    let mut attempts = attempts.lock().expect("unpoisoned");
                    *attempts += 1;
                    *attempts == 1
                };
                let sleep = if is_first {
                    "SELECT pg_sleep(600)"
                } else {
                    "SELECT 1"
                };
                tx.execute(sleep).await.map(drop)
            }
        });
        let ended = tokio::time::timeout(Duration::from_secs(60), hangs_once.into_future()).await;
        ended.expect("it is cut").expect("the second is done");
        assert_eq!(*attempts.lock().expect("unpoisoned"), 2);
    })
    .await;
}

#[tokio::test]
async fn a_connection_to_a_server_that_takes_no_writes_serves_no_repetition() {
    let Some((server, pool)) = shop().await else {
        return;
    };
    within(async {
        // As after a failover: the connection is to a standby, and a new one to the primary.
        let standby = "SET default_transaction_read_only = on";
        pool.execute(standby).await.expect("it runs");
        let shop = Database::over(pool.clone());
        let body = |mut tx: Tx| async move { insert(&mut tx, "written").await };
        let read = shop.transaction(body).read_only();
        read.await.expect_err("it only reads");
        let ask = sqlx::query_scalar::<_, String>("SHOW default_transaction_read_only");
        assert_eq!(
            ask.fetch_one(&pool).await.expect("a setting"),
            "on",
            "it was kept"
        );
        shop.transaction(body).await.expect("over a new connection");
        assert_eq!(done(&server).await, ["written"]);
    })
    .await;
}

#[tokio::test]
async fn a_deadline_does_not_lengthen_the_limit_of_the_role() {
    let Some((server, _)) = shop().await else {
        return;
    };
    within(async {
        let limit = "ALTER ROLE shop SET statement_timeout = '5s'";
        run(&server, &[limit]).await;
        let shop = Database::over(server.pool(1).await);
        let settings = |mut tx: Tx| async move {
            // Refused after a question in the transaction.
            tx.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
                .await?;
            let ask = "SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'";
            sqlx::query_scalar::<_, i64>(ask).fetch_one(&mut *tx).await
        };
        for (deadline, longest) in [(40, 5000), (40, 5000), (2, 1999)] {
            let set = shop
                .transaction(settings)
                .deadline(Duration::from_secs(deadline));
            let set = set.await.expect("settings");
            assert!(set <= longest && set > longest / 2, "{set}");
        }
    })
    .await;
}
