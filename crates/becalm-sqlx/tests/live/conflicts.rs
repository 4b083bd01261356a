//! Do transactions that stand in each other's way all commit, and who pays?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use becalm::preset::Preset;
use becalm::rng::{Random, SplitMix64};
use becalm::{Policy, Retrier};
use becalm_sqlx::{Database, Isolation};
use sqlx::PgPool;
use tokio::task::JoinSet;

use crate::server::{Postgres, run};
use crate::within;

const PAIRS: i64 = 5;

fn counted(policy: Policy) -> Retrier {
    let retrier = policy.builder().count_demand().build();
    retrier.expect("a valid policy")
}

/// Each reads both sides of a pair and writes one of them: write skew, which `SERIALIZABLE` forbids.
async fn write(database: &Database<PgPool>, pair: i64, side: i64) {
    let write = database.transaction(|mut tx| async move {
        let read = "SELECT sum(value)::bigint FROM pair WHERE id = $1";
        let seen: i64 = sqlx::query_scalar(read)
            .bind(pair)
            .fetch_one(&mut *tx)
            .await?;
        tokio::time::sleep(Duration::from_millis(2)).await; // its work
        let write = "UPDATE pair SET value = value + 1 WHERE id = $1 AND side = $2";
        sqlx::query(write)
            .bind(pair)
            .bind(side)
            .execute(&mut *tx)
            .await?;
        Ok::<_, sqlx::Error>(seen)
    });
    write
        .isolation(Isolation::Serializable)
        .await
        .expect("it is committed");
}

/// So many transactions of so many tasks. The attempts each took, on average.
async fn crowd(tasks: u64, transactions: u64) -> Option<f64> {
    // By its index, as in a table of some size: a scan of ten rows would put all pairs in each other's way.
    // Each writes one row, so that nobody waits for one who waits for them.
    let options = [
        "max_connections=60",
        "enable_seqscan=off",
        "deadlock_timeout=1s",
    ];
    let server = Postgres::start(&options).await?;
    let fill = "INSERT INTO pair SELECT id, side, 0 FROM generate_series(0, 4) id, generate_series(0, 1) side";
    let make = "CREATE TABLE pair (id bigint, side bigint, value bigint, PRIMARY KEY (id, side))";
    run(&server, &[make, fill]).await;
    let outages = counted(Policy::default());
    let conflicts = counted(Preset::by_name("contention").expect("a preset").policy());
    let database = Database::builder(server.pool(40).await).outages(outages.clone());
    let database = database.conflicts(conflicts.clone()).build();
    let left = Arc::new(AtomicU64::new(transactions));
    let mut workers = JoinSet::new();
    for task in 0..tasks {
        let (database, left) = (database.clone(), Arc::clone(&left));
        workers.spawn(async move {
            let mut random = SplitMix64::new(task);
            let take = |left: u64| left.checked_sub(1);
            while left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
                .is_ok()
            {
                let drawn = i64::try_from(random.next_u64() >> 32).expect("32 bits");
                let (pair, side) = (drawn % PAIRS, drawn / PAIRS % 2);
                write(&database, pair, side).await;
            }
        });
    }
    workers.join_all().await;
    let written = sqlx::query_scalar::<_, i64>("SELECT sum(value)::bigint FROM pair");
    let written = written.fetch_one(&mut server.plain().await).await;
    assert_eq!(written.map(u64::try_from).expect("a sum"), Ok(transactions));
    let (of_outages, of_conflicts) = (outages.demand()?, conflicts.demand()?);
    let committed = (of_outages.first_tries, of_outages.attempts);
    assert_eq!(
        committed,
        (transactions, transactions),
        "no outage was seen"
    );
    assert!(
        (outages.budget_fill() - 1.0).abs() < 1e-9,
        "its budget is untouched"
    );
    assert!(
        of_conflicts.attempts > transactions,
        "nobody was in anybody's way"
    );
    #[expect(clippy::cast_precision_loss)] // some thousands
    Some(of_conflicts.attempts as f64 / transactions as f64)
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_that_stand_in_each_others_way_all_commit() {
    within(crowd(20, 200)).await;
}

/// `scripts/prove contention`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured on a quiet machine"]
async fn contention_in_full() {
    let each = within(crowd(100, 2000))
        .await
        .expect("Postgres is installed");
    println!("2,000 transactions of 100 tasks on 5 pairs: all committed, {each:.2} attempts each");
    assert!(each <= 2.0, "{each}");
}
