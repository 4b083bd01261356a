//! How much can the target serve? Measured, without breaking anything.

mod ladder;
mod report;
mod rung;

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use becalm::Policy;

use super::canary::{self, Calm};
use super::hold::{reached, unwell};
use super::options::Options;
use super::plan;
use crate::ask::{Ask, drill_name};
use crate::client::Connections;
use crate::descriptors;
use crate::drill::{Broken, Drill};
use crate::fault::allowed::Pinned;
use crate::show::Show;
use crate::stage::Stage;
use ladder::Ended;
pub use report::Measured;
use rung::{Pace, Rung};

/// A measurement, ready to be made.
#[derive(Debug, Clone)]
pub struct Plan {
    target: Pinned,
    ask: Ask,
    /// How long a client waits for an answer.
    patience: Duration,
    most_rate: f64,
    /// The most time that it takes.
    most: Duration,
    /// How long the target may take to be well again without load.
    settle: Duration,
    seed: u64,
    command: String,
    notes: Vec<String>,
}

impl Plan {
    /// Checks what is asked for; of the `policy` the clients have the attempt timeout.
    ///
    /// # Errors
    ///
    /// A sentence: the target may not be asked, or something would be broken.
    pub fn new(options: Options, policy: &Policy) -> Result<Self, String> {
        plan::bounds(&options.load, &options.course)?;
        let fault = &options.fault;
        if fault.fault.is_some() || fault.pid.is_some() || fault.dependency.is_some() {
            return Err(
                "--capacity breaks nothing; leave out --fault, --pid and --dependency".into(),
            );
        }
        let target = plan::target(&options)?;
        let warning = descriptors::raise(f64::from(ladder::MOST))?;
        Ok(Self {
            ask: plan::ask(&options, &target)?.marked(&drill_name()),
            target,
            patience: policy
                .attempt_timeout
                .unwrap_or(options.load.client_timeout),
            most_rate: f64::from(options.load.max_rate),
            most: options.course.max_time,
            settle: options.course.settle,
            seed: options.seed,
            command: options.command,
            notes: warning.into_iter().collect(),
        })
    }
}

/// What was measured of a target.
#[derive(Debug, Clone)]
pub struct Held {
    rungs: Vec<Rung>,
    ended: Ended,
    /// How the target fared afterwards.
    calm: Calm,
}

impl Drill for Plan {
    type Held = Held;
    type Outcome = Measured;

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn hold(&self, show: &Show<'_>, signal: &AtomicUsize) -> Result<Held, Broken> {
        let stage = Stage::new(signal, self.seed)?;
        let address = stage.awaited(reached(&self.target))??;
        let parts = AtomicU32::new(0);
        let connections = || {
            let part = parts.fetch_add(1, Ordering::Relaxed);
            Connections::to(address, self.ask.part(part))
        };
        let calm = || {
            let connections = connections();
            let asked = canary::wait(
                &self.target,
                &connections,
                self.patience,
                self.settle,
                || false,
            );
            stage.awaited(asked)
        };
        let counted = match calm()? {
            Calm::Unwell(_, why) => return Err(unwell(&why).into()),
            Calm::Well { takes, .. } => rung::counted(takes),
        };
        let pace = Pace::of(self.most_rate);
        let began = Instant::now();
        let mut rungs = Vec::new();
        let ended = loop {
            let left = self.most.saturating_sub(began.elapsed());
            let clients = match ladder::next(&rungs, self.most_rate, left, rung::length(counted)) {
                Ok(clients) => clients,
                Err(why) => break why,
            };
            let climbed = rung::climb(clients, &connections, self.patience, &pace, counted);
            let rung = stage.awaited(climbed)?;
            show.say(&report::line(&rung));
            rungs.push(rung);
        };
        let calm = calm()?;
        Ok(Held { rungs, ended, calm })
    }

    fn judge(self, held: Held) -> Measured {
        Measured { plan: self, held }
    }
}
