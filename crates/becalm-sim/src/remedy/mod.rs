//! What is the smallest change of its policies that keeps a service up?
//!
//! [`find`] tries one setting at one place, then at two, and so on to all that retry (of more than
//! four places at one and at all); at equal numbers of places one setting before a whole policy. A change that keeps the service up in a few runs is ruled on
//! as every policy is ([`rule`](crate::verdict::rule)), and the first that this confirms is the
//! remedy. What does not come back without any retries is beyond every policy: then it is said how
//! much capacity it takes.
//!
//! The search is bounded by [`MOST_RUNS`] and [`MOST_EVENTS`], not by time: equal seeds find the same on
//! every machine.

mod capacity;
mod found;
mod search;
mod steps;
mod wording;

pub use found::{MOST_EVENTS, MOST_RUNS, Remedy, Step};
pub use search::{find, find_with};
