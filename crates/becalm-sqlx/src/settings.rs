//! What is set for a transaction, and what does that make of it?

use std::fmt::Write as _;
use std::time::Duration;

use becalm::{IdempotencyKey, Operation};

use crate::marker::{Marker, millis};
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

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub isolation: Option<Isolation>,
    pub read_only: bool,
    pub resolve: Resolve,
    pub deadline: Option<Duration>,
    /// For how long a call waits for a server that is away.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            isolation: None,
            read_only: false,
            resolve: Resolve::default(),
            deadline: None,
            patience: Duration::from_secs(30),
        }
    }
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

    pub fn operation(&self, key: IdempotencyKey) -> Operation {
        match self.resolve {
            _ if self.read_only => Operation::Idempotent,
            Resolve::Idempotent => Operation::Idempotent,
            Resolve::Marker(_) => Operation::Keyed(key),
            Resolve::Stop | Resolve::Status(_) => Operation::NotIdempotent,
        }
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
