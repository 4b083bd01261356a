//! How does a program retry Redis commands over one shared connection? Reads by their failure, `INCR`
//! only where it is proved unsent, and the connection by a dialler of its own.

use std::fmt;
use std::time::Duration;

use becalm::classify::redis as words;
use becalm::reconnect::{Held, NoConnection, Reconnect, SharedConnection};
use becalm::{Attempt, Classify, Failure, GaveUp, Policy, Retrier, policy::InvalidPolicy};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, Client, RedisError, RedisResult};

/// A counter in Redis.
#[derive(Debug)]
pub struct Counter {
    connection: SharedConnection<MultiplexedConnection, RedisError>,
    commands: Retrier,
}

/// Why a command has failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum CounterError {
    /// There was no connection to send it on.
    NoConnection(NoConnection<RedisError>),
    /// It was sent, with this name.
    Command(&'static str, RedisError),
}

impl Counter {
    /// The counter on this server. It connects with the first command.
    ///
    /// # Errors
    ///
    /// None of these policies is refused.
    pub fn new(client: Client) -> Result<Self, InvalidPolicy> {
        let commands =
            Policy::exponential(Duration::from_millis(50)).deadline(Duration::from_secs(20));
        let dial = move || {
            let client = client.clone();
            async move {
                let dialled = client.get_multiplexed_async_connection().await;
                dialled.map_err(|error| (refused(&error), error))
            }
        };
        Ok(Self {
            connection: SharedConnection::builder(Reconnect::for_commands(), dial).build()?,
            commands: commands.builder().name("redis").build()?,
        })
    }

    /// What it counts to; 0 where it has not begun.
    pub async fn value(&self, name: &str) -> Result<u64, GaveUp<CounterError>> {
        let read = |attempt| async move {
            let mut held = self.held(attempt).await?;
            let value = held.get::<_, Option<u64>>(name).await;
            told("GET", &held, value).map(Option::unwrap_or_default)
        };
        self.commands.retry(read).await
    }

    /// Counts one more, once: an attempt that may have been counted is not repeated.
    pub async fn increment(&self, name: &str) -> Result<u64, GaveUp<CounterError>> {
        let increment = |attempt| async move {
            let mut held = self.held(attempt).await?;
            let value = held.incr(name, 1).await;
            told("INCR", &held, value)
        };
        self.commands.retry(increment).not_idempotent().await
    }

    /// The shared connection, dialled by whichever command comes first.
    async fn held(&self, attempt: Attempt) -> Result<Connection, CounterError> {
        let held = self.connection.get(attempt.timeout()).await;
        let mut held = held.map_err(CounterError::NoConnection)?;
        if let Some(timeout) = attempt.timeout() {
            held.set_response_timeout(timeout);
        }
        Ok(held)
    }
}

type Connection = Held<MultiplexedConnection, RedisError>;

/// The result of a command; a connection that is no good is given up.
fn told<T>(
    command: &'static str,
    connection: &Connection,
    result: RedisResult<T>,
) -> Result<T, CounterError> {
    result.map_err(|error| {
        if error.is_unrecoverable_error() {
            connection.lost();
        }
        CounterError::Command(command, error)
    })
}

/// What it means that a connection was refused.
fn refused(error: &RedisError) -> Failure {
    match reply(error) {
        Some(reply) => words::classify("AUTH", &reply),
        None => Failure::transient().unsent(),
    }
}

impl Classify for CounterError {
    fn classify(&self) -> Failure {
        match self {
            Self::NoConnection(none) => none.classify(),
            Self::Command(command, error) => match reply(error) {
                Some(reply) => words::classify(command, &reply),
                None if error.is_io_error() => Failure::transient(),
                None => Failure::permanent(),
            },
        }
    }
}

impl fmt::Display for CounterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConnection(none) => none.fmt(f),
            Self::Command(command, error) => write!(f, "{command}: {error}"),
        }
    }
}

impl std::error::Error for CounterError {}

/// The error that the server answered, in its own words.
fn reply(error: &RedisError) -> Option<String> {
    let code = error.code()?;
    Some(format!("{code} {}", error.detail().unwrap_or_default()))
}
