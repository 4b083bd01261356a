#![doc = include_str!("../README.md")]
//!
//! # Where to look
//!
//! [`Database::transaction`] is the call, [`Resolve`] what a lost answer to `COMMIT` means, [`Status`] what the server says of
//! a transaction. The module [`pool`] has the pool whose dials are paced.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempt;
mod database;
mod failed;
mod lent;
mod limit;
mod marker;
mod open;
mod outage;
pub mod pool;
mod settings;
mod source;
mod status;
mod transaction;

pub use becalm::{self, Policy, Retrier};
pub use database::{Builder, Database};
pub use failed::{BySqlState, Failed, classify};
pub use lent::Tx;
pub use marker::{InvalidTable, Marker};
pub use settings::{Isolation, Resolve};
pub use source::{Connecting, Pooled, Source};
pub use sqlx;
pub use status::Status;
pub use transaction::Transaction;
