//! What is a connection of one's own, for commands that change or hold it?

use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisFuture, RedisResult, Value};

use crate::commands::elsewhere;
use crate::dial::Wire;

/// A connection that no other part of a program shares, from [`Connection::dedicated`](crate::Connection::dedicated). It does not come back.
///
/// **A command whose future is dropped closes it**, and later commands fail and say so. A `BLPOP` that nothing waits for any
/// more would otherwise take the next item, and lose it. The server hears of it as soon as the network brings it; an item that it has
/// handed over by then is lost with the answer. `BLMOVE` keeps it in another list.
///
/// ```no_run
/// # async fn run(redis: becalm_redis::Connection) -> redis::RedisResult<()> {
/// use redis::AsyncCommands;
/// use std::time::Duration;
///
/// let mut own = redis.dedicated().await?;
/// let popped = own.blpop::<_, (String, String)>("orders", 0.0);
/// match tokio::time::timeout(Duration::from_secs(5), popped).await {
///     Ok(order) => println!("{}", order?.1),
///     Err(_) => own = redis.dedicated().await?, // it was closed, and the next order stays in its list
/// }
/// # let _ = own;
/// # Ok(())
/// # }
/// ```
///
/// Clones are one connection, as [`transaction_async`](redis::aio::transaction_async) needs it: what one of them changes (`WATCH`, `SELECT`)
/// holds for all, and a future that is dropped closes all.
#[derive(Clone)]
pub struct Dedicated {
    wire: Wire,
    db: i64,
    is_dropped: Arc<AtomicBool>,
}

impl Dedicated {
    pub(crate) fn new(wire: Wire, db: i64) -> Self {
        let is_dropped = Arc::default();
        Self {
            wire,
            db,
            is_dropped,
        }
    }

    async fn answer<T>(&self, answer: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
        if !self.is_dropped.load(Ordering::Acquire) {
            let unanswered = Unanswered(self);
            let answer = answer.await;
            mem::forget(unanswered);
            if answer.is_ok() || !self.is_dropped.load(Ordering::Acquire) {
                return answer;
            }
        }
        Err(io::Error::new(io::ErrorKind::NotConnected, DROPPED).into())
    }
}

const DROPPED: &str = "the dedicated connection is closed: the future of a command was dropped before its answer came, and the \
    server would have gone on with it; take a new one by Connection::dedicated()";

/// A command in flight.
struct Unanswered<'a>(&'a Dedicated);

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Ordering::Release);
        self.0.wire.close();
    }
}

fn refused<'a>(mut commands: impl Iterator<Item = &'a Cmd>) -> RedisResult<()> {
    commands.find_map(elsewhere).map_or(Ok(()), Err)
}

impl ConnectionLike for Dedicated {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            refused([command].into_iter())?;
            let mut redis = self.wire.redis.clone();
            self.answer(redis.send_packed_command(command)).await
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            refused(pipeline.cmd_iter())?;
            let mut redis = self.wire.redis.clone();
            self.answer(redis.send_packed_commands(pipeline, offset, count))
                .await
        })
    }

    fn get_db(&self) -> i64 {
        self.db
    }
}

impl std::fmt::Debug for Dedicated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dedicated").finish_non_exhaustive()
    }
}
