//! How does an idle consumer hear of a new message? It waits for one behind the end of its streams, on a connection of its own.
//!
//! It only looks: what it hears of, the next script takes. So an answer that is lost takes no message with it.

use std::time::Duration;

use redis::{RedisResult, Value, cmd};
use tokio::time::{sleep, timeout};

use crate::{Connection, Dedicated};

use super::store::{Store, millis};

/// How much longer an answer may take than was asked for.
const LATE: Duration = Duration::from_secs(5);

/// Comes back when there is an entry behind these ends, or this time is over; with the connection, if it is still good.
pub(super) async fn ring(
    redis: Connection,
    held: Option<Dedicated>,
    store: Store,
    ends: [String; 2],
    within: Duration,
) -> Option<Dedicated> {
    let mut own = match held {
        Some(held) => held,
        None => match redis.dedicated().await {
            Ok(own) => own,
            Err(_) => return after_a_while(within).await,
        },
    };
    let mut read = cmd("XREAD");
    // 0 would be for ever.
    read.arg("BLOCK").arg(millis(within).max(1));
    read.arg("COUNT").arg(1).arg("STREAMS");
    read.arg(&store.streams()).arg(&ends);
    let heard: Result<RedisResult<Value>, _> =
        timeout(within + LATE, read.query_async(&mut own)).await;
    match heard {
        Ok(Ok(_)) => Some(own),
        _ => after_a_while(within).await,
    }
}

/// Not at once: a server that refuses would be asked without end.
async fn after_a_while(within: Duration) -> Option<Dedicated> {
    sleep(within.min(Duration::from_secs(1))).await;
    None
}
