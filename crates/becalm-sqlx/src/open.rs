//! How does a connection get into a transaction, and out of it again, whatever happens to its owner?

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use sqlx::postgres::PgQueryResult;
use sqlx::{Database, Error, Executor, PgConnection, Postgres, TransactionManager};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::source::Pooled;

// The manager keeps the depth by which a savepoint in the body knows that it is one. sqlx's own `Transaction` would borrow
// the connection, and a handle that is lent must own it.
type Manager = <Postgres as Database>::TransactionManager;

/// How long a connection that was dropped in a transaction may take to roll back. Later it is closed.
const ROLLBACK: Duration = Duration::from_secs(5);

/// An answer that is awaited: a box, since what async functions return over borrowed connections is not seen to be `Send`.
pub(crate) type Answer<'c, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'c>>;

/// A connection in a transaction. Dropped, it is rolled back before it is given back.
pub(crate) struct Open<C: Pooled> {
    connection: Option<C>,
    /// Whether a task of its own rolls it back.
    is_left: bool,
}

impl<C: Pooled> Open<C> {
    /// In no transaction yet. Dropped before it is given back it is closed: an answer may be due that never comes.
    pub fn idle(connection: C) -> Self {
        Self {
            connection: Some(connection),
            is_left: false,
        }
    }

    /// Begins by these statements, the first of which is `BEGIN`. Where one fails the connection is closed: it may be in
    /// a transaction of which its pool knows nothing.
    pub async fn begin(mut self, statements: String) -> Result<Self, Error> {
        let began = Manager::begin(self.connection(), Some(statements.into())).await;
        if let Err(error) = began {
            self.discard();
            return Err(error);
        }
        Ok(self)
    }

    /// Gives the connection back, which is in no transaction.
    pub fn give_back(mut self) {
        drop(self.connection.take());
    }

    pub fn connection(&mut self) -> &mut PgConnection {
        // Taken only by what consumes it.
        self.connection.as_mut().expect("it is open")
    }

    pub fn connection_ref(&self) -> &PgConnection {
        self.connection.as_ref().expect("it is open")
    }

    /// Asks whether the transaction still stands. One of which a statement has failed does not, and `COMMIT` would roll it
    /// back without an error.
    pub fn stands(&mut self) -> Answer<'_, PgQueryResult> {
        self.connection().execute("SELECT 1")
    }

    /// Commits, and gives the connection back.
    pub async fn commit(mut self) -> Result<(), Error> {
        // Savepoints that the body has left open are below it.
        while self.depth() > 0 {
            Manager::commit(self.connection()).await?;
        }
        drop(self.connection.take());
        Ok(())
    }

    /// Rolls back, and gives the connection back, or closes it if that fails. Whether the connection was lost.
    pub async fn roll_back(mut self) -> bool {
        while self.depth() > 0 {
            let rolled_back = timeout(ROLLBACK, Manager::rollback(self.connection())).await;
            if !matches!(rolled_back, Ok(Ok(()))) {
                self.discard();
                return matches!(rolled_back, Ok(Err(_)));
            }
        }
        drop(self.connection.take());
        false
    }

    /// Rolls back, and has the connection closed where it is of no more use. Whether it was lost.
    pub async fn roll_back_or_close(mut self, is_useless: bool) -> bool {
        if is_useless {
            self.discard();
            false
        } else {
            self.roll_back().await
        }
    }

    fn discard(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.discard();
        }
    }

    fn depth(&self) -> usize {
        Manager::get_transaction_depth(self.connection_ref())
    }
}

impl<C: Pooled> Drop for Open<C> {
    fn drop(&mut self) {
        if self.connection.is_none() {
            return;
        }
        let is_in_transaction = self.depth() > 0;
        match Handle::try_current() {
            Ok(runtime) if is_in_transaction && !self.is_left => {
                let left = Self {
                    connection: self.connection.take(),
                    is_left: true,
                };
                runtime.spawn(left.roll_back());
            }
            // No runtime, or one that ends; or it has not begun.
            _ => self.discard(),
        }
    }
}
