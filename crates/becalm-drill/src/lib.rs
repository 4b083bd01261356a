#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod arrivals;
mod ask;
mod blip;
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
mod messages;
mod origin;
mod outcome;
mod page;
mod party;
mod picture;
mod record;
mod replay;
mod server;
mod setup;
mod show;
mod slow;
mod stage;
pub mod staging;
mod stand_in;
mod statistics;
mod system;
mod tail;
mod twin;
mod variant;
mod void;
mod wire;
#[cfg(all(feature = "ws", unix))]
pub mod ws;

pub use drill::{Broken, Drill, Report};
pub use fault::{Fault, Reach};
pub use show::{Console, Plain, Section, Show};
pub use stand_in::stand_in;
