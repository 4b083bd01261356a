//! Do transactions that stand in each other's way all commit, and without touching the budget that
//! outages live on? In tokio's paused time.
#![cfg(feature = "tokio")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use becalm::classify::{Classify, Failure, sqlstate};
use becalm::rng::{Random, Seed, SplitMix64};
use becalm::{Class, Policy, Retrier, preset::Preset};

const MS: Duration = Duration::from_millis(1);
const TASKS: u64 = 40;
const TRANSACTIONS: u64 = 10; // of each task
const ROWS: usize = 5;

/// The SQLSTATE of a failed transaction.
#[derive(Debug)]
struct DbError(&'static str);

impl std::fmt::Display for DbError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SQLSTATE {}", self.0)
    }
}

impl Classify for DbError {
    fn classify(&self) -> Failure {
        sqlstate::classify(self.0)
    }
}

/// Rows with a version each. A transaction reads one, works for 2 ms and writes; if another has
/// written in between it is rolled back with 40001, as under Postgres' isolation `SERIALIZABLE`.
#[derive(Default)]
struct Database {
    versions: Mutex<[u64; ROWS]>,
    attempts: Mutex<u64>,
}

impl Database {
    async fn transaction(&self, row: usize) -> Result<(), DbError> {
        *self.attempts.lock().unwrap() += 1;
        let read = self.versions.lock().unwrap()[row];
        tokio::time::sleep(2 * MS).await;
        let mut versions = self.versions.lock().unwrap();
        if versions[row] != read {
            return Err(DbError("40001"));
        }
        versions[row] += 1;
        Ok(())
    }
}

/// How many of the 400 transactions commit, and in how many attempts.
async fn committed(policy: Policy, seed: u64) -> (u64, u64) {
    let builder = policy.builder().seed(Seed::fixed(seed));
    let retrier: Retrier = builder.build().expect("a valid policy");
    let database = Arc::new(Database::default());
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let (retrier, database) = (retrier.clone(), Arc::clone(&database));
        tasks.spawn(async move {
            let mut random = SplitMix64::new(seed << 32 | task);
            let mut committed = 0;
            for _ in 0..TRANSACTIONS {
                let row = usize::try_from(random.next_u64() % ROWS as u64).unwrap();
                let outcome = retrier.retry(|_| database.transaction(row)).await;
                committed += u64::from(outcome.is_ok());
            }
            committed
        });
    }
    let committed = tasks.join_all().await.into_iter().sum();
    let written: u64 = database.versions.lock().unwrap().iter().sum();
    assert_eq!(committed, written, "what was called committed was");
    let attempts = *database.attempts.lock().unwrap();
    (committed, attempts)
}

fn contention() -> Policy {
    Preset::by_name("contention").expect("a preset").policy()
}

/// 282 of 400 failed against a real Postgres (write skew, isolation `SERIALIZABLE`, 40 tasks, 5 pairs
/// of rows) under a 10 % budget, and none without one: `docs/contention.md`.
#[tokio::test(start_paused = true)]
async fn b4_the_budget_of_outages_fails_what_only_has_to_wait_its_turn() {
    for seed in 1..=5 {
        let (by_default, _) = committed(Policy::default(), seed).await;
        assert!(by_default < 220, "{by_default} of 400");
        let (with_preset, attempts) = committed(contention(), seed).await;
        assert_eq!(with_preset, 400);
        assert!(attempts < 4 * 400, "{attempts} attempts");
    }
}

/// A retrier for each: what the one repeats is permanent to the other.
#[tokio::test(start_paused = true)]
async fn b4_contention_leaves_the_budget_of_outages_alone() {
    let outages = Policy::default().builder().seed(Seed::fixed(7));
    let outages: Retrier = outages.build().unwrap();
    let conflicts = contention().builder().seed(Seed::fixed(8));
    let conflicts: Retrier = conflicts.build().unwrap();
    // Twelve conflicts, a server that restarts, twelve more, and it is done.
    let script = [vec!["40001"; 12], vec!["57P03"], vec!["40P01"; 12]].concat();
    let (mut script, mut attempts) = (script.into_iter(), 0);
    let script = Mutex::new(&mut script);
    let attempts = Mutex::new(&mut attempts);
    let transaction = async || {
        **attempts.lock().unwrap() += 1;
        match script.lock().unwrap().next() {
            Some(code) => Err(DbError(code)),
            None => Ok(()),
        }
    };
    let only = |contention: bool| {
        move |_, error: &DbError| match sqlstate::is_contention(error.0) {
            is_contention if is_contention == contention => error.classify(),
            _ => Failure::new(Class::Permanent),
        }
    };
    let done = outages
        .retry(|_| async {
            let inner = conflicts.retry(|_| transaction()).classify_with(only(true));
            inner
                .await
                .map_err(|gave_up| gave_up.into_error().expect("it ran"))
        })
        .classify_with(only(false))
        .await;
    assert!(
        done.is_ok(),
        "{:?}",
        done.map_err(|gave_up| gave_up.reason())
    );
    assert_eq!(**attempts.lock().unwrap(), 26);
    // One retry of 24 was an outage's.
    assert!(outages.budget_fill() >= 0.9, "{}", outages.budget_fill());
}
