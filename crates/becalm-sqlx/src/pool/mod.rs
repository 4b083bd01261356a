//! How does a pool fill up without storming its server? It dials one connection at a time, at a pace.
//!
//! When a server dies, every pool of every process has lost all connections at once, and each caller wants one. sqlx's pool dials for
//! each of them in a loop of its own: doubling from 10 ms without jitter, so that the dials of a fleet fall into one instant. Here a
//! [`Manager`] of [`deadpool`] dials for all who wait, one after another, with full jitter while the server is down, and at the rate
//! of a [`Pacer`] when it is back. Who waits is not refused before [its patience](Manager::patience) ends.
//!
//! [`Database::new`](crate::Database::new) makes one. To set more than its size, make it yourself:
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use becalm_sqlx::{Database, pool::{Manager, Oversized}};
//! use sqlx::postgres::PgConnectOptions;
//!
//! let options: PgConnectOptions = "postgres://shop@db/shop".parse()?;
//! let pool = Manager::new(options).pool(10); // of 10 connections
//! if let Some(warning) = Oversized::check(&mut *pool.get().await?, 20, 10).await? {
//!     eprintln!("{warning}"); // 20 processes of 10 are more than the server lets in
//! }
//! let shop = Database::over(pool);
//! # let _ = shop;
//! # Ok(())
//! # }
//! ```
//!
//! No pace helps where all pools together want more than the server has: see [`Oversized`].

mod dial;
mod dialler;
mod oversized;

use std::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use becalm::policy::InvalidPolicy;
use becalm::reconnect::{NoConnection, Pacer, Reconnect};
use deadpool::Runtime;
use deadpool::managed::{self, Metrics, Object, PoolError, RecycleError, RecycleResult};
use sqlx::PgConnection;
use sqlx::postgres::PgConnectOptions;

pub use dial::Dial;
#[cfg(feature = "tokio-postgres")]
pub use dial::Tls;
pub use oversized::Oversized;

use crate::source::{Connecting, Pooled, Source};
use dialler::Dialler;

/// A pool of `deadpool` whose dials are paced.
pub type Pool<D = PgConnectOptions> = managed::Pool<Manager<D>>;

/// A connection of a [`Pool`], on loan.
pub type Lent<D = PgConnectOptions> = Object<Manager<D>>;

/// Makes the connections of a [`Pool`], and says whether one is still good.
///
/// | | default |
/// |---|---|
/// | [`reconnect`](Self::reconnect) | [`Reconnect::for_commands`]: full jitter under 50 ms x 2 up to 1 s, for ever; 10 s for a dial |
/// | [`pacer`](Self::pacer) | 8 dials a second, 2 of them at once: at most 10 in any second |
/// | [`patience`](Self::patience) | 30 s, as sqlx's |
/// | [`login_timeout`](Self::login_timeout) | 30 s, where a provider is asked |
/// | [`lifetime`](Self::lifetime) | 30 min, of which each connection has at least half |
#[derive(Debug)]
#[must_use = "a manager does nothing without its pool"]
pub struct Manager<D: Dial = PgConnectOptions> {
    dialler: Dialler<D>,
    lifetime: Duration,
    splay: RandomState,
}

impl<D: Dial> Manager<D> {
    /// Of connections that are dialled so: [`PgConnectOptions`] of sqlx, or with the feature `tokio-postgres` the `Config` of that.
    pub fn new(dial: D) -> Self {
        Self::of(Dialler::new(dial))
    }

    /// Of connections whose settings are asked for before each dial: a password that ends, such as IAM's token of a managed Postgres,
    /// or an address. The closure is told whether the server has refused the last ones, so that a token is worth renewing. What it
    /// fails with is a dial that has failed.
    ///
    /// It runs outside of every dial and of every caller, as a task of its own, with its own time
    /// ([`login_timeout`](Self::login_timeout)). At most ten begin in ten seconds, fewer while they bring nothing
    /// ([`becalm::login`]); a dial in between has what the last one brought. A login that is refused is renewed once.
    ///
    /// ```
    /// use becalm_sqlx::pool::Manager;
    /// use sqlx::postgres::PgConnectOptions;
    /// # async fn token() -> std::io::Result<String> { Ok("17".into()) }
    ///
    /// let manager = Manager::with_provider(|_renew| async {
    ///     let options = PgConnectOptions::new().host("db").username("shop");
    ///     Ok::<_, std::io::Error>(options.password(&token().await?))
    /// });
    /// # let _ = manager;
    /// ```
    pub fn with_provider<F, E>(provider: impl Fn(bool) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<D, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Self::of(Dialler::asking(provider))
    }

    fn of(dialler: Dialler<D>) -> Self {
        Self {
            dialler,
            lifetime: Duration::from_secs(30 * 60),
            splay: RandomState::new(),
        }
    }

    /// Sets when it is dialled again after a dial has failed, and by its `attempt_timeout` how long a dial may take. What counts a connection as healthy plays no part: the server has
    /// answered its login.
    ///
    /// # Errors
    ///
    /// Its policy is invalid.
    pub fn reconnect(mut self, reconnect: Reconnect) -> Result<Self, InvalidPolicy> {
        self.dialler.set_reconnect(reconnect)?;
        Ok(self)
    }

    /// Sets the pacer of the dials, which the pools of one process may share.
    pub fn pacer(mut self, pacer: Pacer) -> Self {
        self.dialler.pacer = pacer;
        self
    }

    /// Sets how long a caller waits, for a place in the pool and again for a dial.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.dialler.patience = patience;
        self
    }

    /// Sets how long a [provider](Self::with_provider) may take. Default 30 s.
    pub fn login_timeout(self, limit: Duration) -> Self {
        self.dialler.set_login_timeout(limit);
        self
    }

    /// Sets how old a connection gets. Each ends at a moment of its own in the second half, so that those which were dialled
    /// together do not end together; and none is cut in use, it is not handed out again.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// The pool, of at most so many connections. None is dialled before it is wanted.
    pub fn pool(self, connections: usize) -> Pool<D> {
        let patience = self.dialler.patience;
        let builder = Pool::builder(self).max_size(connections);
        let builder = builder.wait_timeout(Some(patience));
        let builder = builder.recycle_timeout(Some(Duration::from_secs(5)));
        let pool = builder.runtime(Runtime::Tokio1).build();
        pool.unwrap_or_else(|_| unreachable!("there is a runtime for its time-outs"))
    }

    /// Its own part of the lifetime, between half of it and all: drawn from the moment of its dial, with a key of this pool.
    fn lifetime_of(&self, metrics: &Metrics) -> Duration {
        let drawn = self.splay.hash_one(metrics.created) >> 32;
        let half = self.lifetime / 2;
        #[expect(clippy::cast_precision_loss)] // 32 bits
        let part = drawn as f64 / 2_f64.powi(32);
        half + half.mul_f64(part)
    }
}

impl<D: Dial> managed::Manager for Manager<D> {
    type Type = D::Connection;
    type Error = NoConnection<D::Error>;

    async fn create(&self) -> Result<D::Connection, Self::Error> {
        self.dialler.connection().await
    }

    async fn recycle(
        &self,
        connection: &mut D::Connection,
        metrics: &Metrics,
    ) -> RecycleResult<Self::Error> {
        if metrics.age() >= self.lifetime_of(metrics) {
            return Err(RecycleError::message("it has reached its age"));
        }
        let is_alive = D::is_alive(connection).await;
        is_alive.map_err(|_| RecycleError::message("it is lost"))
    }
}

impl Source for Pool {
    type Connection = Object<Manager>;

    fn connection(&self) -> Connecting<'_, Self::Connection> {
        Box::pin(async {
            self.get().await.map_err(|error| match error {
                PoolError::Backend(
                    NoConnection::TooLate(Some(error), _) | NoConnection::GaveUp(_, Some(error)),
                ) => Arc::into_inner(error).unwrap_or(sqlx::Error::PoolTimedOut),
                PoolError::Closed => sqlx::Error::PoolClosed,
                _ => sqlx::Error::PoolTimedOut,
            })
        })
    }

    fn connections(&self) -> usize {
        self.status().max_size
    }

    fn has_room(&self) -> bool {
        let status = self.status();
        status.size < status.max_size
    }

    fn why_none(&self) -> Option<sqlx::Error> {
        let dialler = &self.manager().dialler;
        let error = Arc::into_inner(dialler.left()?)?;
        if let sqlx::Error::Io(io) = &error {
            // For others who leave.
            let again = std::io::Error::new(io.kind(), io.to_string());
            dialler.leaves(sqlx::Error::Io(again));
        }
        Some(error)
    }
}

impl Pooled for Object<Manager> {
    fn discard(self) {
        drop::<PgConnection>(Object::take(self));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lifetimes_differ_within_their_second_half() {
        let manager = Manager::new(PgConnectOptions::new_without_pgpass());
        let manager = manager.lifetime(Duration::from_secs(100));
        let mut lifetimes = Vec::new();
        for nanos in 0..1000 {
            let mut metrics = Metrics::default();
            metrics.created += Duration::from_nanos(nanos);
            lifetimes.push(manager.lifetime_of(&metrics));
            assert_eq!(
                manager.lifetime_of(&metrics),
                lifetimes[lifetimes.len() - 1],
                "it stays"
            );
        }
        lifetimes.sort();
        let tenth = |index: usize| lifetimes[index * 111].as_secs();
        assert!(tenth(0) >= 50 && tenth(0) < 55, "{lifetimes:?}");
        assert!(tenth(9) <= 100 && tenth(9) > 95, "{lifetimes:?}");
        assert!(
            (70..80).contains(&lifetimes[500].as_secs()),
            "{lifetimes:?}"
        );
    }
}
