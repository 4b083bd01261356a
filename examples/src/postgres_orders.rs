//! How does a program retry what it asks a database? One static retrier for all its calls, which
//! knows what each SQLSTATE means; a transaction is repeated as a whole.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use becalm::{GaveUp, Policy, Retrier, preset::Preset};
use becalm_sqlx::{BySqlState, Database, Failed, Isolation};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Error, PgPool};

static OUTAGES: LazyLock<Retrier> = LazyLock::new(|| {
    Policy::exponential(Duration::from_millis(50))
        .attempts(8)
        .deadline(Duration::from_secs(30))
        .builder()
        .name("database")
        .count_demand()
        .build()
        .expect("a valid policy")
});

/// All statements to the database, and all transactions on it, share this budget.
pub static DATABASE: LazyLock<Retrier<BySqlState>> =
    LazyLock::new(|| OUTAGES.classify_by(BySqlState));

/// What resolves conflicts between transactions: they are no sign of overload, so no budget of
/// outages pays for them.
pub static CONFLICTS: LazyLock<Retrier> = LazyLock::new(|| {
    let contention = Preset::by_name("contention").expect("a preset").policy();
    let retrier = contention
        .builder()
        .name("conflicts")
        .count_demand()
        .build();
    retrier.expect("a valid policy")
});

/// The transactions on this server, over a pool of their own whose dials are paced.
pub fn transactions(server: PgConnectOptions) -> Database {
    Database::builder(server)
        .outages(OUTAGES.clone())
        .conflicts(CONFLICTS.clone())
        .isolation(Isolation::Serializable)
        .build()
}

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
pub async fn rebook(shop: &Database, from: &str, to: &str) -> Result<(), ShopError> {
    const CHANGE: &str = "UPDATE stock SET sold = sold + $2 WHERE item = $1";
    shop.transaction(|mut tx| async move {
        for (item, change) in [(from, -1_i64), (to, 1)] {
            let change = sqlx::query(CHANGE).bind(item).bind(change);
            change.execute(&mut *tx).await?;
        }
        Ok::<_, Error>(())
    })
    .await?;
    Ok(())
}

/// What can go wrong in this program.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShopError {
    /// A statement failed for good.
    Statement(GaveUp<Error>),
    /// A transaction failed for good.
    Transaction(GaveUp<Failed>),
}

impl From<GaveUp<Error>> for ShopError {
    fn from(gave_up: GaveUp<Error>) -> Self {
        Self::Statement(gave_up)
    }
}

impl From<GaveUp<Failed>> for ShopError {
    fn from(gave_up: GaveUp<Failed>) -> Self {
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
