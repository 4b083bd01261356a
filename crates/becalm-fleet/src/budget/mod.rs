//! How do many processes share one retry budget, without asking anybody before a retry?
//!
//! A budget of each process bounds the retries of each. A fleet of a thousand that may retry ten times at once each has a burst of 10,000,
//! and where a tenth of it fails, nine tenths of what the fleet has earned lie where nobody needs them. Here the
//! fleet has one [`Bucket`], in a store that all reach, and each process leases tokens out of it.
//!
//! - [`Fleet`] is the configuration, plain data.
//! - [`FleetBudget`] is what calls ask: a balance in one word. A retry takes from it without waiting, whatever the store does.
//! - [`Exchanges`] says when to talk to the store, and what: about once a period it reports what has earned retries, gives back
//!   what is not needed and asks for what is. It has no clock and no IO.
//! - [`Bucket`] is the store's rule, as a function of the store's own time.
//! - [`Store`] is where a bucket is; [`FleetBudget::keep`] drives the exchanges with it.
//!
//! # The law
//!
//! Over any window, the retries of all processes together are at most `ratio` x what earned them + `floor` x length +
//! `burst` + instances + two periods' shares, each of which is `ratio` x what was earned in the time between two exchanges. It holds
//! where exchanges are lost, repeated and overtaken, where the store is slow or away, and where processes crash. A store that is
//! emptied hands out a tenth of the burst anew.
//!
//! What a process may hold beyond its one token falls in a straight line to nothing, in the longest time between two exchanges. What has run out comes back and
//! may be leased anew while the bucket fills: that is the second share. Both are measured under random loads, not proved.
//!
//! ```
//! # #[cfg(feature = "std")] fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use becalm_fleet::budget::{Fleet, FleetBudget};
//! use becalm::{Budget, Policy};
//!
//! // Half a second's share of 20,000 calls a second.
//! let fleet = Fleet::new(Budget::ratio(0.1).burst(1000.0));
//! let budget = Arc::new(FleetBudget::new(fleet)?);
//! let orders = Policy::default().builder().retry_budget(budget.clone()).build()?;
//! let stock = Policy::default().builder().retry_budget(budget.clone()).build()?;
//! // tokio::spawn(budget.keep(store));
//! # let _ = (orders, stock);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "std"))] fn main() {}
//! ```

#[cfg(feature = "std")]
mod bell;
mod bucket;
mod config;
mod exchanges;
#[cfg(feature = "std")]
mod keep;
mod lease;
mod own;

pub use bucket::{Answer, Bucket, Exchange};
pub use config::{Alone, Fleet, InvalidFleet};
pub use exchanges::{Exchanges, Step};
#[cfg(feature = "std")]
pub use keep::Store;
pub use lease::{FleetBudget, FleetGauge};
