#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod arrivals;
mod ask;
mod client;
mod descriptors;
mod document;
mod drill;
mod fault;
#[cfg(feature = "http")]
mod http_client;
mod itself;
mod judged;
mod judgement;
mod latencies;
mod ledger;
pub mod listen;
mod live;
pub mod local;
mod origin;
mod outcome;
mod page;
mod party;
mod picture;
mod replay;
mod server;
mod setup;
mod show;
mod slow;
mod stage;
pub mod staging;
mod statistics;
mod system;
mod tail;
mod twin;
mod unready;
mod variant;
mod wire;
#[cfg(all(feature = "ws", unix))]
pub mod ws;

pub use drill::{Broken, Drill, Report, Section};
pub use fault::{Fault, Reach};
pub use itself::stand_in;
pub use show::{Console, Plain, Show};
