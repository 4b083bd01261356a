//! Which policy suits a service?
//!
//! [`tune`] tries policies in the user's own scenario: those of a [`Space`], sampled so that every
//! value has its turn, and the policy that was given. What is bought with what is kept apart
//! ([`Objectives`]): load on the service, calls that fail, latency. A policy under which the service
//! stays down is dropped; of the others, those that no other beats in everything are the front
//! ([`front`]), and the one nearest to the best of each is recommended, with its reasons. If fresh runs
//! show nothing for the change, it is the given policy that is recommended.
//!
//! A scenario with several [places](crate::change::Place) for a policy is tried with another one at
//! each of them, at all, and at each while no other place retries.
//!
//! The number of runs is bounded by halving: all policies have few runs, the better half twice as
//! many, and so on (Z. Karnin, T. Koren, O. Somekh, *Almost Optimal Exploration in Multi-Armed
//! Bandits*, ICML 2013; K. Jamieson, A. Talwalkar, *Non-stochastic Best Arm Identification and
//! Hyperparameter Optimization*, AISTATS 2016).
//!
//! The best of many looks better than it is: part of what it was chosen for is luck. So what is told of
//! the front comes from runs that had no part in the choice ([`Confirmed`]), each figure with its
//! interval.

mod candidates;
mod choice;
mod confirmed;
mod foretold;
mod front;
mod halving;
mod layers;
mod objectives;
mod reasons;
mod ruled;
mod shown;
mod space;
mod study;
mod trial;

pub use choice::Tuned;
pub use confirmed::Confirmed;
pub use front::{front, ranks};
pub use objectives::Objectives;
pub use ruled::Ruled;
pub use space::{InvalidSpace, Space};
pub use study::{Tuning, tune, tune_with};
