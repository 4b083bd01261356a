//! Do all pools together want more connections than the server has?

use std::fmt;

use sqlx::{Error, PgConnection, Row};

/// The finding that processes x pool exceed what the server lets in.
///
/// Then some pools never fill up, and dial for ever: 1,000 connections wanted of a server with 100 were 260 to 1,013 dials a second
/// by sqlx's pools. Make the pools smaller, put a pooler such as `PgBouncer` between, or raise `max_connections`. Ask for it where
/// a program starts, and log what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Oversized {
    /// How many processes there are.
    pub processes: u32,
    /// How many connections the pools of each may have.
    pub pool: u32,
    /// `max_connections` of the server.
    pub max_connections: u32,
    /// What it keeps for others: `superuser_reserved_connections`, and since Postgres 16 `reserved_connections`.
    pub reserved: u32,
    /// How many it lets in: what is left, or the limit of the role or the database if that is less.
    pub allowed: u32,
}

const ASK: &str = "SELECT current_setting('max_connections')::int AS max_connections, \
     current_setting('superuser_reserved_connections')::int \
     + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved, \
     (SELECT least(nullif(rolconnlimit, -1), (SELECT nullif(datconnlimit, -1) FROM pg_database \
     WHERE datname = current_database())) FROM pg_roles WHERE rolname = session_user) AS own_limit";

impl Oversized {
    /// Asks the server what it lets in, and compares: `None` where there is room for so many processes with so many
    /// connections each. Other clients of the server are not counted.
    ///
    /// # Errors
    ///
    /// The server did not answer.
    pub async fn check(
        connection: &mut PgConnection,
        processes: u32,
        pool: u32,
    ) -> Result<Option<Self>, Error> {
        let row = sqlx::raw_sql(ASK).fetch_one(connection).await?;
        let number = |name| row.try_get::<i32, _>(name).map(i32::unsigned_abs);
        let (max_connections, reserved) = (number("max_connections")?, number("reserved")?);
        let own_limit = row.try_get::<Option<i32>, _>("own_limit")?;
        let left = max_connections.saturating_sub(reserved);
        let allowed = own_limit.map_or(left, |limit| left.min(limit.unsigned_abs()));
        let found = Self {
            processes,
            pool,
            max_connections,
            reserved,
            allowed,
        };
        Ok((found.wanted() > u64::from(allowed)).then_some(found))
    }

    /// How many connections are wanted.
    pub const fn wanted(&self) -> u64 {
        self.processes as u64 * self.pool as u64
    }
}

impl fmt::Display for Oversized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            processes,
            pool,
            max_connections,
            reserved,
            allowed,
        } = self;
        write!(
            f,
            "{processes} processes with pools of {pool} want {} connections, and the server lets in {allowed} \
             (max_connections is {max_connections}, {reserved} of them reserved): make the pools smaller, or put a pooler between",
            self.wanted()
        )
    }
}
