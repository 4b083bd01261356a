//! What does a fleet do that has lost its connections all at once?
//!
//! Every client asks the shipping decision ([`Lone`]) on a few bytes of its own, so that ten million
//! of them fit in memory. `Herd` is the configuration, `run` the mechanism, `Reconnects` what
//! happened. [`Formula`] is what others do instead, for comparison.

mod client;
mod config;
mod formula;
mod reconnects;
mod run;

#[cfg(doc)]
use becalm::support::Lone;

pub use client::Decides;
pub use config::Herd;
pub use formula::Formula;
pub use reconnects::Reconnects;
pub use run::run;
