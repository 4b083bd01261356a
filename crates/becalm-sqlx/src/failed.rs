//! How has a transaction failed, and what does that prove?

use std::error::Error as StdError;
use std::fmt;

use becalm::classify::{Classifier, Classify, connect, sqlstate};
use becalm::support::{to_the_root, unsaid};
use becalm::{Attempt, Class, Failure};
use sqlx::Error;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// What an error of sqlx means for a retry: for statements of their own, whose effect may be unknown.
///
/// | error | class | reason |
/// |---|---|---|
/// | an answer of the server | by its SQLSTATE | [`becalm::classify::sqlstate`] |
/// | of the connection | as the error of IO says | the server's end; the statement may have run |
/// | `Tls` | unsent; permanent but for what passes | [`connect::recognise`](becalm::classify::connect::recognise) |
/// | `PoolTimedOut` | transient, unsent | no connection was to be had in time |
/// | `Protocol` | transient | the server's end in the middle of an answer |
/// | any other | permanent | the statement, the settings or the data are at fault |
pub fn classify(error: &Error) -> Failure {
    match error {
        Error::Database(answer) => match answer.code() {
            // A pooler says so when it has lost its server.
            Some(code) if code == "08P01" && is_fatal(error) => Failure::transient(),
            Some(code) => sqlstate::classify(&code),
            None => Failure::permanent(),
        },
        Error::Io(error) => error.classify(),
        // Of all that sqlx says of TLS itself nothing passes: that the server speaks none, that a file is wrong.
        Error::Tls(_) => connect::recognise(error).unwrap_or(Failure::permanent().unsent()),
        Error::PoolTimedOut => Failure::transient().unsent(),
        Error::Protocol(_) | Error::WorkerCrashed => Failure::transient(),
        _ => Failure::permanent(),
    }
}

/// What an error means before there is a connection: unsent, and of the connection as
/// [`connect`](mod@becalm::classify::connect) says.
pub(crate) fn while_connecting(error: &Error) -> Failure {
    match error {
        Error::Io(_) => connect::classify(error),
        Error::Database(answer) if answer.code().as_deref() == Some("08P01") => {
            if is_said_by_a_pooler(answer.message()) {
                Failure::transient().unsent()
            } else {
                Failure::permanent().unsent()
            }
        }
        // It is no Postgres. One in trouble answers with an error, which begins with an E.
        Error::Protocol(words)
            if words.starts_with("unexpected response from SSLRequest")
                && !words.contains("0x45") =>
        {
            Failure::permanent().unsent()
        }
        error => classify(error).unsent(),
    }
}

/// What `PgBouncer` says with 08P01 at a login while its server is away, or while it is full. All else that it says so is a setting.
fn is_said_by_a_pooler(message: &str) -> bool {
    const PASSING: [&str; 6] = [
        "cannot connect",
        "no more connections",
        "query_wait_timeout",
        "server conn",
        "server login",
        "shut",
    ];
    PASSING.iter().any(|words| message.contains(words))
}

/// Whether it ends its connection.
fn is_fatal(error: &Error) -> bool {
    let answer = error.as_database_error();
    let answer = answer.and_then(|answer| answer.try_downcast_ref::<PgDatabaseError>());
    answer.is_some_and(|answer| matches!(answer.severity(), PgSeverity::Fatal | PgSeverity::Panic))
}

/// Whether the connection was lost, and not a statement refused.
pub(crate) fn is_of_a_lost_connection(error: &Error) -> bool {
    match error {
        Error::Io(error) => error.kind() != std::io::ErrorKind::TimedOut,
        Error::Protocol(_) => true,
        Error::Database(answer) => {
            let ends = |code: &str| {
                // 08P01 that is not fatal is a mistake of the client, such as a parameter that is not bound.
                (code.starts_with("08") && code != "08P01")
                    || matches!(code, "57P01" | "57P02" | "57P05" | "25P03")
            };
            is_fatal(error) || answer.code().is_some_and(|code| ends(&code))
        }
        _ => false,
    }
}

/// Whether an attempt that could not begin for this waits until it has passed: the server is away, starts or is full. That
/// no connection came in time says so only where one was lost before; else too many want one.
pub(crate) fn passes(error: &Error, is_suspect: bool) -> bool {
    match error {
        Error::PoolTimedOut => is_suspect,
        Error::Io(_) | Error::Protocol(_) | Error::Tls(_) => {
            while_connecting(error).class != Class::Permanent
        }
        Error::Database(answer) => {
            let waits = |code: &str| matches!(code, "57P03" | "53300");
            answer.code().is_some_and(|code| waits(&code))
                || (is_of_a_lost_connection(error)
                    && while_connecting(error).class != Class::Permanent)
        }
        _ => false,
    }
}

/// The classifier of a retrier for single statements: [`classify`].
///
/// ```
/// use becalm::{Policy, Retrier};
/// use becalm_sqlx::BySqlState;
/// use std::sync::LazyLock;
///
/// static DATABASE: LazyLock<Retrier<BySqlState>> = LazyLock::new(|| {
///     Policy::default().retrier().expect("a valid policy").classify_by(BySqlState)
/// });
/// # let _ = &*DATABASE;
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct BySqlState;

impl Classifier<Error> for BySqlState {
    fn classify(&self, _: Attempt, error: &Error) -> Failure {
        classify(error)
    }
}

/// How an attempt at a transaction has failed. Whether the call may have left something behind says
/// [`may_have_committed`](Self::may_have_committed).
#[derive(Debug)]
#[non_exhaustive]
pub enum Failed<E = Error> {
    /// There was no connection, or `BEGIN` failed.
    Begin(Error),
    /// The body ended with this error, and was rolled back. What it means is that of the first sqlx error among its
    /// [sources](StdError::source); without one it is permanent.
    Body(E),
    /// The body ended well, but its transaction no longer stands: the connection was lost, or a statement had failed whose
    /// error the body has ignored (25P02).
    Gone(Error),
    /// `COMMIT` was refused, and the transaction is rolled back: a conflict, a deferred constraint.
    Commit(Error),
    /// It may have been committed: the answer to `COMMIT` was lost, in this attempt or in one before of which nobody could learn
    /// more since. Unless that is [resolved](crate::Resolve) the call ends with
    /// [`NotIdempotent`](becalm::StopReason::NotIdempotent).
    InDoubt(Error),
    /// It may have been committed: the answer to `COMMIT` was lost in an attempt before, as in [`InDoubt`](Self::InDoubt), which was
    /// repeated because twice is no harm. The repetition, which has ended the call, has failed so and was rolled back.
    RepeatedInDoubt(Box<Failed<E>>),
    /// The time of the attempt ended before `COMMIT`.
    TimedOut,
    /// The body has kept its handle, or forgotten it. Let the handle go when the body ends: nothing is committed before.
    HandleKept,
}

impl<E> Failed<E> {
    /// Whether the transaction may have been committed. If not, it is not.
    pub const fn may_have_committed(&self) -> bool {
        matches!(self, Self::InDoubt(_) | Self::RepeatedInDoubt(_))
    }
}

impl<E: StdError + 'static> Failed<E> {
    /// The error of sqlx, if there is one.
    pub fn database_error(&self) -> Option<&Error> {
        match self {
            Self::Begin(error) | Self::Gone(error) | Self::Commit(error) | Self::InDoubt(error) => {
                Some(error)
            }
            Self::Body(error) => {
                let mut next = Some(error as &(dyn StdError + 'static));
                while let Some(error) = next {
                    if let Some(found) = error.downcast_ref() {
                        return Some(found);
                    }
                    next = error.source();
                }
                None
            }
            Self::RepeatedInDoubt(last) => last.database_error(),
            Self::TimedOut | Self::HandleKept => None,
        }
    }

    /// Whether another transaction stood in its way, which is no sign of an outage.
    pub fn is_conflict(&self) -> bool {
        let error = self
            .database_error()
            .and_then(|error| error.as_database_error());
        let code = error.and_then(sqlx::error::DatabaseError::code);
        !matches!(self, Self::InDoubt(_)) && code.is_some_and(|code| sqlstate::is_contention(&code))
    }

    pub(crate) fn failure(&self) -> Failure {
        match (self, self.database_error()) {
            (Self::InDoubt(_), _) => Failure::transient(),
            (Self::Begin(_), Some(error)) => while_connecting(error),
            // A pooler's words for it are a mistake of the protocol elsewhere.
            (_, Some(error @ Error::Database(_))) if is_of_a_lost_connection(error) => {
                Failure::transient().unsent()
            }
            (_, Some(error)) => classify(error).unsent(),
            (Self::TimedOut, None) => Failure::transient().unsent(),
            (_, None) => Failure::permanent().unsent(),
        }
    }

    /// What an error at `COMMIT` says. Only what the server answers in place of committing proves that it did not.
    pub(crate) fn at_commit(error: Error) -> Self {
        let is_refused = match &error {
            Error::Database(answer) => answer.code().is_some_and(|code| {
                // Classes 08, 57 and 58 come from the end of a connection or a server, XX from one in trouble; a pooler in
                // between says 08P01 and 58000 when it has lost the server.
                let is_an_end = matches!(code.get(..2), None | Some("08" | "57" | "58" | "XX"));
                let is_unknown = sqlstate::classify(&code) == Failure::transient();
                code == "57014" || (!is_an_end && !is_unknown)
            }),
            _ => false,
        };
        if is_refused {
            Self::Commit(error)
        } else {
            Self::InDoubt(error)
        }
    }
}

impl<E: fmt::Display> fmt::Display for Failed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin(error) => {
                write!(f, "the transaction could not begin: {}", to_the_root(error))
            }
            Self::Body(error) => write!(f, "it was rolled back: {error:#}"),
            Self::Gone(error) => {
                write!(
                    f,
                    "it was rolled back before COMMIT: {}",
                    to_the_root(error)
                )
            }
            Self::Commit(error) => write!(f, "COMMIT was refused: {}", to_the_root(error)),
            Self::InDoubt(error) => write!(
                f,
                "it may have been committed, COMMIT was not answered: {}",
                to_the_root(error)
            ),
            Self::RepeatedInDoubt(last) => write!(
                f,
                "it may have been committed, COMMIT was not answered; repeated since: {last}"
            ),
            Self::TimedOut => f.write_str("it was rolled back, its time ended before COMMIT"),
            Self::HandleKept => f.write_str(
                "it was rolled back, since its body kept the handle: drop it when the body ends",
            ),
        }
    }
}

impl<E: StdError + 'static> StdError for Failed<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Body(error) => unsaid(self, error),
            Self::RepeatedInDoubt(last) => unsaid(self, &**last),
            // Their sentences go down to the root cause.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_postgres_is_dialled_once_and_one_in_trouble_again() {
        let answered = |byte: u8| {
            Error::Protocol(format!("unexpected response from SSLRequest: 0x{byte:02x}"))
        };
        for (error, class) in [
            (answered(b'H'), Class::Permanent),
            (answered(b'E'), Class::Transient),
            (
                Error::Tls("server does not support TLS".into()),
                Class::Permanent,
            ),
            (Error::Tls("unexpected EOF".into()), Class::Transient),
            (
                Error::Io(std::io::Error::other(std::io::Error::from(
                    std::io::ErrorKind::InvalidData,
                ))),
                Class::Permanent,
            ),
        ] {
            let failure = while_connecting(&error);
            assert_eq!(failure.class, class, "{error}");
            assert_eq!(failure.effect, becalm::Effect::Unsent, "{error}");
            assert_eq!(Failed::<Error>::Begin(error).failure(), failure);
        }
    }

    #[test]
    fn the_root_cause_is_in_the_sentence_once() {
        let refused = || Error::Io(std::io::ErrorKind::ConnectionRefused.into());
        for failed in [
            Failed::<std::fmt::Error>::Begin(refused()),
            Failed::Gone(refused()),
            Failed::Commit(refused()),
            Failed::InDoubt(refused()),
        ] {
            let sentence = failed.to_string();
            assert_eq!(
                sentence.matches("connection refused").count(),
                1,
                "{sentence}"
            );
            assert!(failed.source().is_none());
        }
        // sqlx's own error says what its source says.
        let failed = Failed::Body(refused());
        assert!(
            failed.to_string().ends_with("connection refused"),
            "{failed}"
        );
        assert!(failed.source().is_none());
    }
}
