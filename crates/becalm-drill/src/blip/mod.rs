//! The third part: the service of a busy client refuses everything for a moment. How many of the calls that begin
//! meanwhile does a budget save?

mod outcome;
mod record;

use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use becalm::{Budget, Policy};
use becalm_report::Colour;

use crate::arrivals;
use crate::drill::Broken;
use crate::replay::Replay;
use crate::server::Service;
use crate::setup::Setup;
use crate::stage::{FRAME, Stage};
use crate::tail::Variant;
use crate::variant::protected_title;

#[cfg(test)]
pub use outcome::tests;
pub use outcome::{BlipOutcome, Caller};
pub use record::BlipRecord;

/// First tries per second: enough of them begin in a fifth of a second to be counted.
const RATE: f64 = 500.0;

/// Six times what they need.
const WORKERS: u32 = 16;
const SERVICE_TIME: Duration = Duration::from_millis(5);
const QUEUE: u32 = 200;

/// The time that fills the default budget.
const BEFORE: Duration = Duration::from_secs(5);

/// In which the last retries are sent.
const AFTER: Duration = Duration::from_secs(1);

/// When everything is refused.
pub fn blip(setup: &Setup) -> Range<Duration> {
    BEFORE..BEFORE + setup.blip
}

/// From the first arrival to the last.
fn length(setup: &Setup) -> Duration {
    blip(setup).end + AFTER
}

/// Holds it.
///
/// # Errors
///
/// A signal has ended it, or it cannot be held.
pub fn hold(
    setup: &Setup,
    policy: &Policy,
    seed: u64,
    signal: &AtomicUsize,
) -> Result<BlipOutcome, Broken> {
    let stage = Stage::new(signal, seed)?;
    let start = stage.start();
    let blip = blip(setup);
    let service = Service {
        workers: WORKERS,
        time: SERVICE_TIME,
        queue: QUEUE,
        hang: None,
        refuses: Some((start + blip.start, start + blip.end)),
        slow: None,
    };
    let variants = variants(policy, setup.client_timeout);
    let policies = variants.iter().map(|it| (it.name, &it.policy));
    let replay = Replay::prepare(start, length(setup), service, setup.wire, policies, seed);
    let replay = stage.ready(replay)?;
    let ledgers = replay.ledgers();
    let arrivals = arrivals::poisson(RATE, length(setup), seed);
    let played = stage.play(replay, arrivals, || FRAME)?;
    let callers = variants.into_iter().zip(&ledgers);
    let callers =
        callers.map(|(variant, ledger)| Caller::new(variant, ledger.recording(), blip.clone()));
    Ok(BlipOutcome::new(callers.collect(), setup, played.lateness))
}

/// The policy with one attempt, without its budget, and as it is.
pub fn variants(policy: &Policy, client_timeout: Duration) -> [Variant; 3] {
    let mut protected = policy.clone();
    protected.attempt_timeout.get_or_insert(client_timeout);
    [
        Variant {
            name: "one-attempt",
            title: "one attempt".into(),
            colour: Colour::Orange,
            policy: protected.clone().attempts(1),
        },
        Variant {
            name: "no-budget",
            title: "no budget".into(),
            colour: Colour::Purple,
            policy: protected.clone().budget(Budget::None),
        },
        Variant {
            name: "protected",
            title: protected_title(policy),
            colour: Colour::Green,
            policy: protected,
        },
    ]
}
