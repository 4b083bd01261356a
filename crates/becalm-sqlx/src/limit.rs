//! How long does the server let a statement take, by its own word?

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::{Error, Executor, PgConnection, Row};

/// The `statement_timeout` that server, database or role have set, which a deadline must not lengthen.
///
/// It is asked for once and outside of the transactions: a question in one would take its snapshot, too early for a body that
/// begins with `LOCK TABLE` or `SET TRANSACTION`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServersLimit(Arc<OnceLock<Option<Duration>>>);

impl ServersLimit {
    /// Of two limits the lesser.
    pub async fn bound(
        &self,
        connection: &mut PgConnection,
        left: Duration,
    ) -> Result<Duration, Error> {
        let limit = if let Some(known) = self.0.get() {
            *known
        } else {
            let ask = "SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'";
            let millis: i64 = connection.fetch_one(ask).await?.try_get(0)?;
            let limit = u64::try_from(millis).ok().filter(|&millis| millis > 0);
            *self.0.get_or_init(|| limit.map(Duration::from_millis))
        };
        Ok(limit.map_or(left, |limit| limit.min(left)))
    }
}
