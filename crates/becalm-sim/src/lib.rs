//! What will a policy do to a service, before it does it?
//!
//! A discrete-event simulator on virtual time that drives the objects which ship ([`becalm::Call`],
//! its budgets, breakers, throttles and hedges) against services that queue, time out and collapse.
//! Nothing here decides about a retry.
//!
//! - [`scenario`]: the world as plain data: populations of clients, services, triggers.
//! - [`world`]: runs a scenario; what happened is a [`Recording`](record::Recording).
//! - [`catalogue`]: the known storms by name, each with its right answer.
//! - [`oracle`]: closed forms with their derivations.

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod engine;
pub mod herd;
pub mod occ;
pub mod oracle;
pub mod record;
pub mod scenario;
pub mod search;
pub mod study;
pub mod sweep;
pub mod tune;
pub mod verdict;
pub mod world;
