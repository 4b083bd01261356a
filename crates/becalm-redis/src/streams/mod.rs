//! How does a consumer of a Redis stream survive an outage of what its handlers call?
//!
//! A [`Consumer`] takes messages of a group, hands each to a handler and does with it as [`becalm_fleet::consumer`] decides: a message that fails comes
//! back later, charged only if others have succeeded meanwhile; after some failures in a row the consumer pauses and probes with one;
//! what is over goes to a stream of dead letters, with its history.
//!
//! ```no_run
//! # async fn ship(_: &str) -> std::io::Result<()> { Ok(()) }
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use becalm_redis::{Connection, streams::Consumer};
//!
//! let redis = Connection::open("redis://127.0.0.1/")?;
//! Consumer::builder(redis, "orders", "shipping").build()?
//!     .run(tokio::signal::ctrl_c(), |message| async move { ship(message.text("order").unwrap_or_default()).await })
//!     .await?; // after Ctrl-C: what ran is finished
//! # Ok(())
//! # }
//! ```
//!
//! # What lies in Redis
//!
//! For the stream `orders` and the group `shipping`, which are made if they are not there:
//!
//! | key | what |
//! |---|---|
//! | `orders` | the stream, which publishers fill with `XADD` |
//! | `orders:shipping:again` | a stream of the group's own: messages that come back. Other groups of `orders` do not see them |
//! | `orders:shipping:later` | a sorted set: messages that come back later, by when |
//! | `orders:shipping:dead` | a stream: messages that are over, with fields `becalm-reason`, `becalm-error`, `becalm-failed`, `becalm-charged`, `becalm-id` .. |
//! | `orders:shipping:holds`, `orders:shipping:held:*` | with [order keys](Builder::order_by): who holds which key, and who waits for it |
//! | `orders:shipping:trimmed` | a sorted set: ids of messages that somebody trimmed out of `orders` while they are handled |
//!
//! A message is in one of them at any time: each move is one script.
//!
//! # What it does not do
//!
//! - Handle a message exactly once. A consumer that is killed has handled what it had not acknowledged; another takes it after
//!   [`claim_after`](Builder::claim_after), uncharged.
//! - Bound the stream, or its dead letters. Nobody but you knows who else reads them. [`delete`](Builder::delete) deletes what is done.
//! - Bury what kills its consumer. It never fails, so it is claimed again and again: watch restarts.
//! - Cluster: the keys above lie in one slot only if the stream's name has a hash tag, and `becalm-redis` speaks to one server.
//!
//! Redis 7.0 or newer.

mod builder;
mod consumer;
mod doorbell;
mod message;
mod store;

pub use becalm_fleet::consumer::{Consume, Settle};
pub use builder::{Builder, InvalidConsumer};
pub use consumer::Consumer;
pub use message::Message;
