//! Will a short fault of a service become a long storm? Real clients call a real service, which is broken on purpose.
//!
//! There are four drills, each a room of its own:
//!
//! - [`local`]: services of the drill's own hang, under six policies; then some of their answers are slow.
//! - [`staging`]: a service of yours is broken, one policy after the other; or [its capacity](staging::capacity) is measured.
//! - [`listen`]: your own client calls through the drill, which breaks what it calls.
#![cfg_attr(
    feature = "ws",
    doc = "- [`ws`]: a server of WebSockets dies under its clients."
)]
#![cfg_attr(
    not(feature = "ws"),
    doc = "- `ws` (a feature): a server of WebSockets dies under its clients."
)]
//!
//! Each takes options, which are plain data. From them a plan is made, which is checked and can be [held](Drill::run). What it
//! came to is a [`Report`]: tables for a terminal, a page, a document for programs.
//!
//! What has to outlive a drill, and what is killed in one, is a process of its own: this program again. So `main` has to call
//! [`stand_in`] first.

#![forbid(unsafe_code)]

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
mod tail;
mod twin;
mod unready;
mod variant;
mod wire;
#[cfg(feature = "ws")]
pub mod ws;

pub use drill::{Broken, Drill, Report, Section};
pub use fault::{Fault, Reach};
pub use itself::stand_in;
pub use show::{Console, Plain, Show};
