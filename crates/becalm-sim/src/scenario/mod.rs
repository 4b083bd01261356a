//! What is simulated? Clients, services, and what goes wrong: plain data.
//!
//! Configuration only; [`world`](crate::world) is the mechanism. Times are [`Duration`](std::time::Duration)s from the
//! start of a run, rates are per second, shares are from 0 to 1.

pub mod file;

mod arrivals;
mod endless;
mod invalid;
mod phases;
mod population;
mod range;
mod recorded;
mod scalability;
mod service;
mod trigger;
mod validate;
mod whole;

pub use crate::engine::Distribution;
pub use arrivals::Arrivals;
pub use invalid::InvalidScenario;
pub use phases::Phases;
pub use population::{Population, Sharing, Variant};
pub use recorded::Recorded;
pub(crate) use recorded::scaled;
pub use scalability::Scalability;
pub use service::{Cache, Discipline, Downstream, Limit, Routing, Service, Stale};
pub use trigger::{Effect, Trigger};
pub use whole::{Network, Scenario};
