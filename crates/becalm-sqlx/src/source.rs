//! Where does a transaction get its connection?

use std::future::Future;
use std::ops::DerefMut;
use std::pin::Pin;

use sqlx::pool::PoolConnection;
use sqlx::{Error, PgConnection, PgPool, Postgres};

/// The future of a connection.
pub type Connecting<'s, C> = Pin<Box<dyn Future<Output = Result<C, Error>> + Send + 's>>;

/// Gives connections: sqlx's pool, the paced one, or yours.
pub trait Source: Send + Sync {
    /// A connection on loan.
    type Connection: Pooled;

    /// Waits for a connection that is in no transaction.
    fn connection(&self) -> Connecting<'_, Self::Connection>;
}

/// A connection on loan, which goes back when it is dropped.
pub trait Pooled: DerefMut<Target = PgConnection> + Send + 'static {
    /// Closes it in place of giving it back, since nobody knows how it stands.
    fn discard(self);
}

impl Source for PgPool {
    type Connection = PoolConnection<Postgres>;

    fn connection(&self) -> Connecting<'_, Self::Connection> {
        Box::pin(self.acquire())
    }
}

impl Pooled for PoolConnection<Postgres> {
    fn discard(self) {
        drop(self.detach());
    }
}
