#![doc = include_str!("../README.md")]
//!
//! # A world of your own
//!
//! A service whose workers hang for two seconds, and what happens to it under two policies:
//!
//! ```
//! use std::time::Duration;
//!
//! use becalm::{Budget, Policy};
//! use becalm_sim::catalogue::Candidate;
//! use becalm_sim::scenario::Distribution;
//! use becalm_sim::scenario::{Arrivals, Effect, Population, Scenario, Service, Trigger};
//! use becalm_sim::study::{Plan, Verdict};
//! use becalm_sim::verdict::{self, Brief};
//!
//! let (ms, s) = (Duration::from_millis, Duration::from_secs);
//! let service = Service::new("orders", 4, Distribution::Exponential(ms(10))).queue(200);
//! let calls = Arrivals::Poisson(260.0); // a second, of the 400 that the service can serve
//! let clients = Population::new("users", "orders", calls, Policy::default()).timeout(ms(250));
//! let hang = Effect::Hang { service: "orders".into() };
//! let scenario = Scenario::new("orders", s(40))
//!     .service(service)
//!     .population(clients)
//!     .trigger(Trigger::new(s(10), s(2), hang));
//! verdict::judgeable(&scenario)?;
//!
//! let asked = [("default", Policy::default()), ("unbounded", Policy::default().budget(Budget::None))];
//! let asked = asked.map(|(name, policy)| Candidate::new(name, policy));
//! let mut plan = Plan::default(); // seed 1, ten runs, one thread
//! plan.is_quick = true; // the verdict alone: no searches, no maps, half of the runs
//! let brief = Brief { name: "orders".into(), ..Brief::default() };
//! let study = verdict::study(&brief, &asked, &plan, |policy| scenario.under(policy))?;
//!
//! println!("{}", study.answer);
//! let [default, unbounded] = [0, 1].map(|at| study.contenders[at].verdict);
//! assert_eq!(unbounded, Some(Verdict::Metastable)); // it stays down after the hang is over
//! assert_ne!(default, Some(Verdict::Metastable));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A world [in a file](scenario::file) is read by [`scenario::file::load`]. What happened in one run, bucket
//! by bucket, is a [`Recording`](record::Recording):
//!
//! ```no_run
//! use std::path::Path;
//!
//! use becalm_sim::record::total;
//! use becalm_sim::{scenario::file, world};
//!
//! let scenario = file::load(Path::new("orders.toml"))?;
//! let recording = world::run(&scenario, 1);
//! let users = &recording.populations[0];
//! println!("{} of {} calls succeeded", total(&users.succeeded), total(&users.calls));
//! # Ok::<(), file::InvalidFile>(())
//! ```
//!
//! # Where to look
//!
//! - [`scenario`]: the world as plain data (populations of clients, services, triggers), and its files.
//! - [`world`] runs it; what happened is a [`record`].
//! - [`verdict`] judges runs, and searches what is survived.
//! - [`change`]: one policy of a scenario after the other, by the names of their places.
//! - [`forecast`]: what a policy does by itself, computed.
//! - [`remedy`]: the smallest change that keeps a service up.
//! - [`catalogue`]: the known storms by name, each with its right answer.
//! - [`sweep`] studies a grid of settings, [`tune`] looks for the policies that no other beats.
//! - [`study`]: how thoroughly it is asked, and everything that was found, for the code that shows it.

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod catalogue;
pub mod change;
pub mod forecast;
pub mod record;
pub mod remedy;
pub mod scenario;
pub mod study;
pub mod sweep;
pub mod tune;
pub mod verdict;
pub mod world;

mod invalid;

// How it is done, and the closed forms that it is held against: for the tests, the bench and the
// drill of this repository, and no promise to anybody else.
#[doc(hidden)]
pub mod admission;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod herd;
#[doc(hidden)]
pub mod leases;
#[doc(hidden)]
pub mod occ;
#[doc(hidden)]
pub mod oracle;
#[doc(hidden)]
pub mod search;
