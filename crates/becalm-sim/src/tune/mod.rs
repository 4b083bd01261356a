//! Which policy suits a service?
//!
//! [`tune`] tries policies in the user's own scenario: those of a [`Space`], sampled so that every
//! value has its turn, and the policy that was given. What is bought with what is kept apart
//! ([`Objectives`]): load on the service, calls that fail, latency. A policy under which the service
//! stays down is dropped; of the others, those that no other beats in everything are the front
//! ([`front`]), and the one nearest to the best of each is recommended, with its reasons.
//!
//! The number of runs is bounded by halving: all policies have few runs, the better half twice as
//! many, and so on (Z. Karnin, T. Koren, O. Somekh, *Almost Optimal Exploration in Multi-Armed
//! Bandits*, ICML 2013; K. Jamieson, A. Talwalkar, *Non-stochastic Best Arm Identification and
//! Hyperparameter Optimization*, AISTATS 2016).

mod candidates;
mod front;
mod halving;
mod objectives;
mod reasons;
mod space;
mod study;
mod trial;

pub use front::{front, ranks};
pub use objectives::Objectives;
pub use space::Space;
pub use study::{Tuned, Tuning, tune, tune_with};
