//! How does a program retry Redis commands over one shared connection? Reads by their failure, `INCR`
//! only where it is proved unsent, and the connection by a dialler of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use becalm::classify::redis as words;
use becalm::{Attempt, Budget, Failure, GaveUp, Policy, Retrier, policy::InvalidPolicy};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, Client, RedisError, RedisResult};
use tokio::sync::OnceCell;

/// A counter in Redis.
#[derive(Debug)]
pub struct Counter {
    client: Client,
    shared: Mutex<Cell>,
    dialler: Retrier,
    commands: Retrier,
}

/// The connection that all commands share, once it is dialled. A new one is in a new cell.
type Cell = Arc<OnceCell<MultiplexedConnection>>;

type Told<T> = Result<T, (Failure, RedisError)>;

impl Counter {
    /// The counter on this server. It connects with the first command.
    ///
    /// # Errors
    ///
    /// None of these policies is refused.
    pub fn new(client: Client) -> Result<Self, InvalidPolicy> {
        // It comes back when the server does, however long that takes, and hurries nobody.
        let dialler = Policy::exponential(Duration::from_millis(50))
            .cap(Duration::from_secs(1))
            .attempts(Policy::UNLIMITED)
            .budget(Budget::None);
        let commands =
            Policy::exponential(Duration::from_millis(50)).deadline(Duration::from_secs(20));
        Ok(Self {
            client,
            shared: Mutex::default(),
            dialler: dialler.builder().name("redis dialler").build()?,
            commands: commands.builder().name("redis").build()?,
        })
    }

    /// What it counts to; 0 where it has not begun.
    pub async fn value(&self, name: &str) -> Result<u64, GaveUp<RedisError>> {
        let read = |attempt| async move {
            let (cell, mut connection) = self.connection(attempt).await?;
            let value = connection.get::<_, Option<u64>>(name).await;
            let value = self.told("GET", &cell, value);
            value.map(Option::unwrap_or_default)
        };
        self.commands.retry(read).await
    }

    /// Counts one more, once: an attempt that may have been counted is not repeated.
    pub async fn increment(&self, name: &str) -> Result<u64, GaveUp<RedisError>> {
        let increment = |attempt| async move {
            let (cell, mut connection) = self.connection(attempt).await?;
            let value = connection.incr(name, 1).await;
            self.told("INCR", &cell, value)
        };
        self.commands.retry(increment).not_idempotent().await
    }

    /// The shared connection, dialled by whichever command comes first.
    async fn connection(&self, attempt: Attempt) -> Told<(Cell, MultiplexedConnection)> {
        let cell = Arc::clone(&self.shared());
        let dial = || becalm::detached(self.dialler.retry(|_| self.dial()));
        let dialled = cell.get_or_try_init(dial).await.map_err(told_by_dialler)?;
        let mut connection = dialled.clone();
        if let Some(timeout) = attempt.timeout() {
            connection.set_response_timeout(timeout);
        }
        Ok((cell, connection))
    }

    fn shared(&self) -> MutexGuard<'_, Cell> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn dial(&self) -> Told<MultiplexedConnection> {
        let dialled = self.client.get_multiplexed_async_connection().await;
        dialled.map_err(|error| match reply(&error) {
            Some(reply) => (words::classify("AUTH", &reply), error),
            None => (Failure::transient().unsent(), error),
        })
    }

    /// What an error of this command means; a connection that is no good is given up.
    fn told<T>(&self, command: &str, cell: &Cell, result: RedisResult<T>) -> Told<T> {
        let error = match result {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if error.is_unrecoverable_error() {
            let mut shared = self.shared();
            if Arc::ptr_eq(&shared, cell) {
                *shared = Cell::default();
            }
        }
        let failure = match reply(&error) {
            Some(reply) => words::classify(command, &reply),
            None if error.is_io_error() => Failure::transient(),
            None => Failure::permanent(),
        };
        Err((failure, error))
    }
}

/// The error that the server answered, in its own words.
fn reply(error: &RedisError) -> Option<String> {
    let code = error.code()?;
    Some(format!("{code} {}", error.detail().unwrap_or_default()))
}

/// The dialler ends only where dialling again does not help.
fn told_by_dialler(gave_up: GaveUp<RedisError>) -> (Failure, RedisError) {
    let failure = becalm::Classify::classify(&gave_up);
    let sentence = gave_up.to_string();
    let unknown = || RedisError::from((redis::ErrorKind::Client, "the dialler", sentence));
    (failure, gave_up.into_error().unwrap_or_else(unknown))
}
