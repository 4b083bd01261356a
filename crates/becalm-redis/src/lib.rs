//! Redis commands that never run twice by accident, over a connection that comes back without a herd.
//!
//! A [`Connection`] stands where redis's own does. Commands wait for it while the server is away, each within its own deadline;
//! it is dialled once for all of them, at a pace. What fails is sent again if that cannot do it twice: by the
//! [table of commands](commands), or because it is proved that nothing was sent.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use becalm_redis::redis::AsyncCommands;
//!
//! let mut redis = becalm_redis::Connection::open("redis://127.0.0.1/")?;
//! let _: () = redis.set("greeting", "hello").await?; // sent again if need be
//! let visits: u64 = redis.incr("visits", 1).await?; // never counted twice
//! # let _ = visits;
//! # Ok(())
//! # }
//! ```
//!
//! # What proves that a command was not sent
//!
//! - It waited for a connection, and none came.
//! - The connection broke before the kernel had taken as many bytes as the command is long.
//! - The server answered a word that it says in place of executing, such as `LOADING` or `OOM`
//!   ([`becalm::classify::redis`]). No word out of a script proves anything.
//!
//! # What it cannot do
//!
//! - Tell whether a command took effect whose answer was lost: that of a command which may not be repeated comes back as an error.
//! - Sentinel, a cluster and publish/subscribe: use redis's own clients, a cluster's with its retries switched off (`retries(0)`; it
//!   repeats any command).
//! - Watch over writes that a failing server had acknowledged and lost: `WAIT` and `appendfsync` decide that.

#![forbid(unsafe_code)]

mod builder;
pub mod commands;
mod connection;
mod counted;
mod dedicated;
mod dial;
mod failed;
mod fleet_budget;
mod gathered;
mod rest_delays;
#[cfg(feature = "streams")]
pub mod streams;
#[cfg(feature = "rustls")]
mod tls;

pub use becalm::reconnect::Reconnect;
pub use becalm::{self, Policy, Retrier};
pub use builder::{Builder, InvalidSettings};
pub use connection::Connection;
pub use dedicated::Dedicated;
pub use dial::Credentials;
pub use fleet_budget::FleetBucket;
pub use redis;
pub use rest_delays::RestDelays;

// The examples of the page are tested like all others.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/fleet-budget.md")]
    struct FleetBudget;
    #[doc = include_str!("../../../docs/redis.md")]
    struct Redis;
}
