//! What happens to a service under a policy?
//!
//! [`judge`] says what happened to it in one run, [`rule`] what happens to it over many: stable,
//! vulnerable, metastable or overloaded, with the figures on which that stands; or that the runs are too short to say. [`study`] asks for
//! several policies and returns everything there is to show.
//!
//! The terms follow N. Bronson et al., *Metastable Failures in Distributed Systems* (`HotOS` 2021):
//! a vulnerable state is one that a trigger can turn into a metastable failure, which outlives the
//! trigger; the hidden capacity is the load up to which a system comes back by itself.

mod amplified;
mod answer;
mod brief;
mod by_phase;
mod capacity;
mod certain;
mod charts;
mod enough;
mod evidence;
mod examined;
mod figures;
mod foretold;
mod judge;
mod judgeable;
mod later;
mod load;
mod map;
mod numbers;
mod outcome;
mod patient;
mod recovery;
mod reserve;
mod rule;
mod ruling;
mod runner;
mod runs;
mod searched;
mod service_charts;
mod service_course;
mod service_figures;
mod services;
mod settling;
mod stress;
mod study;
mod survival;
mod too_much;
mod variation;
mod wording;

pub use crate::study::Foretold;
pub use brief::{Brief, Thoroughness};
pub use by_phase::ByPhase;
pub(crate) use capacity::open_calls;
pub use capacity::{hidden_capacity, most_attempts};
pub use judge::{judge, judge_sparing};
pub use judgeable::{Unjudgeable, judgeable};
pub use later::Later;
pub use load::{Bottleneck, bottleneck, first_tries, is_bounded};
pub use map::{Resolution, phase_map};
pub(crate) use numbers::{list, millis, percent, plain};
pub(crate) use outcome::ratio;
pub use outcome::{Outcome, Phase};
pub use recovery::Recovery;
pub use rule::{rule, rule_on_one};
pub use ruling::Ruling;
pub use runner::Runner;
pub use runs::{Run, Runs};
pub use services::{Flow, Seen};
pub use stress::{By, Stress, Worse};
pub(crate) use study::{longer_for_all, study_within};
pub use study::{study, study_with};
pub use survival::{Survival, Survived};
pub use too_much::TooMuch;
pub use variation::{calm, crowded, longer, louder};
pub use wording::describe;
pub(crate) use wording::describe_changes;
