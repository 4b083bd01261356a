//! How much is survived? Searches over simulated runs, each with a confidence interval.
//!
//! Whether a run survives is a matter of chance near the edge, so that a single run at each point
//! says little. [`Proportion`] is what several runs at one point say, [`Mean`] what they come to;
//! [`find`] bisects for the point where half of all runs survive.

mod jackknife;
mod mean;
mod order;
mod pooled;
mod proportion;
mod threshold;

pub(crate) use jackknife::Error;
pub use mean::Mean;
pub(crate) use mean::student;
pub(crate) use order::ends_of_quantile;
pub use pooled::Point;
pub use proportion::Proportion;
pub(crate) use threshold::find_beside;
pub use threshold::{Asked, Range, Threshold, find};
