//! What may one transaction set for itself, and how are its attempts made?

use std::error::Error as StdError;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use becalm::run::{CallLoop, Core};
use becalm::{Failure, GaveUp, IdempotencyKey};

use crate::attempt::Unit;
use crate::database::Database;
use crate::failed::Failed;
use crate::lent::Tx;
use crate::settings::{Isolation, Resolve, Settings};
use crate::source::Source;

/// A transaction that is to run: set options, then await it.
#[derive(Debug)]
#[must_use = "a transaction does nothing unless awaited"]
pub struct Transaction<'d, S, F> {
    database: &'d Database<S>,
    body: F,
    settings: Settings,
}

impl<S: Source> Database<S> {
    /// Runs the body in a transaction and commits; repeats all of it where that is safe.
    ///
    /// Set options, then await it. The body gets a handle of its own for each attempt and may borrow from around it. While it
    /// waits between attempts it holds no connection. Dropped, it is rolled back; dropped in `COMMIT`, it may have been
    /// committed.
    ///
    /// # Errors
    ///
    /// [`GaveUp`](becalm::GaveUp) keeps the reason, the record of the attempts and how the last one failed. The transaction may have been
    /// committed if that [says so](crate::Failed::may_have_committed); otherwise it is not.
    pub fn transaction<F, Fut, T, E>(&self, body: F) -> Transaction<'_, S, F>
    where
        F: FnMut(Tx<S::Connection>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        Transaction {
            database: self,
            body,
            settings: self.settings.clone(),
        }
    }
}

impl<S: Source, F> Transaction<'_, S, F> {
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
    /// keeps the last twentieth for `COMMIT`: what is cut before has left nothing behind. With [`Status`](crate::Status) half of that is kept for asking.
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
            let longest = call.wrap(unit.awaits_server(attempt.timeout())).await;
            let mut conflicts = database.conflicts.owned_call().operation(operation);
            if let Some(longest) = longest {
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
            let failure = unit.lost().map_or(failure, |loss| failure.lost_with(loss));
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
