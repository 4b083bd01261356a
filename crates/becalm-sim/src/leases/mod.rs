//! What do many processes retry together that share one budget, and what if they did not?
//!
//! Every process asks the shipping budget ([`FleetBudget`], and its [`Exchanges`]) and every store follows the shipping rule
//! ([`Bucket`]); beside them stand a budget of each process's own, and one bucket that all could ask at once, which no fleet has.
//! `Processes` is the configuration, `run` the mechanism, `Retries` what happened.

mod config;
#[cfg(test)]
mod law;
mod process;
mod record;
mod run;

#[cfg(doc)]
use becalm_fleet::budget::{Bucket, Exchanges, FleetBudget};

pub(crate) use config::TOO_MANY;
pub use config::{Budgeting, Processes, Trouble};
pub use record::Retries;
pub use run::run;
