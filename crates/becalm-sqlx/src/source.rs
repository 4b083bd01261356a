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

    /// How many connections it has at most. When so many were found dead, one after another, all transactions wait for one that
    /// asks whether the server is back.
    fn connections(&self) -> usize {
        10
    }

    /// Whether it may dial: who waits for a connection waits for the server then, and not for others who have them all.
    fn has_room(&self) -> bool {
        false
    }

    /// Why it had no connection for a caller who has left before it was told, if it knows.
    fn why_none(&self) -> Option<Error> {
        None
    }
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

    fn connections(&self) -> usize {
        self.options().get_max_connections() as usize
    }

    fn has_room(&self) -> bool {
        self.size() < self.options().get_max_connections()
    }
}

impl Pooled for PoolConnection<Postgres> {
    fn discard(self) {
        drop(self.detach());
    }
}
