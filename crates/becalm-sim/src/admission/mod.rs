//! What does a herd make of a server whose handshakes take time, and what of one that admits?
//!
//! Every client asks the shipping decision ([`Lone`], on which the reconnect machine stands) when to dial; the server
//! asks the shipping [`AdmissionController`], or nobody. `Handshakes` is the configuration, `run` the
//! mechanism, `Arrivals` what happened.

mod arrivals;
mod config;
mod event;
mod fleet;
mod run;
mod tickets;

#[cfg(doc)]
use becalm::support::Lone;
#[cfg(doc)]
use becalm_admission::AdmissionController;

pub use arrivals::Arrivals;
pub use config::{Door, Handshakes};
pub use run::run;
