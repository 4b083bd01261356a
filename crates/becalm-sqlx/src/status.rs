//! How does one ask the server whether a transaction was committed, and when may its answer be believed?

use std::future::poll_fn;
use std::time::Duration;

use becalm::{Budget, Failure, Policy, Retrier, scope::Nested};
use sqlx::postgres::PgRow;
use sqlx::{Error, Executor, PgConnection, Row};

use crate::failed::classify;
use crate::open::Open;
use crate::source::Source;

/// Resolves a lost answer to `COMMIT` by asking the server for the transaction's status (`pg_xact_status`), again and again
/// while it is in progress.
///
/// After a crash Postgres hands out again the numbers of transactions that had not reached its log, so that "committed" may be
/// said of another's. It is believed only of a server that has not restarted since: the same start of the postmaster
/// and of the checkpointer, which a crash of any backend starts anew. "Aborted" and "in the future" are believed, unless it is
/// another cluster or timeline. Otherwise it stays [in doubt](crate::Failed::InDoubt).
///
/// It costs each transaction a number, in the round trip that asks whether it still stands, and the first over a connection a round trip more and
/// a look at `pg_stat_activity`. Without the role's right to see the checkpointer there (`GRANT pg_read_all_stats`), nothing is
/// believed to be committed, and each transaction looks. Postgres 13 or newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    patience: Duration,
}

impl Status {
    /// Asks for up to 15 s, or as long as the call's deadline leaves. An attempt timeout takes nothing from that.
    pub const fn new() -> Self {
        Self {
            patience: Duration::from_secs(15),
        }
    }

    /// Sets for how long it asks, where no deadline leaves less. A transaction whose `COMMIT` never reached the server is in progress
    /// until the server finds its client gone.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

impl Default for Status {
    fn default() -> Self {
        Self::new()
    }
}

/// A transaction, and the server that has it.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    xid: String,
    server: Server,
}

/// Which server it is, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Server {
    /// The system identifier and the timeline.
    cluster: String,
    /// The starts of postmaster and checkpointer. `None` where this role may not see the latter.
    start: Option<String>,
}

/// What has become of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Committed,
    RolledBack,
    Unknown,
}

/// The timeline is that of the log which is written: the control file's is the old one up to the checkpoint after a promotion.
const SERVER: &str = "(SELECT system_identifier FROM pg_control_system()) || '/' || CASE WHEN pg_is_in_recovery() THEN '' \
     ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END AS cluster, \
     extract(epoch FROM pg_postmaster_start_time()) || '/' || (SELECT extract(epoch FROM backend_start) \
     FROM pg_stat_activity WHERE backend_type = 'checkpointer') AS start";

/// Where a backend keeps which server it belongs to. It is the backend's own setting, and ends with it: so it is true behind
/// a pooler too, which hands a client one backend after another. A pooler that carries settings from one to the next is found
/// by the number of the backend.
const KEPT: &str = "becalm.server";

/// Which backend it is.
const BACKEND: &str = "pg_backend_pid() || '@' || extract(epoch FROM pg_postmaster_start_time())";

/// Asked before `COMMIT`, in the transaction, of which it also says whether it stands. Which server it is, is asked once for each
/// connection.
pub(crate) async fn ticket(connection: &mut PgConnection) -> Result<Ticket, Error> {
    let ask = format!(
        "SELECT pg_current_xact_id()::text AS xid, {BACKEND} AS backend, current_setting('{KEPT}', true) AS kept"
    );
    let row = connection.fetch_one(&*ask).await?;
    let xid = row.try_get("xid")?;
    let backend: String = row.try_get("backend")?;
    let kept: Option<String> = row.try_get("kept")?;
    let server = match kept.and_then(|kept| Server::kept(&kept, &backend)) {
        Some(server) => server,
        None => who(connection).await?,
    };
    Ok(Ticket { xid, server })
}

/// Which server it is, kept for the next transaction where this one is committed. What this role may not see is asked again.
async fn who(connection: &mut PgConnection) -> Result<Server, Error> {
    let ask = format!(
        "SELECT cluster, start, CASE WHEN start IS NOT NULL THEN \
         set_config('{KEPT}', concat_ws(' ', {BACKEND}, cluster, start), false) END FROM (SELECT {SERVER}) AS server"
    );
    Server::of(&connection.fetch_one(&*ask).await?)
}

/// What has become of it: asked until the server says, at most for so long.
pub(crate) async fn fate<S: Source>(
    source: &S,
    ticket: &Ticket,
    status: Status,
    left: Option<Duration>,
) -> Fate {
    let longest = left.map_or(status.patience, |left| left.min(status.patience));
    let asked = asker().call::<Undecided>().deadline(longest);
    let mut asked = asked;
    while let Some(attempt) = asked.next().await {
        let within = attempt.timeout().unwrap_or(longest);
        let answer = tokio::time::timeout(within, asked.wrap(ask(source, ticket))).await;
        match answer {
            Ok(Ok(fate)) => return asked.success(fate),
            Ok(Err(undecided)) => asked.failure_as(undecided.failure(), undecided),
            Err(_) => asked.timed_out(),
        }
    }
    Fate::Unknown
}

/// Who asks is few, and asks seldom: without a budget, until its time ends.
fn asker() -> &'static Retrier {
    static ASKER: std::sync::LazyLock<Retrier> = std::sync::LazyLock::new(|| {
        let policy = Policy::exponential(Duration::from_millis(20)).attempts(Policy::UNLIMITED);
        let policy = policy.cap(Duration::from_millis(500));
        let policy = policy.budget(Budget::None).nested(Nested::Allow);
        let retrier = policy.builder().name("postgres, status").build();
        retrier.unwrap_or_else(|_| unreachable!("a valid policy"))
    });
    &ASKER
}

/// Nobody knows yet.
#[derive(Debug)]
enum Undecided {
    InProgress,
    /// It answers from a copy, which may lag behind.
    Standby,
    NoAnswer(Error),
}

impl Undecided {
    fn failure(&self) -> Failure {
        match self {
            Self::InProgress | Self::Standby => Failure::transient(),
            Self::NoAnswer(error) => classify(error),
        }
    }
}

impl std::fmt::Display for Undecided {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InProgress => f.write_str("the transaction is in progress"),
            Self::Standby => f.write_str("the server is a standby"),
            Self::NoAnswer(error) => error.fmt(f),
        }
    }
}

async fn ask<S: Source>(source: &S, ticket: &Ticket) -> Result<Fate, Undecided> {
    let connection = source.connection().await.map_err(Undecided::NoAnswer)?;
    let mut open = Open::idle(connection);
    let said = asked(open.connection(), ticket).await;
    if !matches!(said, Err(Undecided::NoAnswer(_))) {
        open.give_back();
    }
    said
}

async fn asked(connection: &mut PgConnection, ticket: &Ticket) -> Result<Fate, Undecided> {
    // In one message, which one backend answers even behind a pooler; and as two statements, since the second may be refused.
    let ask = format!(
        "SELECT pg_is_in_recovery() AS is_standby, {SERVER}; SELECT pg_xact_status('{}'::xid8) AS status",
        ticket.xid
    );
    let no_answer = Undecided::NoAnswer;
    let mut rows = connection.fetch(&*ask);
    let row = poll_fn(|context| rows.as_mut().poll_next(context)).await;
    let row = row.unwrap_or(Err(Error::RowNotFound)).map_err(no_answer)?;
    if row.try_get("is_standby").map_err(no_answer)? {
        return Err(Undecided::Standby);
    }
    let now = Server::of(&row).map_err(no_answer)?;
    let answered = poll_fn(|context| rows.as_mut().poll_next(context)).await;
    let answered = answered.unwrap_or(Err(Error::RowNotFound));
    let status = match answered.and_then(|row| row.try_get::<Option<String>, _>("status")) {
        Ok(status) => status,
        Err(Error::Database(error)) if error.code().as_deref() == Some("22023") => {
            Some("in the future".into())
        }
        Err(error) => return Err(Undecided::NoAnswer(error)),
    };
    believed(&ticket.server, &now, status.as_deref())
}

/// What such an answer proves, by this server now, of a transaction on that server then.
fn believed(then: &Server, now: &Server, status: Option<&str>) -> Result<Fate, Undecided> {
    let has_not_restarted = then.start.is_some() && then.start == now.start;
    match status {
        _ if then.cluster != now.cluster => Ok(Fate::Unknown),
        Some("aborted" | "in the future") => Ok(Fate::RolledBack),
        Some("committed") if has_not_restarted => Ok(Fate::Committed),
        Some("in progress") => Err(Undecided::InProgress),
        _ => Ok(Fate::Unknown),
    }
}

impl Server {
    fn of(row: &PgRow) -> Result<Self, Error> {
        Ok(Self {
            cluster: row.try_get("cluster")?,
            start: row.try_get("start")?,
        })
    }

    /// What this backend has kept.
    fn kept(kept: &str, backend: &str) -> Option<Self> {
        let mut parts = kept.split(' ');
        if parts.next()? != backend {
            return None;
        }
        let (cluster, start) = (parts.next()?.into(), Some(parts.next()?.into()));
        parts.next().is_none().then_some(Self { cluster, start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(cluster: &str, start: Option<&str>) -> Server {
        Server {
            cluster: cluster.into(),
            start: start.map(Into::into),
        }
    }

    #[test]
    fn what_another_backend_has_kept_is_not_taken() {
        let kept = |kept| Server::kept(kept, "17@1.5");
        assert_eq!(kept("17@1.5 7/1 1.5/2"), Some(server("7/1", Some("1.5/2"))));
        for other in [
            "18@1.5 7/1 1.5/2",
            "17@2.5 7/1 1.5/2",
            "17@1.5 7/1",
            "17@1.5 7/1 1.5/2 3",
            "17@1.5",
            "",
        ] {
            assert_eq!(kept(other), None, "{other}");
        }
    }

    #[test]
    fn committed_is_believed_of_the_same_server_without_a_restart_alone() {
        let then = server("7/1", Some("a/b"));
        for (now, status, fate) in [
            (
                server("7/1", Some("a/b")),
                Some("committed"),
                Some(Fate::Committed),
            ),
            (
                server("7/1", Some("a/c")),
                Some("committed"),
                Some(Fate::Unknown),
            ),
            (server("7/1", None), Some("committed"), Some(Fate::Unknown)),
            (
                server("7/1", Some("a/b")),
                Some("aborted"),
                Some(Fate::RolledBack),
            ),
            (
                server("7/1", Some("a/c")),
                Some("aborted"),
                Some(Fate::RolledBack),
            ),
            (
                server("7/1", Some("a/c")),
                Some("in the future"),
                Some(Fate::RolledBack),
            ),
            (server("7/1", Some("a/b")), Some("in progress"), None),
            (server("7/1", Some("a/b")), None, Some(Fate::Unknown)),
            // Another cluster, and a standby that has taken over: the numbers are others'.
            (
                server("8/1", Some("a/b")),
                Some("aborted"),
                Some(Fate::Unknown),
            ),
            (
                server("7/2", Some("a/b")),
                Some("in the future"),
                Some(Fate::Unknown),
            ),
        ] {
            let said = believed(&then, &now, status);
            assert_eq!(said.ok(), fate, "{now:?} says {status:?}");
        }
        let blind = server("7/1", None);
        let said = believed(&blind, &blind, Some("committed"));
        assert_eq!(
            said.ok(),
            Some(Fate::Unknown),
            "the checkpointer is not seen"
        );
    }
}
