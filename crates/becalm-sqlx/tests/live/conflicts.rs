//! Do transactions that stand in each other's way all commit, and who pays?

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use becalm::preset::Preset;
use becalm::rng::{Random, SplitMix64};
use becalm::{Budget, Policy, Retrier};
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
async fn write(database: &Database<PgPool>, pair: i64, side: i64) -> bool {
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
    write.isolation(Isolation::Serializable).await.is_ok()
}

/// What a crowd came to.
struct Crowd {
    failed: u64,
    attempts_each: f64,
    took: Duration,
}

/// So many transactions of so many tasks, whose conflicts are repeated so.
async fn crowd(tasks: u64, transactions: u64, policy: Policy) -> Option<Crowd> {
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
    let conflicts = counted(policy);
    let database = Database::builder_over(server.pool(40).await).outages(outages.clone());
    let database = database.conflicts(conflicts.clone()).build();
    let left = Arc::new(AtomicU64::new(transactions));
    let failed = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let mut workers = JoinSet::new();
    for task in 0..tasks {
        let (database, left, failed) = (database.clone(), left.clone(), failed.clone());
        workers.spawn(async move {
            let mut random = SplitMix64::new(task);
            let take = |left: u64| left.checked_sub(1);
            while left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
                .is_ok()
            {
                let drawn = i64::try_from(random.next_u64() >> 32).expect("32 bits");
                let (pair, side) = (drawn % PAIRS, drawn / PAIRS % 2);
                if !write(&database, pair, side).await {
                    failed.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
    }
    workers.join_all().await;
    let (took, failed) = (began.elapsed(), failed.load(Ordering::SeqCst));
    let written = sqlx::query_scalar::<_, i64>("SELECT sum(value)::bigint FROM pair");
    let written = written.fetch_one(&mut server.plain().await).await;
    assert_eq!(
        written.map(u64::try_from).expect("a sum"),
        Ok(transactions - failed)
    );
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
    let attempts_each = of_conflicts.attempts as f64 / transactions as f64;
    Some(Crowd {
        failed,
        attempts_each,
        took,
    })
}

fn preset() -> Policy {
    Preset::by_name("contention").expect("a preset").policy()
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_that_stand_in_each_others_way_all_commit() {
    let crowd = within(crowd(20, 200, preset())).await;
    assert_eq!(crowd.map_or(0, |it| it.failed), 0);
}

/// `scripts/prove contention`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measured on a quiet machine"]
async fn contention_in_full() {
    let unbounded = Policy::default().budget(Budget::None);
    let short = unbounded.clone().attempts(20);
    let policies = [
        ("default", Policy::default()),
        ("default, no budget", unbounded),
        (
            "20 attempts, 5 to 100 ms",
            short.clone().base(ms(5)).cap(ms(100)),
        ),
        (
            "20 attempts, 20 ms to 1 s",
            short.base(ms(20)).cap(ms(1000)),
        ),
        ("contention", preset()),
    ];
    for (name, policy) in policies {
        let mut line = format!("{name:26}");
        for (tasks, transactions) in [(40, 400), (100, 2000)] {
            let ended = within(crowd(tasks, transactions, policy.clone())).await;
            let ended = ended.expect("Postgres is installed");
            let (failed, each) = (ended.failed, ended.attempts_each);
            let took = ended.took.as_secs_f64();
            let _ = write!(
                line,
                "  {transactions}: {failed:4} failed, {each:.2} attempts each, {took:.1} s"
            );
            if name == "contention" {
                assert!(failed == 0 && each <= 2.0, "{line}");
            }
        }
        println!("{line}");
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
