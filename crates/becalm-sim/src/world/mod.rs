//! What happens in a scenario? Its events, one after the other.
//!
//! The world drives the objects that ship ([`becalm::call::Call`] and what it shares) on virtual time,
//! and decides nothing about a retry itself. What it adds is everything around: clients that call,
//! a network, services that queue.
//!
//! What is not said in [`scenario`](crate::scenario):
//!
//! - A failed or refused attempt is transient, of unknown effect, as a 503 is; one over a limit is
//!   throttled, as a 429 is. A time-out is transient.
//! - A call that reaches its deadline is cut, as the asynchronous engine does.
//! - A call that is made for a request has the request's priority, as criticality is handed down in
//!   the Google SRE book (ch. 21).
//! - A message without delay is not an event of the queue, and no time passes in it.
//! - Of things at one instant, that comes first which was brought about first.

#![allow(
    clippy::inline_always,
    reason = "what an event goes through is called in two or three places, which the compiler takes for too many: calls and returns are a tenth of an event"
)]

mod ahead;
mod arrivals;
mod at_rest;
mod attempts;
mod bucket;
mod cache;
mod calls;
mod ceiling;
mod clients;
mod codel;
mod downstream;
mod event;
mod hedges;
mod lane;
mod looks;
mod network;
mod owners;
mod pace;
mod plan;
mod progress;
mod servers;
mod sight;
mod slab;
mod soon;
mod state;
mod timeouts;
mod trace;
mod triggers;
mod wakers;
mod work;

use crate::record::Recording;
use crate::scenario::Scenario;

use ceiling::Hold;
use plan::Plan;
use progress::World;
use trace::{Silent, Told, Tracer};

pub use crate::record::Stopped;
pub(crate) use at_rest::{
    Part, at_rest, is_made_at_once, of_states, parts_at_most, parts_at_rest, recordings, sum,
};
pub use ceiling::Ceiling;
pub use looks::{Looks, Sight};
pub use trace::{Caller, Step, Traced};

/// Runs a scenario once. Equal seeds leave equal recordings.
///
/// A scenario that is [not valid](Scenario::validate) leaves an empty one. The run takes whatever
/// memory and time it needs; [`run_within`] bounds them.
pub fn run(scenario: &Scenario, seed: u64) -> Recording {
    run_with(scenario, seed, Silent, None, None)
}

/// Runs a scenario once, under a ceiling of memory and of events: a run that passes it stops, and
/// leaves a recording that [says so](Recording::stopped) and is not to be judged. Otherwise the
/// recording is that of [`run`].
pub fn run_within(scenario: &Scenario, seed: u64, ceiling: &Ceiling) -> Recording {
    run_with(scenario, seed, Silent, Some(ceiling), None)
}

/// As [`run_within`]; a run that is looked at ends where the look is [certain](Recording::certain).
pub fn run_until(
    scenario: &Scenario,
    seed: u64,
    ceiling: &Ceiling,
    looks: &Looks<'_>,
) -> Recording {
    run_with(scenario, seed, Silent, Some(ceiling), Some(looks))
}

/// Runs a scenario once, and tells of every step of every call: for tests that replay the calls
/// elsewhere. The recording is that of [`run`].
pub fn run_traced(scenario: &Scenario, seed: u64, each: &mut dyn FnMut(Traced)) -> Recording {
    run_with(scenario, seed, Told(each), None, None)
}

fn run_with<T: Tracer>(
    scenario: &Scenario,
    seed: u64,
    tracer: T,
    ceiling: Option<&Ceiling>,
    looks: Option<&Looks<'_>>,
) -> Recording {
    let hold = ceiling.map(|it| Hold::new(it, scenario));
    let stopped = hold.as_ref().and_then(|it| it.stopped);
    let plan = if stopped.is_some() {
        None
    } else {
        Plan::new(scenario)
    };
    match plan {
        Some(plan) => World::new(&plan, seed, tracer, hold, looks).run(looks),
        None => Recording {
            stopped,
            ..Recording::default()
        },
    }
}
