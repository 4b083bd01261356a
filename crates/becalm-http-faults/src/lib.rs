//! What do the tests of all HTTP clients need? Servers on loopback that fail where they are told to, and the table
//! of what is sent how often.
//!
//! [`Server`] speaks HTTP/1 and 2, and [`frames::Server`] says of HTTP/2 what no library says when it is told
//! to. [`sent_once`] holds for every client.

#![forbid(unsafe_code)]

mod addresses;
pub mod frames;
pub mod listed;
mod pieces;
mod proxy;
pub mod sent_once;
mod server;
pub mod spans;

use std::time::Duration;

use becalm::{Policy, Retrier};

pub use addresses::Addresses;
pub use pieces::{Pieces, bytes};
pub use proxy::{Proxy, Silence};
pub use server::{Does, Seen, Server, Version};

/// Longer than any of these tests takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Waits for the future.
///
/// # Panics
///
/// It hangs.
pub async fn within<F: Future>(future: F) -> F::Output {
    let ended = tokio::time::timeout(LONG, future).await;
    ended.expect("it ends within a minute")
}

/// A policy whose waits are short.
pub fn quick() -> Policy {
    Policy::exponential(Duration::from_millis(1))
        .attempt_timeout(Duration::from_secs(10))
        .deadline(Duration::from_secs(50))
}

/// The retrier of a policy.
///
/// # Panics
///
/// The policy is not valid.
pub fn retrier(policy: &Policy) -> Retrier {
    policy.clone().retrier().expect("a valid policy")
}
