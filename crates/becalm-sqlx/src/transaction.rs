//! What may one transaction set for itself, and how are its attempts made?

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use becalm::run::{CallLoop, Core};
use becalm::{Failure, GaveUp, IdempotencyKey, Operation};

use crate::attempt::Unit;
use crate::database::Database;
use crate::failed::Failed;
use crate::lent::Tx;
use crate::marker::{Marker, millis};
use crate::source::Source;
use crate::status::Status;

/// What a lost answer to `COMMIT` leads to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Resolve {
    /// The call ends: the transaction may have been committed, and nobody asks. The default, since it needs nothing.
    #[default]
    Stop,
    /// It is repeated, because a second time changes nothing more: it only reads, or sets what it sets by a key.
    Idempotent,
    /// It is repeated, and meets a row that it had committed.
    Marker(Marker),
    /// The server is asked, and it is repeated if it was rolled back.
    Status(Status),
}

impl From<Marker> for Resolve {
    fn from(marker: Marker) -> Self {
        Self::Marker(marker)
    }
}

impl From<Status> for Resolve {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// The isolation level of a transaction (Postgres manual, "Transaction Isolation").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// All statements see what was committed before the first.
    RepeatableRead,
    /// As if transactions ran one after another.
    Serializable,
}

impl Isolation {
    const fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => " ISOLATION LEVEL READ COMMITTED",
            Self::RepeatableRead => " ISOLATION LEVEL REPEATABLE READ",
            Self::Serializable => " ISOLATION LEVEL SERIALIZABLE",
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub isolation: Option<Isolation>,
    pub read_only: bool,
    pub resolve: Resolve,
    pub deadline: Option<Duration>,
}

impl Settings {
    /// What begins an attempt, with this much time for each of its statements.
    pub fn begin(&self, left: Option<Duration>, key: IdempotencyKey, is_in_doubt: bool) -> String {
        let mut begin = String::from("BEGIN");
        if let Some(isolation) = self.isolation {
            begin.push_str(isolation.sql());
        }
        if self.read_only {
            begin.push_str(" READ ONLY");
        }
        if let Some(left) = left {
            let _ = write!(begin, "; SET LOCAL statement_timeout = {}", millis(left));
        }
        if let (Resolve::Marker(marker), false) = (&self.resolve, self.read_only) {
            let insert = if is_in_doubt {
                marker.insert_again(key)
            } else {
                marker.insert(key)
            };
            let _ = write!(begin, "; {insert}");
        }
        begin
    }

    fn operation(&self, key: IdempotencyKey) -> Operation {
        match self.resolve {
            _ if self.read_only => Operation::Idempotent,
            Resolve::Idempotent => Operation::Idempotent,
            Resolve::Marker(_) => Operation::Keyed(key),
            Resolve::Stop | Resolve::Status(_) => Operation::NotIdempotent,
        }
    }
}

/// A transaction that is to run: set options, then await it.
#[derive(Debug)]
#[must_use = "a transaction does nothing unless awaited"]
pub struct Transaction<'d, S, F> {
    database: &'d Database<S>,
    body: F,
    settings: Settings,
}

impl<'d, S: Source, F> Transaction<'d, S, F> {
    pub(crate) fn new(database: &'d Database<S>, body: F, settings: Settings) -> Self {
        Self {
            database,
            body,
            settings,
        }
    }

    /// Sets the isolation level.
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.settings.isolation = Some(isolation);
        self
    }

    /// Has the server refuse to write, and repeats it whatever was lost.
    pub fn read_only(mut self) -> Self {
        self.settings.read_only = true;
        self
    }

    /// Declares that a second time changes nothing more.
    pub fn idempotent(self) -> Self {
        self.resolve(Resolve::Idempotent)
    }

    /// Sets what a lost answer to `COMMIT` leads to.
    pub fn resolve(mut self, resolve: impl Into<Resolve>) -> Self {
        self.settings.resolve = resolve.into();
        self
    }

    /// Sets the longest time of all attempts and waits. Each attempt tells the server what is left, as `statement_timeout`, unless the
    /// server, database or role have a shorter one (asked once, by the first that has a deadline), and
    /// keeps the last twentieth for `COMMIT`: what is cut before has left nothing behind. With [`Status`] half of that is kept for asking.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = Some(deadline);
        self
    }

    async fn run<Fut, T, E>(self) -> Result<T, GaveUp<Failed<E>>>
    where
        F: FnMut(Tx<S::Connection>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: StdError + 'static,
    {
        let database = self.database;
        let key = IdempotencyKey::random();
        let operation = self.settings.operation(key);
        let mut call = database.outages.owned_call().operation(operation);
        if let Some(deadline) = self.settings.deadline {
            call = call.deadline(deadline);
        }
        let mut unit = Unit::new(database, self.body, self.settings, key);
        while let Some(attempt) = call.next().await {
            unit.has_left(attempt.remaining());
            let mut conflicts = database.conflicts.owned_call().operation(operation);
            if let Some(longest) = attempt.timeout() {
                let own = database.conflicts.policy().deadline;
                conflicts = conflicts.deadline(own.map_or(longest, |own| own.min(longest)));
            }
            let (stopped, failed) = match call.wrap(resolved(conflicts, &mut unit)).await {
                Ok(value) => return Ok(call.success(value)),
                Err(gave_up) => GaveUp::into_parts(gave_up),
            };
            // Without an error there was no time to begin.
            let failed = failed.unwrap_or_else(|| unit.timed_out());
            let failure = if failed.is_conflict() {
                Failure::permanent().unsent() // attempts enough, and a transaction in the way is no outage
            } else {
                failed.failure()
            };
            call.failure_as(failure, stopped.with_error(Some(failed)));
        }
        let outer: GaveUp<GaveUp<Failed<E>>> = call.gave_up();
        if outer
            .error()
            .and_then(GaveUp::error)
            .is_some_and(Failed::is_conflict)
        {
            let (stopped, inner) = outer.into_parts();
            let inner = inner.unwrap_or_else(|| stopped.with_error(None));
            return Err(inner.map_error(|failed| unit.last(failed)));
        }
        Err(outer.flatten().map_error(|failed| unit.last(failed)))
    }
}

/// One attempt as to outages: as many as it takes to get past those who stand in the way.
async fn resolved<S, F, Fut, T, E>(
    mut call: CallLoop<Core, Failed<E>>,
    unit: &mut Unit<'_, S, F, T>,
) -> Result<T, GaveUp<Failed<E>>>
where
    S: Source,
    F: FnMut(Tx<S::Connection>) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: StdError + 'static,
{
    while let Some(attempt) = call.next().await {
        let failed = match call.wrap(unit.attempt(attempt.timeout())).await {
            Ok(value) => return Ok(call.success(value)),
            Err(failed) => failed,
        };
        let failure = if failed.is_conflict() {
            failed.failure()
        } else {
            Failure::permanent() // for the other retrier
        };
        call.failure_as(failure, failed);
    }
    Err(call.gave_up())
}

impl<'d, S, F, Fut, T, E> IntoFuture for Transaction<'d, S, F>
where
    S: Source,
    F: FnMut(Tx<S::Connection>) -> Fut + Send + 'd,
    Fut: Future<Output = Result<T, E>> + Send + 'd,
    T: Send + 'd,
    E: StdError + Send + Sync + 'static,
{
    type Output = Result<T, GaveUp<Failed<E>>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'd>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: IdempotencyKey = IdempotencyKey::from_u128(7);

    #[test]
    fn an_attempt_begins_as_it_is_set() {
        let plain = Settings::default();
        assert_eq!(plain.begin(None, KEY, false), "BEGIN");
        let all = Settings {
            isolation: Some(Isolation::Serializable),
            read_only: true,
            ..plain.clone()
        };
        let left = Duration::from_micros(2_999);
        assert_eq!(
            all.begin(Some(left), KEY, false),
            "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY; SET LOCAL statement_timeout = 2"
        );
        for (left, millis) in [(Duration::ZERO, 1), (Duration::MAX, i32::MAX)] {
            let expected = format!("BEGIN; SET LOCAL statement_timeout = {millis}");
            assert_eq!(plain.begin(Some(left), KEY, false), expected);
        }
        let marked = Settings {
            resolve: Marker::new().into(),
            ..plain
        };
        assert_eq!(
            marked.begin(None, KEY, false),
            "BEGIN; INSERT INTO \"becalm_marker\" (key) VALUES ('00000000-0000-0000-0000-000000000007')"
        );
    }
}
