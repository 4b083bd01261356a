//! Postgres transactions that are repeated as a whole and never commit twice by accident, over sqlx.
//!
//! [`Database::transaction`] begins a transaction, lends its handle to your closure, and commits. If one of the three fails it
//! begins anew, where that is safe: before `COMMIT` nothing has happened, and after a lost answer to it only what you say
//! makes it safe ([`Resolve`]).
//!
//! ```no_run
//! # async fn run(pool: becalm_sqlx::sqlx::PgPool, from: i64, to: i64) -> Result<(), Box<dyn std::error::Error>> {
//! use becalm_sqlx::{Database, Isolation, Marker, sqlx};
//!
//! let shop = Database::new(pool);
//! let left: i64 = shop
//!     .transaction(|mut tx| async move {
//!         sqlx::query("UPDATE account SET money = money + 10 WHERE id = $1").bind(to).execute(&mut *tx).await?;
//!         let take = "UPDATE account SET money = money - 10 WHERE id = $1 RETURNING money";
//!         sqlx::query_scalar(take).bind(from).fetch_one(&mut *tx).await
//!     })
//!     .isolation(Isolation::Serializable)
//!     .resolve(Marker::new())
//!     .await?;
//! # let _ = left;
//! # Ok(())
//! # }
//! ```
//!
//! # What is repeated, and who pays
//!
//! - **Outages** by a [`Retrier`](becalm::Retrier) with its budget: no connection, a server that restarts or is full.
//! - **Conflicts** by another (the preset `contention`), inside the first: 40001, 40P01, 55P03. They are no sign of an outage,
//!   take nothing from its budget and do not open its breaker.
//! - **Nothing else.** A unique key that is taken, a syntax error and an error of your own end the call, and so does what may
//!   have been committed, unless it is [resolved](Resolve).
//!
//! What each SQLSTATE means stands in [`becalm::classify::sqlstate`].
//!
//! # The pool
//!
//! It works over sqlx's pool as it is. That pool dials in a loop that nobody can pace; with the feature `pool` there is
#![cfg_attr(
    feature = "pool",
    doc = "[another](pool), which dials one at a time, at a pace."
)]
#![cfg_attr(
    not(feature = "pool"),
    doc = "another, which dials one at a time, at a pace."
)]
#![forbid(unsafe_code)]

mod attempt;
mod database;
mod failed;
mod lent;
mod limit;
mod marker;
mod open;
#[cfg(feature = "pool")]
pub mod pool;
mod source;
mod status;
mod transaction;

pub use becalm::{self, Policy, Retrier};
pub use database::{Builder, Database};
pub use failed::{BySqlState, Failed, classify};
pub use lent::Tx;
pub use marker::{InvalidTable, Marker};
pub use source::{Connecting, Pooled, Source};
pub use sqlx;
pub use status::Status;
pub use transaction::{Isolation, Resolve, Transaction};

// The examples of the page are tested like all others.
#[cfg(all(doctest, feature = "pool"))]
mod pages {
    #[doc = include_str!("../../../docs/transactions.md")]
    struct Transactions;
}
