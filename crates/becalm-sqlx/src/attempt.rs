//! What happens in one attempt, from a connection to the answer of `COMMIT`?

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::time::Duration;

use becalm::classify::Loss;
use becalm::{IdempotencyKey, Scope};
use sqlx::Error;
use tokio::time::{Instant, timeout_at};

use crate::database::Database;
use crate::failed::{Failed, is_of_a_lost_connection, passes};
use crate::lent::Tx;
use crate::limit::ServersLimit;
use crate::open::Open;
use crate::outage::Outage;
use crate::settings::{Resolve, Settings};
use crate::source::Source;
use crate::status::{self, Fate, Ticket};

/// What is repeated: the body with all that is around it.
pub(crate) struct Unit<'d, S, F, T> {
    source: &'d S,
    limit: &'d ServersLimit,
    outage: &'d Outage,
    body: F,
    settings: Settings,
    key: IdempotencyKey,
    /// What the body returned whose `COMMIT` was sent last: the value of the call, should that turn out committed.
    sent: Option<T>,
    /// When the call ends, whatever its attempts may take.
    deadline: Option<Instant>,
    /// Whether the answer to that `COMMIT` was lost, and nothing is known since.
    is_in_doubt: bool,
    /// What this attempt would be lost with, and whether it was.
    loss: Loss,
    is_lost: bool,
    /// Whether it waits for a connection.
    wants_one: bool,
    /// When its patience with a server that is away ends. `None` where it has had one since.
    patient_until: Option<Instant>,
}

/// For the patient without end.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long an attempt takes at least to see that there is no server.
const LOOK: Duration = Duration::from_secs(1);

/// How often a server may be back and lose each `BEGIN` before that is charged.
const RETURNS: u32 = 2;

/// What is left to do.
enum Ready<C: crate::source::Pooled> {
    Commit(Open<C>, Option<Ticket>),
    /// It was committed before.
    Done,
}

impl<'d, S, F, Fut, T, E> Unit<'d, S, F, T>
where
    S: Source,
    F: FnMut(Tx<S::Connection>) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: StdError + 'static,
{
    pub fn new(
        database: &'d Database<S>,
        body: F,
        settings: Settings,
        key: IdempotencyKey,
    ) -> Self {
        Self {
            source: &database.source,
            limit: &database.limit,
            outage: &database.outage,
            body,
            settings,
            key,
            sent: None,
            deadline: None,
            is_in_doubt: false,
            loss: database.outage.loss(),
            is_lost: false,
            wants_one: false,
            patient_until: None,
        }
    }

    /// Sets how much time the call has left.
    pub fn has_left(&mut self, left: Option<Duration>) {
        self.deadline = left.and_then(|left| Instant::now().checked_add(left));
    }

    /// What it means that the time of an attempt ended before its `COMMIT`.
    pub fn timed_out(&self) -> Failed<E> {
        if self.is_in_doubt {
            Failed::InDoubt(Error::Io(io::ErrorKind::TimedOut.into()))
        } else if self.wants_one && self.outage.is_away() {
            Failed::Begin(self.source.why_none().unwrap_or(Error::PoolTimedOut))
        } else {
            Failed::TimedOut
        }
    }

    /// How the call has failed whose last attempt failed so. Not said before the call ends: what ends it is for the policy
    /// to see as it is.
    pub fn last(&self, failed: Failed<E>) -> Failed<E> {
        let is_forgotten = self.is_in_doubt && !self.settings.read_only;
        if is_forgotten && !failed.may_have_committed() {
            Failed::RepeatedInDoubt(Box::new(failed))
        } else {
            failed
        }
    }

    /// What the last attempt was lost with.
    pub fn lost(&self) -> Option<Loss> {
        self.is_lost.then_some(self.loss)
    }

    /// Waits for a server that is known to be away, at the cost of no attempt's time. How long the attempt may take then, which has
    /// so long by its policy.
    pub async fn awaits_server(&mut self, longest: Option<Duration>) -> Option<Duration> {
        if self.outage.is_away() {
            let until = self.patient_until();
            // What it comes to is for the attempt to find.
            let waited = self.outage.wait(until).for_return(self.source).await;
            self.wants_one = waited.is_err();
        }
        let of_call = left(self.deadline);
        longest.map(|longest| of_call.map_or(longest, |of_call| of_call.min(longest)))
    }

    /// One attempt of at most this length.
    pub async fn attempt(&mut self, longest: Option<Duration>) -> Result<T, Failed<E>> {
        (self.is_lost, self.wants_one) = (false, false);
        self.loss = self.outage.loss();
        let failed = match self.timed(longest).await {
            Err(failed) => failed,
            done => return done,
        };
        if self.is_lost {
            self.outage.has_lost(self.loss);
        }
        Err(failed)
    }

    fn patient_until(&mut self) -> Instant {
        let (now, patience) = (Instant::now(), self.settings.patience);
        let until = *self
            .patient_until
            .get_or_insert_with(|| now.checked_add(patience).unwrap_or(now + FAR));
        self.deadline.map_or(until, |deadline| deadline.min(until))
    }

    async fn timed(&mut self, longest: Option<Duration>) -> Result<T, Failed<E>> {
        let now = Instant::now();
        let end = longest.and_then(|longest| now.checked_add(longest));
        // The rest is for COMMIT: only before it a time-out proves that nothing was done.
        let part = |part| longest.and_then(|longest| now.checked_add(longest.mul_f64(part)));
        let last = part(0.95);
        // And who asks what has become of it wants some time for that.
        let asks = matches!(self.settings.resolve, Resolve::Status(_));
        let answered = if asks { part(0.975) } else { end };
        let Some(ready) = within(last, self.up_to_commit(end)).await else {
            if self.wants_one && (self.outage.is_suspect() || self.source.has_room()) {
                self.outage.has_begun();
                self.is_lost = true;
            }
            return Err(self.timed_out());
        };
        let ready = ready?;
        if let Ready::Commit(open, ticket) = ready {
            let error = match within(answered, open.commit()).await {
                Some(Ok(())) => return self.committed(),
                Some(Err(error)) => error,
                None => Error::Io(io::ErrorKind::TimedOut.into()),
            };
            self.is_lost = is_of_a_lost_connection(&error);
            let error = match Failed::at_commit(error) {
                Failed::InDoubt(error) => error,
                refused => return Err(refused),
            };
            match fate(self.source, &self.settings, ticket, self.deadline).await {
                Fate::Committed => (),
                Fate::RolledBack => return Err(Failed::Commit(error)),
                Fate::Unknown => {
                    self.is_in_doubt = true;
                    return Err(Failed::InDoubt(error));
                }
            }
        }
        self.committed()
    }

    fn committed(&mut self) -> Result<T, Failed<E>> {
        // Kept before each COMMIT.
        self.sent.take().ok_or(Failed::HandleKept)
    }

    async fn up_to_commit(
        &mut self,
        end: Option<Instant>,
    ) -> Result<Ready<S::Connection>, Failed<E>> {
        let open = match self.begin(end).await {
            Ok(open) => open,
            Err(error) if self.is_in_doubt && self.meets_its_marker(&error) => {
                return Ok(Ready::Done);
            }
            Err(error) if self.is_in_doubt => return Err(Failed::InDoubt(error)),
            Err(error) => return Err(Failed::Begin(error)),
        };
        if let Resolve::Marker(_) = self.settings.resolve {
            self.is_in_doubt = false; // its row is not there, and no longer will be
        }
        let (handle, lender) = Tx::lend(open);
        let ended = (self.body)(handle).await;
        let Some(mut open) = lender.take() else {
            return Err(Failed::HandleKept);
        };
        let value = match ended {
            Ok(value) => value,
            Err(error) => {
                let failed = Failed::Body(error);
                let is_standby = self.is_standby(failed.database_error());
                self.is_lost = open.roll_back_or_close(is_standby).await;
                return Err(failed);
            }
        };
        let stands = match self.settings.resolve {
            Resolve::Status(_) if !self.settings.read_only => {
                status::ticket(open.connection()).await.map(Some)
            }
            _ => open.stands().await.map(|_| None),
        };
        match stands {
            Ok(ticket) => {
                self.sent = Some(value);
                Ok(Ready::Commit(open, ticket))
            }
            Err(error) => {
                let is_standby = self.is_standby(Some(&error));
                self.is_lost = open.roll_back_or_close(is_standby).await;
                Err(Failed::Gone(error))
            }
        }
    }

    /// Begins over a connection that is alive, and waits for one as long as it is patient. Nothing is charged for that.
    async fn begin(&mut self, end: Option<Instant>) -> Result<Open<S::Connection>, Error> {
        let outage = self.outage;
        let (until, mut wait, mut returns) = (self.patient_until(), None, 0);
        loop {
            self.wants_one = true;
            let connection = connection(self.source, outage, until).await;
            self.wants_one = connection.is_err();
            let had_one = connection.is_ok();
            let began = match connection {
                Ok(connection) => self.begin_over(connection, end).await,
                Err(error) => Err(error),
            };
            let error = match began {
                Ok(open) => {
                    self.outage.is_over();
                    self.patient_until = None;
                    self.loss = self.outage.loss();
                    return Ok(open);
                }
                Err(error) => error,
            };
            let is_dead = had_one && is_of_a_lost_connection(&error);
            if is_dead && self.outage.may_replace(self.source.connections()) {
                continue;
            }
            if is_dead && returns == RETURNS {
                self.is_lost = true;
                return Err(error);
            }
            if !is_dead && !passes(&error, outage.is_suspect()) {
                return Err(error);
            }
            let wait = wait.get_or_insert_with(|| outage.wait(until));
            if let Err(other) = wait.for_return(self.source).await {
                self.is_lost = true;
                return Err(other.unwrap_or(error));
            }
            returns += 1;
        }
    }

    async fn begin_over(
        &mut self,
        connection: S::Connection,
        end: Option<Instant>,
    ) -> Result<Open<S::Connection>, Error> {
        let mut open = Open::idle(connection);
        let longest = match left(end) {
            Some(left) => Some(self.limit.bound(open.connection(), left).await?),
            None => None,
        };
        if !self.is_in_doubt {
            // The row of an attempt that was cut may be locked until the server hears of it; that one never commits.
            self.key = IdempotencyKey::random();
        }
        let begin = self.settings.begin(longest, self.key, self.is_in_doubt);
        open.begin(begin).await
    }

    /// Whether this server takes no writes, such as one in whose place another has come. A repetition over the same connection would meet
    /// the same.
    fn is_standby(&self, error: Option<&Error>) -> bool {
        let answer = error.and_then(Error::as_database_error);
        let code = answer.and_then(sqlx::error::DatabaseError::code);
        !self.settings.read_only && code.is_some_and(|code| code == "25006")
    }

    /// What begins an attempt has one unique key that may be taken.
    fn meets_its_marker(&self, error: &Error) -> bool {
        let error = error.as_database_error();
        matches!(self.settings.resolve, Resolve::Marker(_))
            && error.is_some_and(sqlx::error::DatabaseError::is_unique_violation)
    }
}

/// A connection. Where it is the server that is waited for, and not others who have them all, the patience bounds that.
async fn connection<S: Source>(
    source: &S,
    outage: &Outage,
    until: Instant,
) -> Result<S::Connection, Error> {
    let mut connection = source.connection();
    let until = until.max(Instant::now() + LOOK);
    if let Ok(connection) = timeout_at(until, &mut connection).await {
        return connection;
    }
    if outage.is_suspect() || source.has_room() {
        drop(connection);
        return Err(source.why_none().unwrap_or(Error::PoolTimedOut));
    }
    connection.await
}

/// What has become of a transaction whose `COMMIT` was not answered.
async fn fate<S: Source>(
    source: &S,
    settings: &Settings,
    ticket: Option<Ticket>,
    deadline: Option<Instant>,
) -> Fate {
    match (&settings.resolve, ticket) {
        (Resolve::Status(status), Some(ticket)) => {
            let fate = status::fate(source, &ticket, *status, left(deadline));
            // An attempt timeout is for what is repeated.
            Scope::NONE.wrap(fate).await
        }
        _ => Fate::Unknown,
    }
}

fn left(end: Option<Instant>) -> Option<Duration> {
    end.map(|end| end.saturating_duration_since(Instant::now()))
}

async fn within<F: Future>(end: Option<Instant>, future: F) -> Option<F::Output> {
    match end {
        Some(end) => timeout_at(end, future).await.ok(),
        None => Some(future.await),
    }
}
