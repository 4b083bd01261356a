//! How does a program retry what it asks a database? One static retrier for all its calls, which
//! knows what each SQLSTATE means; a transaction is repeated as a whole.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use becalm::classify::{Classifier, Classify, connect, sqlstate};
use becalm::{Attempt, Failure, GaveUp, Policy, Retrier, preset::Preset};
use sqlx::error::DatabaseError;
use sqlx::{Error, PgPool};

/// All calls to the database share this budget.
pub static DATABASE: LazyLock<Retrier<BySqlState>> = LazyLock::new(|| {
    Policy::exponential(Duration::from_millis(50))
        .attempts(8)
        .deadline(Duration::from_secs(30))
        .builder()
        .name("database")
        .count_demand()
        .build()
        .expect("a valid policy")
        .classify_by(BySqlState)
});

/// What resolves conflicts between transactions: they are no sign of overload, so no budget of
/// outages pays for them.
pub static CONFLICTS: LazyLock<Retrier<OnlyConflicts>> = LazyLock::new(|| {
    let contention = Preset::by_name("contention").expect("a preset").policy();
    let retrier = contention
        .builder()
        .name("conflicts")
        .count_demand()
        .build();
    retrier.expect("a valid policy").classify_by(OnlyConflicts)
});

/// Stores the order under its key, once however often it is called, and counts it as sold.
pub async fn place(pool: &PgPool, key: &str, item: &str) -> Result<(), ShopError> {
    const PLACE: &str = "WITH placed AS (INSERT INTO orders (key, item) VALUES ($1, $2) \
                         ON CONFLICT DO NOTHING RETURNING key) \
                         UPDATE stock SET sold = sold + 1 \
                         WHERE item = $2 AND EXISTS (SELECT FROM placed)";
    let place = |_| sqlx::query(PLACE).bind(key).bind(item).execute(pool);
    DATABASE.retry(place).await?;
    Ok(())
}

/// How many were sold.
pub async fn sold(pool: &PgPool, item: &str) -> Result<i64, ShopError> {
    const SOLD: &str = "SELECT sold FROM stock WHERE item = $1";
    let read = |_| sqlx::query_scalar(SOLD).bind(item).fetch_one(pool);
    Ok(DATABASE.retry(read).await?)
}

/// Moves one sale from an item to another. Done twice it would move two, so that it is repeated only
/// where it is proved that nothing was done.
pub async fn rebook(pool: &PgPool, from: &str, to: &str) -> Result<(), ShopError> {
    let resolve = |_| {
        let conflicts = CONFLICTS.retry(|_| transaction(pool, from, to));
        conflicts.not_idempotent()
    };
    DATABASE.retry(resolve).not_idempotent().await?;
    Ok(())
}

async fn transaction(pool: &PgPool, from: &str, to: &str) -> Result<(), Step> {
    let mut transaction = pool.begin().await.map_err(Step::Begin)?;
    let isolate = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";
    sqlx::query(isolate).execute(&mut *transaction).await?;
    for (item, change) in [(from, -1_i64), (to, 1)] {
        sqlx::query("UPDATE stock SET sold = sold + $2 WHERE item = $1")
            .bind(item)
            .bind(change)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await.map_err(Step::Commit)
}

/// What an error of sqlx means for a retry.
#[derive(Debug, Clone, Copy)]
pub struct BySqlState;

impl Classifier<Error> for BySqlState {
    fn classify(&self, _: Attempt, error: &Error) -> Failure {
        match error {
            Error::Database(error) => match error.code() {
                Some(code) => sqlstate::classify(&code),
                None => Failure::permanent(),
            },
            Error::Io(error) => error.classify(),
            // Of the pool: no connection was to be had in time.
            Error::PoolTimedOut => Failure::transient().unsent(),
            // The server's end in the middle of an answer.
            Error::Protocol(_) | Error::WorkerCrashed => Failure::transient(),
            _ => Failure::permanent(),
        }
    }
}

/// Where in a transaction an error occurred: before the commit nothing has an effect that stays.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step {
    /// There was no transaction yet.
    Begin(Error),
    /// A statement failed, and with it the transaction.
    Statement(Error),
    /// It may have been committed.
    Commit(Error),
}

impl Step {
    fn error(&self) -> &Error {
        let (Self::Begin(error) | Self::Statement(error) | Self::Commit(error)) = self;
        error
    }

    fn meaning(&self, attempt: Attempt) -> Failure {
        match self {
            Self::Begin(Error::Io(error)) => connect::classify(error),
            Self::Begin(error) | Self::Statement(error) => {
                BySqlState.classify(attempt, error).unsent()
            }
            Self::Commit(error) => BySqlState.classify(attempt, error),
        }
    }

    fn is_conflict(&self) -> bool {
        let code = self
            .error()
            .as_database_error()
            .and_then(DatabaseError::code);
        code.is_some_and(|code| sqlstate::is_contention(&code))
    }
}

impl From<Error> for Step {
    fn from(error: Error) -> Self {
        Self::Statement(error)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl std::error::Error for Step {}

/// What a conflict means for a retry; everything else is for the retrier around it.
#[derive(Debug, Clone, Copy)]
pub struct OnlyConflicts;

impl Classifier<Step> for OnlyConflicts {
    fn classify(&self, attempt: Attempt, step: &Step) -> Failure {
        if step.is_conflict() {
            step.meaning(attempt)
        } else {
            Failure::permanent()
        }
    }
}

/// What the retrier around it makes of the rest: a conflict that is left has had attempts enough.
impl Classifier<GaveUp<Step>> for BySqlState {
    fn classify(&self, attempt: Attempt, gave_up: &GaveUp<Step>) -> Failure {
        match gave_up.error() {
            Some(step) if !step.is_conflict() => step.meaning(attempt),
            _ => Failure::permanent(),
        }
    }
}

/// What can go wrong in this program.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShopError {
    /// A statement failed for good.
    Statement(GaveUp<Error>),
    /// A transaction failed for good.
    Transaction(GaveUp<GaveUp<Step>>),
}

impl From<GaveUp<Error>> for ShopError {
    fn from(gave_up: GaveUp<Error>) -> Self {
        Self::Statement(gave_up)
    }
}

impl From<GaveUp<GaveUp<Step>>> for ShopError {
    fn from(gave_up: GaveUp<GaveUp<Step>>) -> Self {
        Self::Transaction(gave_up)
    }
}

impl fmt::Display for ShopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Statement(gave_up) => write!(f, "the database: {gave_up}"),
            Self::Transaction(gave_up) => write!(f, "the database: {gave_up}"),
        }
    }
}

impl std::error::Error for ShopError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Statement(gave_up) => Some(gave_up),
            Self::Transaction(gave_up) => Some(gave_up),
        }
    }
}
