#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! [`Connection`] is where to begin, [`Builder`] has its settings, [`commands`] the table of what may run twice. What a word of
//! the server means is told by [`becalm::classify::redis`].

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
pub mod commands;
mod connection;
mod counted;
mod dedicated;
mod dial;
mod failed;
mod fence;
mod fleet_budget;
mod gathered;
mod line;
mod login;
mod primary;
mod refusals;
mod replies;
mod rest_delays;
mod script;
#[cfg(feature = "streams")]
pub mod streams;
pub mod subscription;
#[cfg(feature = "rustls")]
mod tls;

pub use becalm::reconnect::Reconnect;
pub use becalm::{self, Policy, Retrier};
pub use becalm_fleet;
pub use builder::{Builder, InvalidSettings};
pub use connection::{Connection, is_answer_unknown};
pub use dedicated::Dedicated;
pub use fence::LateCopies;
pub use fleet_budget::FleetBucket;
pub use login::Credentials;
pub use redis;
pub use rest_delays::RestDelays;
pub use subscription::Subscription;
