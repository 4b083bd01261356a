//! Is every order placed once while Postgres is stopped in the middle?

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm_examples::postgres_orders::{CONFLICTS, DATABASE, place, rebook, sold, transactions};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection, Executor, PgConnection, PgPool};
use tokio::task::JoinSet;

use crate::servers::postgres::Postgres;
use crate::within;

async fn shop() -> (Postgres, PgPool) {
    let server = Postgres::start();
    let pool = PgPoolOptions::new().max_connections(8);
    let pool = pool.acquire_timeout(Duration::from_secs(20));
    let pool = pool.connect(&server.url()).await.expect("a pool");
    for statement in [
        "CREATE TABLE orders (key text PRIMARY KEY, item text NOT NULL)",
        "CREATE TABLE stock (item text PRIMARY KEY, sold bigint NOT NULL)",
        "INSERT INTO stock VALUES ('lamp', 0), ('desk', 0)",
    ] {
        pool.execute(statement).await.expect("a table");
    }
    (server, pool)
}

/// Holds whatever writes to the stock, until it is dropped.
async fn hold(server: &Postgres) -> PgConnection {
    let mut holder = PgConnection::connect(&server.url())
        .await
        .expect("a connection");
    for statement in ["BEGIN", "LOCK TABLE stock IN EXCLUSIVE MODE"] {
        holder.execute(statement).await.expect("a lock");
    }
    holder
}

/// Returns once so many statements are held.
async fn are_held(holder: &mut PgConnection, statements: i64) {
    let held = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let mut now_held = 0;
    while now_held < statements {
        // Within a transaction Postgres looks once.
        let again = sqlx::query("SELECT pg_stat_clear_snapshot()");
        again.execute(&mut *holder).await.expect("it is cleared");
        let count = sqlx::query_scalar(held).fetch_one(&mut *holder).await;
        now_held = count.expect("a count");
    }
}

const WORKERS: u8 = 4;

/// Has the workers place these orders.
fn place_all(pool: &PgPool, orders: Range<usize>) -> JoinSet<()> {
    let orders = Arc::new(Mutex::new(orders));
    let work = |_| {
        let (pool, orders) = (pool.clone(), Arc::clone(&orders));
        let next = move || orders.lock().expect("unpoisoned").next();
        async move {
            while let Some(order) = next() {
                let placed = place(&pool, &format!("order {order}"), "lamp").await;
                placed.expect("it is placed");
            }
        }
    };
    (0..WORKERS).map(work).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn c3_orders_outlast_a_restart_of_postgres_each_done_once() {
    within(async {
        let (mut server, pool) = shop().await;
        place_all(&pool, 0..100).join_all().await;
        let mut holder = hold(&server).await;
        let workers = place_all(&pool, 100..200);
        are_held(&mut holder, WORKERS.into()).await;
        server.stop_at_once();
        drop(holder);
        server.start_again();
        workers.join_all().await;
        let orders = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM orders");
        assert_eq!(orders.fetch_one(&pool).await.expect("a count"), 200);
        assert_eq!(sold(&pool, "lamp").await.expect("a count"), 200);
        let demand = DATABASE.demand().expect("it is counted");
        let retries = demand.attempts - demand.first_tries;
        // Those that were cut, and few others that met the server's end.
        let cut = u64::from(WORKERS);
        assert!((cut..=2 * cut).contains(&retries), "{retries}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c11_transactions_that_stand_in_each_others_way_all_succeed() {
    within(async {
        let (server, pool) = shop().await;
        let shop = transactions(server.url().parse().expect("an address"));
        // On a busy machine a round may pass in which none waits for another.
        while CONFLICTS
            .demand()
            .is_none_or(|it| it.attempts == it.first_tries)
        {
            let mut workers = JoinSet::new();
            for worker in 0..8 {
                let shop = shop.clone();
                workers.spawn(async move {
                    for _ in 0..25 {
                        let (from, to) = if worker % 2 == 0 {
                            ("lamp", "desk")
                        } else {
                            ("desk", "lamp")
                        };
                        rebook(&shop, from, to).await.expect("it is rebooked");
                    }
                });
            }
            workers.join_all().await;
        }
        let left = (sold(&pool, "lamp").await, sold(&pool, "desk").await);
        assert!(matches!(left, (Ok(0), Ok(0))), "{left:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn c3_a_transaction_that_was_cut_before_its_commit_is_done_once() {
    within(async {
        let (mut server, pool) = shop().await;
        let mut holder = hold(&server).await;
        let cut = tokio::spawn({
            let shop = transactions(server.url().parse().expect("an address"));
            async move { rebook(&shop, "desk", "lamp").await }
        });
        are_held(&mut holder, 1).await;
        server.stop_at_once();
        drop(holder);
        server.start_again();
        cut.await.expect("no panic").expect("it is rebooked");
        assert_eq!(sold(&pool, "lamp").await.expect("a count"), 1);
        let demand = DATABASE.demand().expect("it is counted");
        assert!(demand.attempts > demand.first_tries, "it was not cut");
    })
    .await;
}
