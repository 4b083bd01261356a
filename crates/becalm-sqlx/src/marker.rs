//! How does a repetition see that the transaction was committed before? By a row that was committed with it.

use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

use becalm::IdempotencyKey;

/// Resolves a lost answer to `COMMIT` by a row in the same transaction, with a key that the call has drawn.
///
/// The row is the first thing that the transaction writes. A repetition waits until the attempt before it has ended for the server ([`patience`](Self::patience)), and
/// meets its row if that was committed: then the call is done, and returns what that attempt's body had returned. It is right
/// after a crash and a failover too, wherever what was committed lasts.
///
/// Make the table once ([`ddl`](Self::ddl)), and remove old rows now and then ([`cleanup`](Self::cleanup)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    table: String,
    patience: Duration,
}

/// For how long a repetition waits for the one before it.
const PATIENCE: Duration = Duration::from_secs(15);

impl Marker {
    /// Rows in the table `becalm_marker`, found by the connection's `search_path`.
    pub fn new() -> Self {
        Self {
            table: quoted("becalm_marker"),
            patience: PATIENCE,
        }
    }

    /// Rows in this table, such as `shop.done`: the name as it is, in a schema if there is a dot.
    ///
    /// # Errors
    ///
    /// A part of the name is empty, longer than Postgres keeps (63 bytes), or holds a zero byte.
    pub fn table(name: &str) -> Result<Self, InvalidTable> {
        let is_part = |part: &str| (1..=63).contains(&part.len()) && !part.contains('\0');
        if !name.split('.').all(is_part) || name.split('.').count() > 2 {
            return Err(InvalidTable);
        }
        Ok(Self {
            table: quoted(name),
            patience: PATIENCE,
        })
    }

    /// Sets for how long a repetition waits until the attempt before it has ended for the server, where no `lock_timeout` or deadline
    /// leaves less: by default 15 s. Then it is repeated in turn, and the call may end [in doubt](crate::Failed::InDoubt). A server may take hours
    /// to find that the client of an attempt is gone.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The statement that makes the table, for your migrations. The role of the transactions needs `INSERT` on it.
    pub fn ddl(&self) -> String {
        format!(
            "CREATE TABLE IF NOT EXISTS {} (key uuid PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now())",
            self.table
        )
    }

    /// The statement that removes rows older than this. Nobody asks for a row after the deadline of its call: an hour is
    /// long for most, and a day for all.
    pub fn cleanup(&self, older_than: Duration) -> String {
        format!(
            "DELETE FROM {} WHERE made_at < now() - interval '{} seconds'",
            self.table,
            older_than.as_secs()
        )
    }

    pub(crate) fn insert(&self, key: IdempotencyKey) -> String {
        format!("INSERT INTO {} (key) VALUES ('{key}')", self.table)
    }

    /// The row of a repetition, which may have to wait for that of the attempt before.
    pub(crate) fn insert_again(&self, key: IdempotencyKey) -> String {
        // The setting of the body is put away meanwhile. Zero is no limit, and so is nothing for `least`.
        format!(
            "SELECT set_config('becalm.lock_timeout', current_setting('lock_timeout'), true), \
             set_config('lock_timeout', least(nullif(setting::bigint, 0), {})::text, true) \
             FROM pg_settings WHERE name = 'lock_timeout'; {}; \
             SELECT set_config('lock_timeout', current_setting('becalm.lock_timeout'), true)",
            millis(self.patience),
            self.insert(key)
        )
    }
}

impl Default for Marker {
    fn default() -> Self {
        Self::new()
    }
}

/// As the value of a time-out of the server: zero would mean no limit, and the greatest is that of the setting's type.
pub(crate) fn millis(time: Duration) -> u128 {
    time.as_millis()
        .clamp(1, u128::from(i32::MAX.unsigned_abs()))
}

fn quoted(name: &str) -> String {
    let mut quoted = String::new();
    for (index, part) in name.split('.').enumerate() {
        let dot = if index > 0 { "." } else { "" };
        let _ = write!(quoted, "{dot}\"{}\"", part.replace('"', "\"\""));
    }
    quoted
}

/// It is no name of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTable;

impl fmt::Display for InvalidTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("table is no name of a table: write name or schema.name, each of 1 to 63 bytes")
    }
}

impl std::error::Error for InvalidTable {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_a_name() {
        let marker = Marker::table("shop.a\"b; DROP TABLE x").expect("a name");
        assert_eq!(
            marker.cleanup(Duration::from_secs(60)),
            "DELETE FROM \"shop\".\"a\"\"b; DROP TABLE x\" WHERE made_at < now() - interval '60 seconds'"
        );
        let long = "x".repeat(64);
        for name in ["", ".", "a.", "a.b.c", "a\0", &long] {
            assert_eq!(Marker::table(name), Err(InvalidTable), "{name}");
        }
    }
}
