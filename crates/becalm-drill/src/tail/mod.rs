//! The second part: some answers are slow although the service is well. What does a hedge make of
//! it, and what does it cost?

mod outcome;
mod picture;
mod record;

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use becalm::{Hedge, Policy};
use becalm_report::Colour;

use crate::arrivals;
use crate::drill::Broken;
use crate::replay::{Played, Replay};
use crate::server::Service;
use crate::setup::Setup;
use crate::slow::Slow;
use crate::stage::{FRAME, Stage};
use crate::wire::Wire;

#[cfg(test)]
pub use outcome::tests;
pub use outcome::{AMPLIFICATION, Racer, TailOutcome};
pub use picture::latencies;
pub use record::TailRecord;

/// First tries per second. With [`WORKERS`] the service has five times what they need.
const RATE: f64 = 250.0;

const WORKERS: u32 = 16;
const SERVICE_TIME: Duration = Duration::from_millis(5);
const QUEUE: u32 = 200;

/// Of how many requests one is slow: more than the hundredth that a p99 leaves out, fewer than the
/// twentieth that a p95 does.
const EVERY: u32 = 40;

/// What a slow one takes.
pub const SLOW: Duration = Duration::from_millis(400);

/// Before calls count: a quantile has to be known before anything is hedged.
pub const WARM_UP: Duration = Duration::from_secs(1);

/// The client's timeout, far above what a slow answer takes, unless the policy has its own.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);

/// What the second part is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// From the first arrival to the last.
    pub length: Duration,
    /// Through what its calls go.
    pub wire: Wire,
}

impl Tail {
    /// The second part of a drill, if there is to be one.
    pub fn of(setup: &Setup) -> Option<Self> {
        (!setup.tail.is_zero()).then_some(Self {
            length: setup.tail,
            wire: setup.wire,
        })
    }
}

/// The service of each policy.
fn service(seed: u64) -> Service {
    Service {
        workers: WORKERS,
        time: SERVICE_TIME,
        queue: QUEUE,
        hang: None,
        refuses: None,
        slow: Some(Slow {
            every: EVERY,
            time: SLOW,
            seed,
        }),
    }
}

/// One policy of the second part.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The name in the JSON document: stable.
    pub name: &'static str,
    /// The name for people.
    pub title: String,
    /// Its colour in every picture.
    pub colour: Colour,
    /// What its clients do.
    pub policy: Policy,
}

/// Holds it.
///
/// # Errors
///
/// A signal has ended it, or it cannot be held.
pub fn hold(
    part: &Tail,
    variants: Vec<Variant>,
    seed: u64,
    signal: &AtomicUsize,
) -> Result<(Vec<Racer>, Played), Broken> {
    let stage = Stage::new(signal, seed)?;
    let policies = variants.iter().map(|it| (it.name, &it.policy));
    let replay = Replay::prepare(
        stage.start(),
        part.length,
        service(seed),
        part.wire,
        policies,
        seed,
    );
    let replay = stage.ready(replay)?;
    let ledgers = replay.ledgers();
    let arrivals = arrivals::poisson(RATE, part.length, seed);
    let played = stage.play(replay, arrivals, || FRAME)?;
    let racers = variants.into_iter().zip(&ledgers).map(|(variant, ledger)| {
        Racer::new(variant, ledger.recording(), &ledger.latencies(), part)
    });
    Ok((racers.collect(), played))
}

/// The policy without a hedge, and with its own, or one after the 95th percentile.
pub fn variants(policy: &Policy) -> Vec<Variant> {
    let mut hedged = policy.clone();
    hedged.attempt_timeout.get_or_insert(CLIENT_TIMEOUT);
    let hedge = *hedged.hedge.get_or_insert_with(|| Hedge::at_quantile(0.95));
    let mut alone = hedged.clone();
    alone.hedge = None;
    vec![
        Variant {
            name: "no-hedge",
            title: "no hedge".into(),
            colour: Colour::Orange,
            policy: alone,
        },
        Variant {
            name: "hedge",
            title: format!("hedge {hedge}"),
            colour: Colour::Green,
            policy: hedged,
        },
    ]
}
